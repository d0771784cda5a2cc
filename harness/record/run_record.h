// A run as it lies in its file: everything statistics and reports read. Made by harness/store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/record/registration.h"
#include "harness/record/worker.h"

namespace abba::record {

// WorkerProcess::arm of a process that both arms share.
inline constexpr const char* kBothArms = "AB";

// WorkerProcess::pass of a process that served a pass after the measured ones.
inline constexpr int kLaterPass = -2;

struct WorkerProcess {
  std::int64_t id = 0;
  std::string arm;  // "A", "B" or kBothArms
  int pass = -1;    // first measured pass it served, -1 = preflight or feasibility, or kLaterPass
  std::int64_t pid = 0;
  std::string command_digest;
  std::map<std::string, double>
      setup_ns;  // "spawn", "load", "modules", "first_request/WORKLOAD", ...
  std::vector<std::string> last_stderr;
  int exit_code = 0;
  std::vector<int> cpus;  // as read back from the kernel
};

struct Identity {
  std::string source;  // "cpu", "kernel", "nvml", "driver", "worker/A", ...
  std::string key;
  std::string value;
};

// Sources of the rows that a manifest's reference environment becomes.
inline constexpr const char* kReferenceStated = "reference";       // key: what, value: stated
inline constexpr const char* kReferenceHere = "reference/here";    // key: what, value: "SOURCE|KEY"
inline constexpr const char* kReferenceTitle = "reference/title";  // key: file, value: title

struct EnvironmentReading {
  std::int64_t slot = -1;  // -1 = not tied to a slot
  std::int64_t time_ns = 0;
  std::string moment;  // "before", "after", "during"
  std::string key;
  double value = 0;
  std::string unit;
  std::string text;  // when the value is no number, or why it could not be read
};

struct Slot {
  std::int64_t id = 0;
  std::int64_t block = 0;
  int position = 0;
  std::string arm;
  std::int64_t worker = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t idle_gap_ns = 0;
  std::int64_t allocations = -1;
  std::int64_t failures = 0;
  std::string digest;
  std::vector<Sample> samples;
  std::vector<Span> spans;
  std::vector<Value> values;
};

struct Block {
  std::int64_t id = 0;
  int pass = 0;
  Phase phase = Phase::kMeasured;
  std::string workload;
  std::string boundary;
  std::string slot_order;
  std::string taint;    // empty = clean; else the coded reasons, comma separated
  bool failed = false;  // a worker died, hung or answered wrongly: no sample of it is used
  std::string failure;
  std::vector<Slot> slots;
};

struct Pass {
  std::int64_t id = 0;
  int index = 0;
  Phase phase = Phase::kMeasured;
  bool superseded = false;  // interrupted and rerun whole; kept, in no statistic
  std::string why;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<Block> blocks;
};

struct OutputCheck {
  std::string input;  // workload id
  std::string stage;
  std::string arm;
  std::string against;  // "A", "B", "repeat", "reversed", "reference"
  std::string digest;
  bool equal = false;   // bitwise
  bool within = false;  // the registered rule
  double nrms = -1;
  double max_abs = -1;
  double ulp = -1;
  std::string first_divergence;
};

// What one shape of a workload cost one arm until its captured graph ran.
struct GraphCapture {
  std::int64_t worker = 0;  // that it was measured in
  std::string arm;
  std::string workload;
  CaptureCosts costs;
};

enum class Severity { kInfo, kDoubt, kInvalid };

struct Note {
  std::string code;  // like N012
  Severity severity = Severity::kInfo;
  std::string where;  // workload, pass, ... or empty
  std::string text;
};

enum class RunState { kRunning, kFinished, kStopped, kBroken };

struct RunRecord {
  std::string file;
  std::string run_id;  // "<utc>-<lock8>"
  RunState state = RunState::kRunning;
  std::string state_text;
  std::string started_utc;
  std::string finished_utc;
  bool exploratory = false;
  int resumed = 0;
  std::string analysis_version;
  std::string program_version;
  Manifest manifest;
  Registration registration;
  Plan plan;
  std::vector<Binding> bindings;
  std::map<std::string, WorkerHello> hello;  // by arm
  std::map<std::string, LoadReply> load;     // by arm, of the first workers
  std::vector<SlotCounts> counts;
  std::vector<WorkerProcess> workers;
  std::vector<Identity> identity;
  std::vector<EnvironmentReading> environment;
  std::vector<Pass> passes;
  std::vector<OutputCheck> output_checks;
  std::vector<GraphCapture> graph_captures;
  std::vector<Note> notes;
  std::map<std::string, PrepareReply> prepared;  // "A/WORKLOAD"
  std::string head_digest;                       // of the chain
};

}  // namespace abba::record
