// Lines of a worker of any bytes through every reader of answers. Promises: a refusal that names
// the worker, or data within what was asked.
#include "engine/base/error.h"
#include "harness/workers/messages.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"

namespace {

namespace record = abba::record;
namespace workers = abba::workers;

// What the corpus's slots answer to.
record::SlotRequest slot_request() {
  record::SlotRequest request;
  request.slot_id = "p0/b1/s2";
  request.workload = "w";
  request.boundaries = {"b"};
  request.warmup = 1;
  request.requests = 2;
  return request;
}

record::WorkerHello hello() {
  static const record::WorkerHello kHello = workers::parse_hello(
      abba::base::parse_json(
          R"({"type":"hello","protocol":"abba.worker/1","name":"n","version":"1",
              "files_to_hash":[],"boundaries":[{"name":"b","unit":"ns","clock":"c","parent":""},
              {"name":"i","unit":"ns","clock":"c","parent":"b"}],
              "metrics":[{"name":"m","unit":"s","direction":"higher-is-better"}],"factors":[],
              "capabilities":["load"],"stages":["s"]})",
          "hello"),
      "worker");
  return kHello;
}

std::string read(const abba::base::Json& answer) {
  const std::string name = "worker";
  const std::string type = workers::answer_type(answer);
  if (type == "hello") workers::parse_hello(answer, name);
  if (type == "load") workers::parse_load(answer, name);
  if (type == "prepare") workers::parse_prepare(answer, name);
  if (type == "outputs") {
    for (const bool values : {false, true}) {
      workers::parse_outputs(answer, {"s"}, hello(), values, name);
    }
  }
  if (type == "graph_capture") {
    for (const auto& costs : workers::parse_graph_capture(answer, name)) {
      if (costs.capture_ns.value_or(0) < 0 || costs.bytes.value_or(0) < 0) return "a negative cost";
    }
  }
  if (type == "slot") {
    const auto reply = workers::parse_slot(answer, slot_request(), hello(), name);
    if (reply.samples.size() != 3) return "a slot of another number of requests";
  }
  return "";
}

std::string target(std::string_view input) {
  try {
    return read(workers::parse_answer(std::string(input), "worker"));
  } catch (const abba::base::Error& error) {
    return std::string(error.what()).find("worker") == std::string::npos
               ? std::string("a refusal without the worker's name: ") + error.what()
               : "";
  }
}

}  // namespace

int main(int argc, char** argv) {
  return abba::fuzz::run(
      argc, argv,
      abba::fuzz::with_json({"\"type\"",          "\"hello\"",   "\"load\"",       "\"prepare\"",
                             "\"slot\"",          "\"outputs\"", "\"error\"",      "\"samples\"",
                             "\"spans\"",         "\"values\"",  "\"digest\"",     "\"tensors\"",
                             "\"shape\"",         "\"dtype\"",   "\"boundaries\"", "\"metrics\"",
                             "\"factors\"",       "\"levels\"",  "\"parent\"",     "[1,2,3]",
                             "\"graph_capture\"", "\"ledger\"",  "\"capture_ns\"", "\"warm_runs\"",
                             "\"warm_ns\"",       "\"bytes\""}),
      target);
}
