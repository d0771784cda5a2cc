// Answers that no kit would give, one wrong member at a time.
#include "harness/workers/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using base::Error;
using base::Json;

Json hello() {
  return base::parse_json(R"({"type":"hello","protocol":"abba.worker/1","name":"n","version":"1",
    "files_to_hash":[],"boundaries":[{"name":"b","unit":"ns","clock":"c","parent":""},
    {"name":"i","unit":"ns","clock":"c","parent":"b"}],
    "metrics":[{"name":"m","unit":"s","direction":"higher-is-better"}],
    "factors":[{"name":"f","levels":[{"name":"l1"},{"name":"l2","exactness":"tolerance"}],
    "default":"l2","hot":true}],"capabilities":["load"],"stages":["s"]})",
                          "");
}

Json slot() {
  return base::parse_json(R"({"type":"slot","slot_id":"p0/b1/s2","workload":"w","boundary":"b",
    "warmup":1,"start_ns":[10,20,30],"duration_ns":[5,10,7],"failed":[1],"failure_text":"oh",
    "spans":{"seq":[1,1],"name":["i","j"],"parent":["b","i"],"start_ns":[21,22],
    "duration_ns":[8,3]},"totals":{"name":["i"],"parent":["b"],"duration_ns":[9],"count":[2]},
    "values":{"m":[1.5,null,2]},"allocations":3,"digest":""})",
                          "");
}

record::SlotReply parse(const Json& answer) {
  return parse_slot(answer, slot_of("w", 1, 2), parse_hello(hello(), "B"), "B");
}

TEST(Messages, AGoodHelloAndSlotAreRead) {
  const record::WorkerHello declared = parse_hello(hello(), "B");
  EXPECT_EQ(declared.factors[0].default_level, "l2");
  EXPECT_TRUE(declared.factors[0].hot);
  EXPECT_EQ(declared.metrics[0].direction, record::Direction::kHigherIsBetter);
  EXPECT_EQ(declared.boundaries[1].parent, "b");
  const record::SlotReply reply = parse(slot());
  EXPECT_EQ(reply.samples.size(), 3U);
  EXPECT_EQ(reply.samples[1].status, record::SampleStatus::kFailed);
  EXPECT_EQ(reply.failures, 1);
  EXPECT_EQ(reply.spans.size(), 3U);
  EXPECT_EQ(reply.values.size(), 2U);
  EXPECT_EQ(reply.allocations, 3);
}

struct Change {
  const char* path;  // member names from the root, separated by dots; empty last part = remove
  const char* value;
  friend void PrintTo(const Change& change, std::ostream* out) {
    *out << change.path << " = " << change.value;
  }
};

Json changed(Json json, const Change& change) {
  Json* at = &json;
  std::string path = change.path;
  for (std::size_t dot = 0; (dot = path.find('.')) != std::string::npos; path.erase(0, dot + 1)) {
    at = at->find(path.substr(0, dot));
  }
  at->erase(path);
  if (*change.value != '\0') at->set(path, base::parse_json(change.value, ""));
  return json;
}

class WrongSlot : public testing::TestWithParam<Change> {};

TEST_P(WrongSlot, IsRefused) {
  EXPECT_THROW(parse(changed(slot(), GetParam())), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Members, WrongSlot,
    testing::Values(
        Change{"slot_id", "\"p0/b1/s3\""}, Change{"slot_id", "7"}, Change{"slot_id", ""},
        Change{"workload", "\"v\""}, Change{"boundary", "\"\""}, Change{"warmup", "0"},
        Change{"start_ns", "[10,20]"}, Change{"start_ns", "[10,20,30,40]"},
        Change{"start_ns", "[10,14,30]"}, Change{"start_ns", "[10,20,1e300]"},
        Change{"start_ns", "[-10,20,30]"}, Change{"start_ns", "{}"}, Change{"start_ns", ""},
        Change{"duration_ns", "[5,10,-1]"}, Change{"duration_ns", "[5,10,null]"},
        Change{"duration_ns", "[5,10,\"7\"]"}, Change{"duration_ns", "[5,9223372036854775807,7]"},
        Change{"duration_ns", "[5,11,7]"}, Change{"failed", "[3]"}, Change{"failed", "[1,1]"},
        Change{"failed", "[-1]"}, Change{"spans.seq", "[0,1]"}, Change{"spans.seq", "[1]"},
        Change{"spans.name", "[\"i\",3]"}, Change{"spans.name", "[\"i\",\"a\\u0007\"]"},
        Change{"spans.start_ns", "[19,22]"}, Change{"spans.duration_ns", "[10,3]"},
        Change{"spans.duration_ns", "[8,8]"}, Change{"spans.parent", "[\"b\",\"k\"]"},
        Change{"spans.parent", "[\"i\",\"i\"]"}, Change{"spans", "[]"},
        Change{"totals.count", "[0]"}, Change{"totals.count", "[1,2]"}, Change{"totals", ""},
        Change{"values.m", "[1]"}, Change{"values.m", "[1,2,\"x\"]"}, Change{"values.k", "[1,2,3]"},
        Change{"values", "[]"}, Change{"allocations", "-2"}, Change{"allocations", "null"},
        Change{"digest", "\"12\""}, Change{"digest", "12"}));

Json capture() {
  return base::parse_json(R"({"type":"graph_capture","ledger":[{"shape":"[8,128]",
    "first_run_ns":9000,"warm_runs":2,"warm_ns":800,"capture_ns":400,"instantiate_ns":300,
    "upload_ns":90,"first_replay_ns":200,"nodes":31,"bytes":2097152}]})",
                          "");
}

Json with_entry(const std::string& entry) {
  return base::parse_json(
      R"({"type":"graph_capture","ledger":[{"shape":"[8,128]"},)" + entry + "]}", "");
}

TEST(Messages, AGoodLedgerIsRead) {
  const auto costs = parse_graph_capture(capture(), "B");
  ASSERT_EQ(costs.size(), 1U);
  EXPECT_EQ(costs[0].shape, "[8,128]");
  EXPECT_EQ(costs[0].first_run_ns, 9000);
  EXPECT_EQ(costs[0].warm_runs, 2);
  EXPECT_EQ(costs[0].warm_ns, 800);
  EXPECT_EQ(costs[0].capture_ns, 400);
  EXPECT_EQ(costs[0].instantiate_ns, 300);
  EXPECT_EQ(costs[0].upload_ns, 90);
  EXPECT_EQ(costs[0].first_replay_ns, 200);
  EXPECT_EQ(costs[0].nodes, 31);
  EXPECT_EQ(costs[0].bytes, 2097152);
}

TEST(Messages, ACostThatIsLeftOutIsAbsentAndNotZero) {
  const auto costs = parse_graph_capture(with_entry(R"({"shape":"eager","capture_ns":0})"), "B");
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_FALSE(costs[0].capture_ns.has_value());
  EXPECT_EQ(costs[1].capture_ns, 0);
  EXPECT_FALSE(costs[1].bytes.has_value());
}

// Each refusal names what is wrong with which member.
struct WrongEntry {
  const char* entry;
  const char* says;
  friend void PrintTo(const WrongEntry& wrong, std::ostream* out) { *out << wrong.entry; }
};
class WrongLedger : public testing::TestWithParam<WrongEntry> {};

TEST_P(WrongLedger, IsRefused) {
  try {
    parse_graph_capture(with_entry(GetParam().entry), "B");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBroken);
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().says));
    EXPECT_THAT(error.what(), testing::HasSubstr("graph_capture"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Entries, WrongLedger,
    testing::Values(
        WrongEntry{R"({"shape":"[8,128]"})", "named twice"},
        WrongEntry{R"({"capture_ns":4})", "\"shape\" is missing"},
        WrongEntry{R"({"shape":""})", "\"shape\" is empty"},
        WrongEntry{R"({"shape":7})", "a string was expected"},
        WrongEntry{R"({"shape":"a\u0007"})", "control characters"},
        WrongEntry{R"({"shape":"s","capture_ns":-1})", "\"capture_ns\" is no integer from 0"},
        WrongEntry{R"({"shape":"s","capture_ns":1.5})", "\"capture_ns\" is no integer"},
        WrongEntry{R"({"shape":"s","capture_ns":"NaN"})", "\"capture_ns\" is no integer"},
        WrongEntry{R"({"shape":"s","capture_ns":null})", "\"capture_ns\" is no integer"},
        WrongEntry{R"({"shape":"s","bytes":9223372036854775807})", "\"bytes\" is no integer"},
        WrongEntry{R"({"shape":"s","bytes":1e300})", "\"bytes\" is no integer"},
        WrongEntry{R"({"shape":"s","warm_runs":3})", "come together"},
        WrongEntry{R"({"shape":"s","warm_ns":3})", "come together"},
        WrongEntry{R"({"shape":"s","uplaod_ns":3})", "\"uplaod_ns\" is no cost of a capture"},
        WrongEntry{R"([])", "no object"}));

TEST(Messages, ALedgerThatIsNoneIsRefused) {
  EXPECT_THROW(parse_graph_capture(changed(capture(), {"ledger", ""}), "B"), Error);
  EXPECT_THROW(parse_graph_capture(changed(capture(), {"ledger", "{}"}), "B"), Error);
  EXPECT_THROW(parse_graph_capture(changed(capture(), {"ledger", "[]"}), "B"), Error);
  Json many = Json::array();
  for (int i = 0; i < 1001; ++i) {
    many.push_back(Json::object({{"shape", std::to_string(i)}}));
  }
  Json answer = capture();
  answer.set("ledger", many);
  EXPECT_THROW(parse_graph_capture(answer, "B"), Error);
}

class WrongHello : public testing::TestWithParam<Change> {};

TEST_P(WrongHello, IsRefused) {
  EXPECT_THROW(parse_hello(changed(hello(), GetParam()), "B"), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Members, WrongHello,
    testing::Values(
        Change{"protocol", "\"abba.worker/2\""}, Change{"name", "\"\""},
        Change{"name", "\"a\\nb\""}, Change{"version", "1"}, Change{"boundaries", "[]"},
        Change{"boundaries", "[3]"},
        Change{"boundaries", R"([{"name":"a","unit":"ns","clock":"c","parent":"z"}])"},
        Change{"boundaries", R"([{"name":"a","unit":"ns","clock":"c","parent":"a"}])"},
        Change{"boundaries", R"([{"name":"a","unit":"ns","clock":"c","parent":"b"},
                                 {"name":"b","unit":"ns","clock":"c","parent":"a"}])"},
        Change{"boundaries", R"([{"name":"a","unit":"ns","clock":"c","parent":""},
                                 {"name":"a","unit":"ns","clock":"c","parent":""}])"},
        Change{"metrics", R"([{"name":"m","unit":"s","direction":"sideways"}])"},
        Change{"factors", R"([{"name":"f","levels":[],"default":"x"}])"},
        Change{"factors", R"([{"name":"f","levels":[{"name":"a"}],"default":"x"}])"},
        Change{"factors", R"([{"name":"f","levels":[{"name":"a"},{"name":"a"}],"default":"a"}])"},
        Change{"factors",
               R"([{"name":"f","levels":[{"name":"a","exactness":"close"}],"default":"a"}])"},
        Change{"capabilities", "\"load\""}, Change{"stages", "[\"s\",\"s\"]"},
        Change{"files_to_hash", ""}));

TEST(Messages, OutputsAreCheckedAgainstTheirShape) {
  const std::string digest(64, 'a');
  const auto outputs = [&](const std::string& tensors) {
    return parse_outputs(base::parse_json(R"({"type":"outputs","tensors":[)" + tensors + "]}", ""),
                         {"s"}, parse_hello(hello(), "B"), true, "B");
  };
  const auto tensor = [&](const std::string& shape, const std::string& values) {
    return R"({"stage":"s","dtype":"F32","shape":)" + shape + R"(,"digest":")" + digest +
           R"(","values_f32":")" + values + "\"}";
  };
  EXPECT_EQ(outputs(tensor("[2]", "AACAPwAAAEA="))[0].values, (std::vector<float>{1, 2}));
  EXPECT_TRUE(outputs(tensor("[0,7]", ""))[0].values.empty());
  for (const char* values : {"AACAPw==", "AACAPwAAAEA", "AACAPwAAAE=A", "AAC*PwAAAEA=", "===="}) {
    EXPECT_THROW(outputs(tensor("[2]", values)), Error) << values;
  }
  EXPECT_THROW(outputs(tensor("[1099511627776,1099511627776]", "AACAPw==")), Error);
  EXPECT_THROW(outputs(tensor("[-1]", "")), Error);
  EXPECT_THROW(outputs(""), Error) << "the stage is missing";
  EXPECT_THROW(outputs(tensor("[0]", "") + "," + tensor("[0]", "")), Error) << "twice";
}

TEST(Messages, SmallSeedsStayDifferent) {
  const auto seed = [](std::uint64_t value) {
    return prepare_request(saxpy_workload(), value).find("workload")->find("seed")->as_int();
  };
  EXPECT_EQ(seed(1), 1);
  EXPECT_EQ(seed(~std::uint64_t{0}), (std::int64_t{1} << 53) - 1);
}

}  // namespace
}  // namespace abba::workers
