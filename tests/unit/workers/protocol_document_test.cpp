// The protocol's documents are true: the schema describes what the kits answer and what the harness
// asks, and the README's transcript is what the example really answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "harness/workers/messages.h"
#include "harness/workers/process.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using base::Json;

// As much of JSON Schema as the protocol's schema uses.
class Schema {
 public:
  Schema() : root_(base::parse_json_file(ABBA_TEST_KIT "/protocol.schema.json")) {}

  // Empty, or what does not hold and where.
  [[nodiscard]] std::string check(const Json& value, const std::string& group,
                                  const std::string& type) const {
    return problem(value, root_.at("$defs").at(group).at(type), group + "/" + type);
  }

 private:
  static bool is_of_type(const Json& value, const std::string& type) {
    if (type == "integer") return value.is_integer();
    if (type == "number") return value.is_number();
    const std::string kind(value.kind_name());
    return kind == "a " + type || kind == "an " + type || kind == type;
  }
  [[nodiscard]] const Json& resolved(const Json& schema) const {
    const Json* reference = schema.find("$ref");
    if (reference == nullptr) return schema;
    const Json* at = &root_;
    for (const std::string& part : base::split(reference->as_string().substr(2), '/')) {
      at = &at->at(part);
    }
    return *at;
  }
  static bool type_holds(const Json& value, const Json& types) {
    if (types.is_string()) return is_of_type(value, types.as_string());
    return std::any_of(types.as_array().begin(), types.as_array().end(),
                       [&](const Json& type) { return is_of_type(value, type.as_string()); });
  }
  [[nodiscard]] std::string problem(const Json& value, const Json& unresolved,
                                    const std::string& where) const {
    const Json& schema = resolved(unresolved);
    if (const Json* any = schema.find("anyOf")) {
      for (const Json& option : any->as_array()) {
        if (problem(value, option, where).empty()) return "";
      }
      return where + ": none of the alternatives";
    }
    const Json* type = schema.find("type");
    if (type != nullptr && !type_holds(value, *type)) return where + ": another type";
    const Json* constant = schema.find("const");
    if (constant != nullptr && !(*constant == value)) return where + ": another constant";
    const Json* options = schema.find("enum");
    if (options != nullptr && std::find(options->as_array().begin(), options->as_array().end(),
                                        value) == options->as_array().end()) {
      return where + ": none of the enum";
    }
    if (value.is_object()) return check_members(value, schema, where);
    const Json* items = schema.find("items");
    if (value.is_array() && items != nullptr) {
      for (const Json& item : value.as_array()) {
        const std::string found = problem(item, *items, where + "[]");
        if (!found.empty()) return found;
      }
    }
    return "";
  }
  [[nodiscard]] std::string check_members(const Json& value, const Json& schema,
                                          const std::string& where) const {
    if (const Json* required = schema.find("required")) {
      for (const Json& key : required->as_array()) {
        if (value.find(key.as_string()) == nullptr) return where + ": no " + key.as_string();
      }
    }
    const Json* properties = schema.find("properties");
    const Json* others = schema.find("additionalProperties");
    for (const auto& [key, member] : value.as_object()) {
      const Json* declared = properties == nullptr ? nullptr : properties->find(key);
      if (declared == nullptr && others != nullptr && others->is_object()) declared = others;
      // Stricter than the schema: what our own kits say must be described.
      if (declared == nullptr && properties != nullptr) return where + ": undescribed " + key;
      if (declared == nullptr) continue;
      const std::string found = problem(member, *declared, where + "/" + key);
      if (!found.empty()) return found;
    }
    return "";
  }

  Json root_;
};

std::string ask(Process& process, const std::string& request) {
  std::string answer;
  EXPECT_TRUE(process.write_line(request, after_seconds(20)));
  EXPECT_EQ(process.read_line(answer, kMaxAnswerBytes, after_seconds(20)), ReadState::kLine);
  return answer;
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> result;
  for (const auto& member : json.as_object()) result.push_back(member.first);
  return result;
}

TEST(ProtocolSchema, DescribesWhatTheHarnessAsksAndBothKitsAnswer) {
  const Schema schema;
  record::Workload workload = saxpy_workload(3);
  record::LoadRequest load;
  load.factors["loop"] = "plain";
  load.inject = base::parse_json(R"([{"kind":"spin","fraction":0.1,"slots":[2,1]}])", "");
  const std::vector<Json> requests = {hello_request(),
                                      load_request(load),
                                      prepare_request(workload, 5),
                                      slot_request(slot_of("w")),
                                      outputs_request("w", {}, true),
                                      shutdown_request()};
  for (const auto& argv : {saxpy_cpp(), saxpy_python(), broken_python("nothing")}) {
    ProcessSpec spec;
    spec.argv = argv;
    Process process(spec);
    for (const Json& request : requests) {
      const std::string type = request.at("type").as_string();
      EXPECT_EQ(schema.check(request, "requests", type), "");
      const Json answer = parse_answer(ask(process, request.dump()), "worker");
      EXPECT_EQ(schema.check(answer, "answers", type), "");
    }
  }
}

// The C++ kit flushes, the Python one of the rule breaker has a hot factor.
TEST(ProtocolSchema, DescribesColdCachesAndHotFactors) {
  const Schema schema;
  record::SlotRequest cold = slot_of("w");
  cold.flush = true;
  record::SlotRequest switched = slot_of("w");
  switched.factors = {{"pace", "quick"}};
  const std::vector<std::string> breaker = {ABBA_TEST_PYTHON, "-B", ABBA_TEST_BREAKER};
  for (const auto& [argv, request] :
       {std::pair{saxpy_cpp(), slot_request(cold)},
        {breaker, slot_request(switched)},
        {breaker, outputs_request("w", {}, false, switched.factors)}}) {
    ProcessSpec spec;
    spec.argv = argv;
    Process process(spec);
    ask(process, prepare_request(saxpy_workload(3), 5).dump());
    const std::string type = request.at("type").as_string();
    EXPECT_EQ(schema.check(request, "requests", type), "");
    const Json answer = parse_answer(ask(process, request.dump()), "worker");
    EXPECT_EQ(schema.check(answer, "answers", type), "");
    EXPECT_NE(answer.find(request.find("flush") != nullptr ? "flush" : "factors"), nullptr);
  }
}

TEST(ProtocolSchema, DescribesTheCaptureLedger) {
  const Schema schema;
  ProcessSpec spec;
  spec.argv = {ABBA_TEST_PYTHON, "-B", ABBA_TEST_BREAKER};
  Process process(spec);
  ask(process, prepare_request(saxpy_workload(3), 5).dump());
  const Json request = graph_capture_request("w");
  EXPECT_EQ(schema.check(request, "requests", "graph_capture"), "");
  Json answer = parse_answer(ask(process, request.dump()), "worker");
  EXPECT_EQ(schema.check(answer, "answers", "graph_capture"), "");
  // Every column of the table, as the parser knows it, and no other.
  const Json whole = base::parse_json(
      R"({"type":"graph_capture","ledger":[{"shape":"s","first_run_ns":1,"warm_runs":1,"warm_ns":1,
      "capture_ns":1,"instantiate_ns":1,"upload_ns":1,"first_replay_ns":1,"nodes":1,"bytes":1}]})",
      "");
  EXPECT_EQ(schema.check(whole, "answers", "graph_capture"), "");
  EXPECT_EQ(parse_graph_capture(whole, "worker").front().bytes, 1);
  answer.set("ledger", base::parse_json(R"([{"shape":"s","cost_ns":1}])", ""));
  EXPECT_NE(schema.check(answer, "answers", "graph_capture"), "");
}

TEST(ProtocolSchema, RefusesWhatItShould) {  // the canary of the checker
  const Schema schema;
  Json request = slot_request(slot_of("w"));
  request.set("requests", "five");
  EXPECT_NE(schema.check(request, "requests", "slot"), "");
  request.erase("requests");
  EXPECT_NE(schema.check(request, "requests", "slot"), "");
  Json effect = base::parse_json(R"({"type":"load","inject":{"kind":"magic"}})", "");
  EXPECT_NE(schema.check(effect, "requests", "load"), "");
  EXPECT_NE(schema.check(base::parse_json(R"({"type":"hello","versions":[],"x":1})", ""),
                         "requests", "hello"),
            "");
}

TEST(ProtocolReadme, TheTranscriptIsWhatTheExampleAnswers) {
  ProcessSpec spec;
  spec.argv = saxpy_cpp();
  Process process(spec);
  std::string request;
  int answers = 0;
  for (const std::string& line : base::split(base::read_file(ABBA_TEST_KIT "/README.md"), '\n')) {
    if (line.starts_with("> {")) request = line.substr(2);
    if (!line.starts_with("< {")) continue;
    const Json written = base::parse_json(line.substr(2), "README");
    const Json real = base::parse_json(ask(process, request), "worker");
    EXPECT_EQ(keys(real), keys(written));
    for (const char* steady : {"type", "error", "factors", "boundary", "digest", "tensors", "work",
                               "boundaries", "capabilities"}) {
      ASSERT_EQ(real.find(steady) == nullptr, written.find(steady) == nullptr);
      if (real.find(steady) == nullptr) continue;
      EXPECT_EQ(real.at(steady).dump(), written.at(steady).dump());
    }
    ++answers;
  }
  EXPECT_EQ(answers, 7);
}

}  // namespace
}  // namespace abba::workers
