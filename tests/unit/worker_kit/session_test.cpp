// The conversation, without pipes: what the kit answers to good and to bad requests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/worker_kit/abba_worker.h"

namespace {

using abba_worker::Json;
using abba_worker::Session;

struct Doubler : abba_worker::Worker {
  std::vector<float> in, out;
  std::vector<std::string> prepared;
  abba_worker::LoadRequest loaded;

  abba_worker::Description describe() override {
    abba_worker::Description about{"doubler", "3", {{"mode", {{"add"}, {"multiply"}}}}, {"out"}};
    about.boundaries = {{"whole"}, {"part", "whole"}};
    return about;
  }
  void load(const abba_worker::LoadRequest& request, abba_worker::LoadReply& reply) override {
    loaded = request;
    if (request.settings["fall_back"].boolean()) reply.factors["mode"] = "add";
    if (request.settings["refuse"].boolean()) {
      throw abba_worker::Refused("no_file", "the file weights is missing");
    }
  }
  abba_worker::Prepared prepare(const abba_worker::Workload& workload) override {
    const std::int64_t n = workload.input["n"].integer(8);
    if (n < 0) throw std::runtime_error("n is negative");
    prepared.push_back(workload.id);
    in = abba_worker::random_floats(n, workload.seed);
    out.assign(in.size(), -1);
    expose("out", {n}, out.data());
    return {static_cast<double>(n)};
  }
  void request() override {
    const abba_worker::Span part(recorder(), "part");
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = level("mode") == "add" ? in[i] + in[i] : in[i] * 2;
    }
  }
};

struct Capturing : Doubler {
  std::vector<abba_worker::CaptureCosts> ledger;
  std::int64_t first_seen = -1;

  abba_worker::Description describe() override {
    abba_worker::Description about = Doubler::describe();
    about.captures = true;
    return about;
  }
  std::vector<abba_worker::CaptureCosts> graph_capture() override {
    first_seen = first_request_ns();
    return ledger;
  }
};

TEST(Capture, TheLedgerHoldsWhatIsKnownAndNoMore) {
  Capturing worker;
  Session session(worker);
  const auto ask = [&](const char* line) { return Json::parse(session.answer(line)); };
  EXPECT_EQ(Json::parse(session.hello())["capabilities"].items().back().text(), "graph_capture");
  EXPECT_EQ(ask(R"({"type":"graph_capture","workload":"w"})")["error"]["code"].text(),
            "unknown_workload");
  const Json prepared = ask(R"({"type":"prepare","workload":{"id":"w","input":{"n":3}}})");
  ask(R"({"type":"prepare","workload":{"id":"w","input":{"n":3}}})");
  worker.ledger.resize(2);
  worker.ledger[0].shape = "eager";
  worker.ledger[0].first_run_ns = 0;
  worker.ledger[1] = {"[3]", 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(ask(R"({"type":"graph_capture","workload":"w"})").dump(),
            R"({"type":"graph_capture","ledger":[{"shape":"eager","first_run_ns":0},)"
            R"({"shape":"[3]","first_run_ns":1,"warm_runs":2,"warm_ns":3,"capture_ns":4,)"
            R"("instantiate_ns":5,"upload_ns":6,"first_replay_ns":7,"nodes":8,"bytes":9}]})");
  // Of the first time that the workload was made ready, not of the last.
  EXPECT_EQ(worker.first_seen, prepared["first_request_ns"].integer());
}

TEST(Capture, AWorkerThatDoesNotDeclareItRefusesIt) {
  Doubler worker;
  Session session(worker);
  session.answer(R"({"type":"prepare","workload":{"id":"w"}})");
  EXPECT_EQ(
      Json::parse(session.answer(R"({"type":"graph_capture","workload":"w"})"))["error"]["code"]
          .text(),
      "unsupported");
}

class SessionTest : public testing::Test {
 protected:
  Json ask(const std::string& line) { return Json::parse(session_.answer(line)); }
  std::string code(const std::string& line) { return ask(line)["error"]["code"].text(); }
  void prepare(const std::string& id, int n) {
    const Json answer = ask(R"({"type":"prepare","workload":{"id":")" + id + R"(","input":{"n":)" +
                            std::to_string(n) + R"(},"seed":4}})");
    ASSERT_TRUE(answer["ready"].boolean()) << answer.dump();
  }
  Doubler worker_;
  Session session_{worker_};
};

TEST_F(SessionTest, HelloDeclaresWhatTheWorkerDescribes) {
  const Json hello = ask(R"({"type":"hello","versions":["abba.worker/9","abba.worker/1"]})");
  EXPECT_EQ(hello["protocol"].text(), "abba.worker/1");
  EXPECT_EQ(hello["name"].text(), "doubler");
  EXPECT_EQ(hello["boundaries"].items()[1]["parent"].text(), "whole");
  EXPECT_EQ(hello["factors"].items()[0]["default"].text(), "add");
  EXPECT_EQ(hello["factors"].items()[0]["levels"].items()[1]["name"].text(), "multiply");
  EXPECT_EQ(hello["capabilities"].items().back().text(), "outputs");
  EXPECT_EQ(hello.dump(), Json::parse(session_.hello()).dump());
}

TEST_F(SessionTest, RefusalsHaveACodeAndTheConversationGoesOn) {
  EXPECT_EQ(code(R"({"type":"hello","versions":["abba.worker/2"]})"), "bad_version");
  EXPECT_EQ(code("not json"), "bad_json");
  EXPECT_EQ(code("[]"), "unknown_message");
  EXPECT_EQ(code("{}"), "unknown_message");
  EXPECT_EQ(code(R"({"type":"dance"})"), "unknown_message");
  EXPECT_EQ(code(R"({"type":"load","factors":{"speed":"high"}})"), "unknown_factor");
  EXPECT_EQ(code(R"({"type":"load","factors":{"mode":"divide"}})"), "unknown_level");
  EXPECT_EQ(code(R"({"type":"load","inject":{"kind":"magic"}})"), "bad_inject");
  EXPECT_EQ(code(R"({"type":"load","inject":{"kind":"spin","fraction":-1}})"), "bad_inject");
  EXPECT_EQ(code(R"({"type":"load","inject":{"kind":"delay","ns":1,"position":-1}})"),
            "bad_inject");
  EXPECT_EQ(code(R"({"type":"load","settings":{"refuse":true}})"), "no_file");
  EXPECT_EQ(code(R"({"type":"prepare","workload":{"input":{}}})"), "bad_message");
  EXPECT_EQ(code(R"({"type":"prepare","workload":{"id":"w","input":{"n":-1}}})"), "failed");
  EXPECT_EQ(code(R"({"type":"prepare","workload":{"id":"w","boundaries":["no"]}})"),
            "unknown_boundary");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":1})"),
            "unknown_workload");
  prepare("w", 8);
  EXPECT_EQ(code(R"({"type":"slot","workload":"w","requests":1})"), "bad_message");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":0})"), "bad_message");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":1,"warmup":-1})"),
            "bad_message");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":1000001})"),
            "bad_message");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":"many"})"),
            "bad_message");
  EXPECT_EQ(code(R"({"type":"outputs","workload":"w","stages":["logits"]})"), "unknown_stage");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":2})"), "");
  EXPECT_FALSE(session_.finished());
  EXPECT_EQ(ask(R"({"type":"shutdown"})")["type"].text(), "shutdown");
  EXPECT_TRUE(session_.finished());
}

TEST_F(SessionTest, LoadAnswersWhatIsInEffect) {
  Json reply = ask(R"({"type":"load","settings":{"threads":2},"files":{"weights":"/x"},)"
                   R"("factors":{"mode":"multiply"},"device":"cpu"})");
  EXPECT_EQ(reply["factors"]["mode"].text(), "multiply");
  EXPECT_EQ(reply["settings"]["threads"].integer(), 2);
  EXPECT_GT(reply["memory"]["resident_bytes"].integer(), 0);
  EXPECT_GT(reply["setup_ns"]["clock_read"].number(), 0);
  EXPECT_EQ(worker_.loaded.files.at("weights"), "/x");
  EXPECT_EQ(worker_.loaded.device, "cpu");
  reply = ask(R"({"type":"load","settings":{"fall_back":true},"factors":{"mode":"multiply"}})");
  EXPECT_EQ(reply["factors"]["mode"].text(), "add") << "a level that fell back says so";
  EXPECT_EQ(worker_.level("mode"), "add");
  reply = ask(R"({"type":"load"})");
  EXPECT_EQ(reply["factors"]["mode"].text(), "add") << "defaults are filled in";
}

TEST_F(SessionTest, LoadForgetsPreparedWorkloads) {
  prepare("w", 8);
  ask(R"({"type":"load","factors":{"mode":"multiply"}})");
  EXPECT_EQ(code(R"({"type":"slot","slot_id":"s","workload":"w","requests":1})"),
            "unknown_workload");
}

TEST_F(SessionTest, SlotsOfAnotherWorkloadSelectItFirst) {
  prepare("small", 4);
  prepare("large", 16);
  const auto digest = [&](const std::string& id) {
    return ask(R"({"type":"slot","slot_id":"s","workload":")" + id + R"(","requests":1})")["digest"]
        .text();
  };
  const std::string large = digest("large");
  const std::string small = digest("small");
  EXPECT_NE(large, small);
  EXPECT_EQ(digest("small"), small);
  EXPECT_EQ(digest("large"), large);
  EXPECT_EQ(worker_.prepared, (std::vector<std::string>{"small", "large", "small", "large"}));
}

TEST_F(SessionTest, OutputsAreRecomputedAndTheirDigestIsTheSlots) {
  prepare("w", 5);
  const std::string slot =
      ask(R"({"type":"slot","slot_id":"s","workload":"w","requests":1})")["digest"].text();
  worker_.out.assign(5, 77.0F);  // poison: a worker that does not compute would answer this
  const Json plain = ask(R"({"type":"outputs","workload":"w","stages":[]})")["tensors"].items()[0];
  EXPECT_EQ(plain["digest"].text(), slot);
  EXPECT_EQ(plain["shape"].items()[0].integer(), 5);
  EXPECT_TRUE(plain["values_f32"].is_null());
  const Json full =
      ask(R"({"type":"outputs","workload":"w","stages":["out"],"values":true})")["tensors"]
          .items()[0];
  const std::string bytes(reinterpret_cast<const char*>(worker_.out.data()), 20);
  EXPECT_EQ(full["values_f32"].text(), abba_worker::base64(bytes));
}

TEST_F(SessionTest, AWorkerWithoutStagesHasNoOutputs) {
  struct Mute : abba_worker::Worker {
    abba_worker::Prepared prepare(const abba_worker::Workload&) override { return {}; }
    void request() override {}
  } mute;
  Session session(mute);
  session.answer(R"({"type":"prepare","workload":{"id":"w"}})");
  const Json answer = Json::parse(session.answer(R"({"type":"outputs","workload":"w"})"));
  EXPECT_EQ(answer["error"]["code"].text(), "unsupported");
  const Json slot =
      Json::parse(session.answer(R"({"type":"slot","slot_id":"s","workload":"w","requests":3})"));
  EXPECT_EQ(slot["digest"].text(), "");
  EXPECT_EQ(slot["duration_ns"].items().size(), 3U);
}

}  // namespace
