// The engine's worker on `tiny`, driven through its own methods: levels that claim equal bits give
// equal bits, repeats are equal, other inputs are not.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/synthetic.h"
#include "experiments/laya/laya_worker.h"
#include "tests/unit/temporary_folder.h"

namespace abba::laya {
namespace {

using abba_worker::Json;

class LayaWorkerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    checkpoint::make_synthetic(checkpoint::family_config("tiny"),
                               {.seed = 1, .out_dir = checkpoint_dir()});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::unique_ptr<LayaWorker> loaded(const std::map<std::string, std::string>& factors,
                                            const std::string& settings = "{}") {
    auto worker = std::make_unique<LayaWorker>();
    abba_worker::LoadRequest request;
    request.settings = Json::parse(settings);
    request.files = {{"checkpoint", checkpoint_dir()}, {"fixtures", ABBA_FIXTURES_DIR}};
    request.factors = factors;
    abba_worker::LoadReply reply;
    worker->load(request, reply);
    return worker;
  }

  // Digested bytes of every stage after one request.
  static std::map<std::string, std::string> answer(LayaWorker& worker, const std::string& input) {
    const abba_worker::Session session(worker);  // gives the worker its recorder of spans
    abba_worker::Workload workload;
    workload.id = input;
    workload.input = Json::parse(input);
    worker.prepare(workload);
    worker.request();
    std::map<std::string, std::string> stages;
    for (const abba_worker::Tensor& tensor : worker.outputs({}, true)) {
      stages[tensor.stage] = tensor.data;
    }
    return stages;
  }

  static std::string checkpoint_dir() { return folder_->file("tiny"); }

  static std::optional<TemporaryFolder> folder_;
};

std::optional<TemporaryFolder> LayaWorkerTest::folder_;

TEST_F(LayaWorkerTest, RopeLevelsGiveEqualBitsOnEveryStage) {
  const auto baseline = answer(*loaded({{"rope", "row_block_32"}}), R"({"fixture": "short_3"})");
  EXPECT_EQ(baseline.size(), 5U);
  for (const char* level : {"row_block_32_div64", "r1_h4", "r2_h4", "r1_h8"}) {
    EXPECT_EQ(answer(*loaded({{"rope", level}}), R"({"fixture": "short_3"})"), baseline) << level;
  }
}

TEST_F(LayaWorkerTest, RepeatsAreEqualAndOtherInputsAreNot) {
  const auto worker = loaded({});
  const auto first = answer(*worker, R"({"fixture": "medium_1"})");
  EXPECT_NE(answer(*worker, R"({"fixture": "short_1"})").at("logits"), first.at("logits"));
  EXPECT_EQ(answer(*worker, R"({"fixture": "medium_1"})"), first);
}

TEST_F(LayaWorkerTest, AHookAlsoAnswersTheOrderOfItsRows) {
  const auto stages =
      answer(*loaded({}),
             R"({"hook": {"rows": 12, "tokens": 60, "batch": 8, "kind": "score", "seed": 1}})");
  ASSERT_EQ(stages.count("ranking"), 1U);
  EXPECT_EQ(stages.at("ranking").size(), 12U * 4U);
}

// Every network that is loaded has its levels proved: the default one's proof comes with the load
// reply, another one's with the workloads that use it.
TEST_F(LayaWorkerTest, ExactnessIsProvedForEveryNetworkWhateverItsName) {
  for (const char* const name : {"checkpoint", "student"}) {
    LayaWorker worker;
    abba_worker::LoadRequest request;
    request.files = {{name, checkpoint_dir()}};
    abba_worker::LoadReply reply;
    worker.load(request, reply);
    abba_worker::Workload workload;
    workload.id = "w";
    workload.input =
        Json::parse(std::string(R"({"shape": [1, 48], "checkpoint": ")") + name + "\"}");
    const abba_worker::Prepared prepared = worker.prepare(workload);
    const bool is_default = std::string(name) == "checkpoint";
    const Json& proofs = is_default ? reply.device["exactness"] : prepared.facts["exactness"];
    EXPECT_EQ(proofs.items().size(), ops::variant_tables("cpu").size()) << name;
    EXPECT_EQ(prepared.facts["exactness"].is_null(), is_default);
  }
}

TEST(Exactness, ABitwiseLevelWhoseBitsDifferIsRefusedAndAToleranceIsNot) {
  using ops::ExactnessKind;
  EXPECT_TRUE(is_disproved("rope", "r1_h8", ExactnessKind::kTolerance));
  EXPECT_FALSE(is_disproved("rope", "r1_h8", ExactnessKind::kBitwise));
  EXPECT_FALSE(is_disproved("head_last_layer", "marker_rows", ExactnessKind::kTolerance));
  EXPECT_TRUE(is_disproved("rope", "no_such_level", ExactnessKind::kBitwise));
}

TEST_F(LayaWorkerTest, PrecisionChangesBits) {
  EXPECT_NE(
      answer(*loaded({}, R"({"precision": "fp32"})"), R"({"fixture": "short_1"})").at("logits"),
      answer(*loaded({}), R"({"fixture": "short_1"})").at("logits"));
}

TEST_F(LayaWorkerTest, AFileThatIsNotThereIsRefusedAtLoadAlsoIfNoWorkloadUsesIt) {
  LayaWorker worker;
  abba_worker::LoadRequest request;
  request.files = {{"checkpoint", checkpoint_dir()},
                   {"never used", checkpoint_dir() + "/no_such_folder"}};
  abba_worker::LoadReply reply;
  try {
    worker.load(request, reply);
    FAIL();
  } catch (const abba_worker::Refused& refused) {
    EXPECT_NE(std::string(refused.what()).find("files.never used"), std::string::npos)
        << refused.what();
  }
}

TEST_F(LayaWorkerTest, AFactorThatTheBackendLacksIsRefusedByNameAndLeftOutOtherwise) {
  LayaWorker worker;
  abba_worker::LoadRequest request;
  request.files = {{"checkpoint", checkpoint_dir()}};
  request.factors = {{"upload", "grouped"}};
  abba_worker::LoadReply reply;
  worker.load(request, reply);  // filled in, not named
  EXPECT_EQ(reply.factors.count("upload"), 0U);
  EXPECT_EQ(reply.factors.count("rope"), 1U);
  request.named = {"upload"};
  EXPECT_THROW(worker.load(request, reply), base::Error);
}

TEST_F(LayaWorkerTest, WhatCannotBeDoneIsRefused) {
  const auto worker = loaded({});
  abba_worker::Workload workload;
  workload.id = "w";
  workload.input = Json::parse(R"({"fixture": "short_1", "checkpoint": "student"})");
  EXPECT_THROW(worker->prepare(workload), abba_worker::Refused);
  workload.input = Json::parse(
      R"({"hook": {"rows": 12, "tokens": 60, "batch": 8, "kind": "score", "seed": 1}})");
  workload.boundaries = {"encoder"};
  EXPECT_THROW(worker->prepare(workload), abba_worker::Refused);
}

}  // namespace
}  // namespace abba::laya
