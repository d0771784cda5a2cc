// What a person declares before an experiment: the manifest after parsing, every default filled in.
// Plain data; harness/manifest reads it from JSON and refuses bad input, nothing here behaves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"

namespace abba::record {

enum class Preset { kTwoPass, kStandard, kQuick };
enum class WorkerReuse { kReuse, kFreshPerPass };
enum class Order { kAbBa, kAbbaBaab, kRandom, kInterleaved };
enum class WorkloadOrder { kFixed, kRotated, kRandom };
enum class Arrival { kBackToBack, kPaced };
enum class Placement { kBothLoaded, kOneAtATime, kSharedProcess };
enum class Load { kQuiet, kExpected };
enum class OnTaint { kRepeatOnce, kKeep, kAbort };
enum class Claim { kFaster, kNotWorse, kEquivalent, kDisjointPassMeans };
enum class Direction { kLowerIsBetter, kHigherIsBetter };
enum class OutputsRule { kNone, kBitwise, kLimits };
enum class Reads { kProtocol, kWall, kNvbench, kGoogleBenchmark, kLines };
// Such a program decides by itself how many samples a slot holds; what a plan asks for is a wish.
constexpr bool prints_own_samples(Reads reads) {
  return reads != Reads::kProtocol && reads != Reads::kWall;
}

// Of Protocol::cache: before every request, outside its time, the caches it works on are emptied.
inline constexpr const char* kFlushCaches = "flush-l2";

struct FileDecl {
  std::string name;
  std::string path;    // relative to the folder of abba.json
  std::string sha256;  // fixed by the manifest, or empty
  std::string source_repo;
  std::string source_revision;
  std::vector<std::string> make;  // argv with {path}; run if the path is missing
};

struct Arm {
  std::string id;  // "A" (baseline) or "B"
  std::string label;
  std::map<std::string, std::string> factors;  // factor -> level
  std::string rev;                             // a git revision to build, or empty
  std::vector<std::string> worker;             // a worker's command, or empty (the common one)
  std::vector<std::string> program;            // rung 0: a program without the protocol, or empty
  Reads reads = Reads::kProtocol;              // of `program`
  base::Json inject;  // a known effect the worker adds, to see the harness find it; null = none
};

struct BuildRecipe {
  std::vector<std::vector<std::string>>
      commands;            // run in the worktree, {build} = the build folder
  std::string executable;  // relative to the build folder
};

struct Work {  // of one request; negative = not declared
  double items = -1;
  double bytes = -1;
  double flops = -1;
};

struct Workload {
  std::string id;
  base::Json input;  // opaque to the harness
  Work work;
  std::vector<std::string> boundaries;  // to time; the first is the outermost; empty = the worker's
  int rotate = 0;                       // seeded variants of the input, 0 = none
};

struct SlotRule {  // see `two-pass` and `standard` in the statistics: counts, then the clock
  std::int64_t warmup_requests = 10;
  double warmup_ms = 50;
  std::int64_t min_requests = 30;
  double min_ms = 250;
  std::int64_t max_requests = 300;
  double max_ms = 2000;
};

// Seconds that a worker may take to answer each message. A slot gets slot_s, what its paced
// arrivals need, and ten times what its requests would take at the pace of the first one.
struct Timeouts {
  double hello_s = 30;
  double load_s = 100;
  double prepare_s = 100;
  double slot_s = 100;
  double outputs_s = 100;
  double graph_capture_s = 100;
  double shutdown_s = 5;
  bool operator==(const Timeouts&) const = default;
};

struct Limits {
  double max_wall_s = 4 * 3600;
  std::int64_t max_requests = 10'000'000;
  std::int64_t max_runs = 0;  // 0 = not limited
  Timeouts timeouts;
};

struct Protocol {
  Preset preset = Preset::kStandard;
  bool feasibility = true;
  int passes = 12;
  std::vector<int> looks;  // pass counts at which the run may stop; the last equals `passes`
  WorkerReuse workers = WorkerReuse::kFreshPerPass;
  int blocks = 4;  // per workload and pass
  Order order = Order::kAbbaBaab;
  // In which the workloads of a pass take turns, a block each; absent = default_workload_order.
  std::optional<WorkloadOrder> workload_order;
  SlotRule slot;
  Arrival arrival = Arrival::kBackToBack;
  double interval_ms = 0;  // of paced arrivals
  Placement placement = Placement::kBothLoaded;
  std::string cache = "warm";  // or kFlushCaches
  std::string readiness = "one full request answered";
  Load load = Load::kQuiet;
  OnTaint on_taint = OnTaint::kRepeatOnce;
  std::uint64_t seed = 1;
  double idle_gap_ms = 0;  // pause before each slot, the same for both arms
  Limits limits;
};

// Blocks of one slot an arm: the seeds' method.
constexpr bool has_two_slot_blocks(const Protocol& protocol) {
  return protocol.order == Order::kAbBa ||
         (protocol.order == Order::kInterleaved && protocol.preset == Preset::kTwoPass);
}

// As declared under the seeds' method, drawn anew in each round of blocks elsewhere.
constexpr WorkloadOrder default_workload_order(const Protocol& protocol) {
  return has_two_slot_blocks(protocol) ? WorkloadOrder::kFixed : WorkloadOrder::kRandom;
}

struct StageLimit {
  double nrms = -1;  // negative = not limited
  double max_abs = -1;
};

struct Reference {  // what each arm's outputs are compared with; absent when both are empty
  std::vector<std::string> worker;  // empty = the common worker
  base::Json settings;              // laid over the common settings
  std::string file;
  [[nodiscard]] bool present() const { return settings.is_object() || !file.empty(); }
};

struct Outputs {
  OutputsRule rule = OutputsRule::kNone;
  std::map<std::string, StageLimit> limits;  // stage -> limit of A against B
  std::map<std::string, StageLimit>
      reference_limits;             // stage -> limit of each arm against reference
  std::vector<std::string> stages;  // empty = all the worker declares
  Reference reference;
};

struct Success {
  Claim claim = Claim::kFaster;
  std::vector<std::string> primary;  // workloads; empty = all
  std::string metric = "latency";
  std::string boundary;              // empty = each workload's outermost
  double at_least = 0;               // fraction, 0.05 = 5 %
  std::optional<double> harm_limit;  // M, a fraction; absent = equivalence cannot be concluded
  double confidence = 0.95;
  std::vector<std::string> controls;  // spans that the change cannot touch: negative controls
};

struct DeviceWish {
  std::string wanted = "none";  // "none", "any", or a GPU UUID
  std::string compute_capability;
  std::int64_t sm_count = -1;
  std::int64_t memory_bytes = -1;
};

struct AffinityWish {
  std::vector<int> cpus;  // of the workers; empty = the default rule
  int numa_node = -1;     // -1 = not bound
  bool bind_memory = false;
};

struct Evidence {   // the profile that suggested the change
  std::string run;  // digest
  std::string row;
  double share = -1;
  [[nodiscard]] bool present() const { return !run.empty(); }
};

struct Manifest {
  std::string id;
  std::string title;
  std::string hypothesis;
  std::string rationale;
  std::string prior_data = "none";
  Evidence evidence;
  std::string reference_environment;  // file that states another measurement's machine, or empty
  std::string independent_variable;   // a factor name, "rev", "executable", "worker" or "none"
  bool combined = false;              // several factors differ on purpose: "unisolated"
  Arm a;
  Arm b;
  std::vector<std::string> worker;  // common command; empty = the default worker
  base::Json settings = base::Json::object();
  std::vector<FileDecl> files;
  BuildRecipe build;
  std::map<std::string, std::string> fixed_hashes;
  DeviceWish device;
  AffinityWish affinity;
  std::vector<Workload> workloads;
  Protocol protocol;
  Outputs outputs;
  Success success;
  std::vector<std::string> sources;  // paths whose tree hash is frozen; empty = the default rule
  bool bind_registered = false;  // "bind": "registered": executable hashes frozen at registration
  base::Json traces;             // later phases: kept as declared
  base::Json graph_capture;
  base::Json gate;
  base::Json expanded;  // the whole manifest with defaults: what the digest is made of
  std::string path;     // where it was read from
  [[nodiscard]] const Arm& arm(const std::string& arm_id) const { return arm_id == "A" ? a : b; }
};

}  // namespace abba::record
