// What crosses the process boundary, as plain data: the answers of a worker and the requests to it.
// The wire form is the schema beside harness/worker_kit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/manifest.h"

namespace abba::record {

struct BoundaryDecl {
  std::string name;
  std::string unit = "ns";
  std::string clock = "steady_clock";
  std::string parent;  // "" = outermost
};

struct MetricDecl {
  std::string name;
  std::string unit;
  Direction direction = Direction::kLowerIsBetter;
};

struct LevelDecl {
  std::string name;
  std::string exactness;  // "bitwise", "same-order", "tolerance"
  std::string exact_to;   // the level it is exact to, or empty
};

struct FactorDecl {
  std::string name;
  std::vector<LevelDecl> levels;
  std::string default_level;
  bool hot = false;  // can be switched without a reload (placement shared-process)
};

struct WorkerHello {
  std::string name;
  std::string version;
  std::string source_stamp;  // source tree and dirty-patch hash the program carries, or empty
  std::vector<std::string> files_to_hash;
  std::vector<BoundaryDecl> boundaries;
  std::vector<MetricDecl> metrics;
  std::vector<FactorDecl> factors;
  std::vector<std::string>
      capabilities;  // "load", "outputs", "spans", "flush", "graph_capture", "serve", "inject"
  std::vector<std::string> stages;  // of `outputs`
  base::Json facts;                 // anything else worth recording (isa, product path, versions)
  base::Json raw;                   // the whole message

  [[nodiscard]] bool declares(std::string_view capability) const {
    return std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end();
  }
  // nullptr if it has no factor of that name.
  [[nodiscard]] const FactorDecl* factor(std::string_view wanted) const {
    const auto found = std::find_if(factors.begin(), factors.end(),
                                    [&](const FactorDecl& known) { return known.name == wanted; });
    return found == factors.end() ? nullptr : &*found;
  }
};

struct LoadRequest {
  base::Json settings;
  std::map<std::string, std::string> files;  // name -> absolute path
  std::map<std::string, std::string> factors;
  std::string device;
  base::Json inject;  // known effect for calibration, or null
};

struct LoadReply {
  base::Json settings;                         // effective
  std::map<std::string, std::string> factors;  // effective; a level that fell back differs
  base::Json device;                           // identity as the worker sees it
  base::Json memory;                           // {resident_bytes, ...}
  std::map<std::string, double> setup_ns;      // "load", "modules", ...
};

struct PrepareReply {
  Work work;
  base::Json facts;
  double first_request_ns = -1;  // the full request answered for readiness, or negative
};

struct SlotRequest {
  std::string slot_id;  // echoed by the worker
  std::string workload;
  std::vector<std::string> boundaries;
  std::int64_t warmup = 0;
  std::int64_t requests = 0;
  std::int64_t max_spans = 50;                 // requests whose spans are stored one by one
  double interval_ms = 0;                      // paced arrival, 0 = back to back
  bool digest = true;                          // of the last measured request's output
  std::map<std::string, std::string> factors;  // hot ones to switch to; empty = as loaded
  bool flush = false;                          // empty the caches before every request
  double expected_s = 0;  // not sent: what the requests took when they were last timed
};

// A worker's self-check of its flush: one walk over the same small memory, right after another one
// and after a flush.
struct FlushCheck {
  std::string cache;  // which one, in the worker's words; empty = nothing was flushed
  double bytes = 0;   // that a flush moves
  double warm_ns = 0;
  double cold_ns = 0;
};

// From how many times a warm walk on a cache counts as cold: memory is several times slower than
// the cache above it, and a walk that was not evicted takes as long as a warm one.
inline constexpr double kColdRatio = 1.5;

enum class SampleStatus { kOk = 0, kFailed = 1 };

struct Sample {
  std::int64_t seq = 0;  // 0.. within the slot, warm-ups first
  bool warmup = false;
  std::int64_t start_ns = 0;  // the worker's steady clock
  std::int64_t duration_ns = 0;
  SampleStatus status = SampleStatus::kOk;
};

// One span of one request, or (seq = -1) the total of a name over the slot's measured requests.
struct Span {
  std::int64_t seq = -1;
  std::string name;
  std::string parent;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t count = 1;
};

struct Value {
  std::int64_t seq = 0;
  std::string metric;
  double value = 0;
};

struct SlotReply {
  std::vector<Sample> samples;
  std::vector<Span> spans;
  std::vector<Value> values;
  std::int64_t allocations = -1;  // in the timed loop; -1 = not counted
  std::string digest;             // SHA-256 of the last measured request's output, or empty
  std::int64_t failures = 0;
  std::string failure_text;  // of the first failed request
  FlushCheck flush;          // if it was asked for
};

// One entry of the capture ledger, which an arm answers `graph_capture` with: what a shape cost on
// its way to a graph that is replayed, none of it in any timed sample. Absent = the worker does not
// give it, or there is none: an arm that runs without a graph has no capture. All times on the
// worker's steady clock, with the device idle at both ends.
struct CaptureCosts {
  std::string shape;                         // in the worker's words; differs within a ledger
  std::optional<std::int64_t> first_run_ns;  // of the first request of that shape in the process
  std::optional<std::int64_t> warm_runs;     // uncaptured requests after it, before the capture ...
  std::optional<std::int64_t> warm_ns;       // ... and what they took together
  std::optional<std::int64_t> capture_ns;    // recording the work into a graph
  std::optional<std::int64_t> instantiate_ns;   // making it executable
  std::optional<std::int64_t> upload_ns;        // to the device, before the first replay
  std::optional<std::int64_t> first_replay_ns;  // of the first request that the graph answered
  std::optional<std::int64_t> nodes;            // of the graph
  std::optional<std::int64_t> bytes;            // of device memory that it holds
};

// One output tensor: digest always, values when they were asked for.
struct OutputTensor {
  std::string stage;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string digest;  // SHA-256 of dtype, shape and little-endian row-major bytes, valid rows only
  std::vector<float> values;  // widened to f32; empty when only digests were asked for
};

}  // namespace abba::record
