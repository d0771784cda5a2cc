// Text requests as workloads, through the protocol: the three boundaries nest per request, both
// ways in give the bits of the runtime, and what cannot be timed is said.
#include <gtest/gtest.h>

#include <optional>

#include "engine/checkpoint/synthetic.h"
#include "experiments/laya/text_worker.h"
#include "tests/unit/temporary_folder.h"

namespace abba::laya {
namespace {

using abba_worker::Json;

class TextWorkerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    checkpoint::make_synthetic(checkpoint::family_config("tiny"),
                               {.seed = 1, .out_dir = checkpoint_dir()});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  TextWorkerTest() : session_(worker_) {
    ask(R"({"type":"load","factors":{},"settings":{},"files":{"checkpoint":")" + checkpoint_dir() +
        R"(","requests":")" + ABBA_REQUESTS_DIR + R"("}})");
  }
  Json ask(const std::string& line) { return Json::parse(session_.answer(line)); }
  Json prepare(const std::string& input, const std::string& boundaries) {
    return ask(R"({"type":"prepare","workload":{"id":"w","input":)" + input + R"(,"boundaries":)" +
               boundaries + "}}");
  }
  Json slot(const std::string& boundaries) {
    return ask(R"({"type":"slot","slot_id":"s","workload":"w","warmup":1,"requests":4,)"
               R"("max_spans":4,"digest":true,"boundaries":)" +
               boundaries + "}");
  }

  static std::string checkpoint_dir() { return folder_->file("tiny"); }

  static std::optional<TemporaryFolder> folder_;
  TextWorker worker_;
  abba_worker::Session session_;
};

std::optional<TemporaryFolder> TextWorkerTest::folder_;

// Durations of one request by span name, the sample itself under the boundary's name.
std::map<std::string, std::int64_t> of_request(const Json& slot, std::size_t seq) {
  std::map<std::string, std::int64_t> durations;
  durations[slot["boundary"].text()] = slot["duration_ns"].items()[seq].integer();
  const Json& spans = slot["spans"];
  for (std::size_t i = 0; i < spans["seq"].items().size(); ++i) {
    if (spans["seq"].items()[i].integer() != static_cast<std::int64_t>(seq)) continue;
    durations[spans["name"].items()[i].text()] += spans["duration_ns"].items()[i].integer();
  }
  return durations;
}

TEST_F(TextWorkerTest, EncoderWithinEngineWithinHttpInEveryRequest) {
  ASSERT_TRUE(
      prepare(R"({"request": "medium_1"})", R"(["http", "engine", "encoder"])")["ready"].boolean());
  const Json answer = slot("[]");
  EXPECT_EQ(answer["boundary"].text(), "http");
  EXPECT_TRUE(answer["failed"].items().empty()) << answer["failure_text"].text();
  for (std::size_t seq = 1; seq < 5; ++seq) {
    auto took = of_request(answer, seq);
    EXPECT_GT(took["encoder"], 0);
    EXPECT_GT(took["model"], took["encoder"]);
    EXPECT_GT(took["engine"], took["model"]);
    EXPECT_GT(took["http"], took["engine"]);
    for (const char* name :
         {"tokenize", "pack", "upload", "encode", "head", "score", "readback", "decode"}) {
      EXPECT_EQ(took.count(name), 1U) << name;
    }
  }
}

TEST_F(TextWorkerTest, BothWaysInGiveTheSameBits) {
  prepare(R"({"request": "choice"})", R"(["http"])");
  const Json over_http = slot(R"(["http"])");
  const Json in_process = slot(R"(["engine"])");
  EXPECT_EQ(over_http["digest"].text().size(), 64U);
  EXPECT_EQ(in_process["digest"].text(), over_http["digest"].text());
  prepare(R"({"request": "score"})", R"(["http"])");
  EXPECT_NE(slot(R"(["http"])")["digest"].text(), over_http["digest"].text());
}

TEST_F(TextWorkerTest, ARequestMayStandInTheManifest) {
  const Json ready = prepare(
      R"({"request": {"state": ["a", 1.5], "questions": {"q": {"type": "noul", "instructions": "?"}}}})",
      R"(["engine"])");
  EXPECT_EQ(ready["facts"]["rows"].integer(), 1);
  const Json outputs = ask(R"({"type":"outputs","workload":"w","stages":[],"values":true})");
  EXPECT_EQ(outputs["tensors"].items().size(), 5U);
}

// What a client reads can be compared beside times: the numbers of the reply's answers, question
// after question.
TEST_F(TextWorkerTest, TheAnswersThatAClientReadsAreAStage) {
  const Json hello = ask(R"({"type":"hello","versions":["abba.worker/1"]})");
  EXPECT_NE(hello.dump().find(R"("published")"), std::string::npos);
  prepare(R"({"request": {"state": "I was charged twice.", "questions": {
              "c": {"type": "choice", "instructions": "?", "criteria": ["a", "b", "c"]},
              "n": {"type": "noul", "instructions": "?"},
              "s": {"type": "score", "instructions": "?", "criteria": ["low", "high"]}}}})",
          R"(["engine"])");
  const auto tensors = worker_.outputs({"published"}, true);
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].stage, "published");
  const std::vector<float>& numbers = tensors[0].values;
  ASSERT_EQ(numbers.size(), 7U);
  EXPECT_NEAR(numbers[0] + numbers[1] + numbers[2], 1, 2e-4);
  EXPECT_NEAR(numbers[3] + numbers[4], 1, 1e-6);
  EXPECT_NEAR(numbers[5] + numbers[6], 1, 2e-4);
  for (const float number : numbers) {  // four decimals, as a float has them
    EXPECT_EQ(number, static_cast<float>(text::round4(double{number})));
  }
  EXPECT_GT(numbers[0], 0);
}

// The harness takes every stage that is declared for granted, of rows as of text.
TEST_F(TextWorkerTest, EveryDeclaredStageIsThereForRowsAndForText) {
  const std::vector<std::string> declared = worker_.describe().stages;
  for (const char* input : {R"({"request": "score"})", R"({"shape": [3, 48], "seed": 1})"}) {
    prepare(input, "[]");
    std::vector<std::string> shown;
    for (const auto& tensor : worker_.outputs({}, true)) shown.push_back(tensor.stage);
    EXPECT_EQ(shown, declared) << input;
    for (const std::string& stage : declared) {
      const auto tensors = worker_.outputs({stage}, true);
      ASSERT_EQ(tensors.size(), 1U) << stage;
      EXPECT_EQ(tensors[0].stage, stage);
      EXPECT_FALSE(tensors[0].data.empty()) << stage;
    }
  }
}

TEST_F(TextWorkerTest, WhatCannotBeTimedIsSaid) {
  const auto failure = [&](const Json& answer) {
    EXPECT_EQ(answer["failed"].items().size(), 5U);
    return answer["failure_text"].text();
  };
  prepare(R"({"request": "choice"})", R"(["engine"])");
  EXPECT_NE(failure(slot(R"(["model"])")).find("http"), std::string::npos);
  prepare(R"({"shape": [1, 48]})", "[]");
  EXPECT_NE(failure(slot(R"(["engine"])")).find("request"), std::string::npos);
  for (const char* input :
       {R"({"request": "none"})", R"({"request": 5})", R"({"request": "../x"})",
        R"({"request": {"state": "s"}})", R"({"request": "choice", "seed": 1})",
        R"({"request": {"state": "s", "questions": {"q": {"type": "rank", "instructions": "?"}}}})",
        R"({"request": "choice", "checkpoint": "other"})"}) {
    const Json answer = prepare(input, R"(["http"])");
    EXPECT_FALSE(answer["error"]["message"].text().empty()) << input;
  }
}

}  // namespace
}  // namespace abba::laya
