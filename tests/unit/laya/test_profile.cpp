// A profile lists what a request really runs, changes none of its bits and adds up.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "engine/checkpoint/synthetic.h"
#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/profile.h"
#include "experiments/laya/workload_input.h"
#include "tests/unit/temporary_folder.h"

namespace abba::laya {
namespace {

namespace fs = std::filesystem;
using base::Json;

class ProfileTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    checkpoint::make_synthetic(checkpoint::family_config("tiny"),
                               {.seed = 1, .out_dir = checkpoint_dir()});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static WorkloadInput input() {
    return read_workload_input(base::parse_json(R"({"shape": [2, 48], "seed": 3})", "test"), "", 0,
                               0);
  }
  static EngineSettings settings(const std::map<std::string, std::string>& levels) {
    return read_settings(Json(), read_choices(levels));
  }

  struct Recorded {
    std::unique_ptr<ops::Backend> inner;
    std::unique_ptr<RecordingBackend> recording;
    std::unique_ptr<model::Network> network;
    WorkloadInput input;
    model::Decision decision;
    std::vector<RecordedCall> calls;
  };

  static Recorded recorded(const checkpoint::Checkpoint& checkpoint,
                           const std::map<std::string, std::string>& levels) {
    Recorded r;
    r.input = input();
    r.inner = make_backend(settings(levels));
    r.recording = std::make_unique<RecordingBackend>(*r.inner);
    r.network = std::make_unique<model::Network>(checkpoint.config, checkpoint.file, *r.recording);
    model::LaunchPlan& plan = r.network->prepare(r.input.batches.front().shape);
    r.decision = r.network->make_decision(plan);
    r.recording->start();
    r.network->encode(plan, r.input.batches.front());
    r.network->decide(plan, r.decision);
    r.calls = r.recording->stop();
    return r;
  }

  static std::int64_t count(const std::vector<RecordedCall>& calls, const std::string& op) {
    std::int64_t n = 0;
    for (const RecordedCall& call : calls) n += call.op == op ? 1 : 0;
    return n;
  }

  static std::string checkpoint_dir() { return folder_->file("tiny"); }

  static std::optional<TemporaryFolder> folder_;
};

std::optional<TemporaryFolder> ProfileTest::folder_;

TEST_F(ProfileTest, RecordsWhatRunsAndChangesNoBit) {
  const checkpoint::Checkpoint checkpoint(checkpoint_dir());
  const Recorded r = recorded(checkpoint, {{"rope", "r1_h8"}, {"attention_output", "head_major"}});
  const auto layers = checkpoint.config.layer_count;
  EXPECT_EQ(count(r.calls, "rope[r1_h8]"), layers);
  EXPECT_EQ(count(r.calls, "transpose_heads"), layers + checkpoint.config.head_layer_count);
  EXPECT_EQ(count(r.calls, "embed_norm"), 1);
  EXPECT_GE(count(r.calls, "matmul"), 4 * layers);
  EXPECT_GE(count(r.calls, "download"), 2);

  const auto plain =
      make_backend(settings({{"rope", "r1_h8"}, {"attention_output", "head_major"}}));
  model::Network network(checkpoint.config, checkpoint.file, *plain);
  model::LaunchPlan& plan = network.prepare(r.input.batches.front().shape);
  model::Decision decision = network.make_decision(plan);
  network.encode(plan, r.input.batches.front());
  network.decide(plan, decision);
  EXPECT_EQ(decision.logits, r.decision.logits);
  EXPECT_EQ(decision.actions, r.decision.actions);
}

TEST_F(ProfileTest, EveryCallFallsIntoOneRowAndTheTimerDecides) {
  const checkpoint::Checkpoint checkpoint(checkpoint_dir());
  Recorded r = recorded(checkpoint, {});
  int asked = 0;
  const DeviceTimer constant = [&asked](const std::function<void()>& issue) {
    issue();
    ++asked;
    return 1e6;
  };
  const auto rows = time_calls(r.calls, *r.inner, constant, 100);
  std::int64_t calls = 0;
  for (const ProfileRow& row : rows) {
    calls += row.calls;
    EXPECT_DOUBLE_EQ(row.total_ns, row.call_ns * static_cast<double>(row.calls));
    if (!row.waits) {
      EXPECT_LE(row.call_ns, 1e6);
      EXPECT_GT(row.call_ns, 0);
    }
  }
  EXPECT_EQ(calls, static_cast<std::int64_t>(r.calls.size()));
  EXPECT_GT(asked, 0);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                             [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; }));
}

TEST_F(ProfileTest, ReplacedOperationsStandBesideWithACountOfZero) {
  ProfileRow ran;
  ran.op = "rope[a]";
  ran.shape = "1 x 2";
  ran.calls = 3;
  ProfileRow other = ran;
  other.op = "rope[b]";
  other.call_ns = 5;
  other.total_ns = 15;
  std::vector<ProfileRow> rows = {ran};
  add_reference_rows(rows, {ran, other});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].op, "rope[b]");
  EXPECT_EQ(rows[1].calls, 0);
  EXPECT_EQ(rows[1].total_ns, 0);
  EXPECT_EQ(rows[1].call_ns, 5);
}

TEST_F(ProfileTest, TheCommandWritesAPageAndNumbersThatAddUp) {
  ProfileOptions options;
  options.checkpoint = checkpoint_dir();
  options.input = R"({"shape": [1, 32], "seed": 1})";
  options.backend = "cpu";
  options.levels = {"rope=row_block_32", "upload=separate_sync"};  // the latter is no CPU factor
  options.beside = {"rope=r1_h8"};
  options.out = folder_->file("out");
  profile(options);
  const Json json = base::parse_json_file(options.out + ".json");
  double sum = 0;
  bool beside = false;
  for (const Json& row : json.at("rows").as_array()) {
    sum += row.at("total_ns").as_double();
    beside = beside || (row.at("op").as_string() == "rope[r1_h8]" && row.at("calls").as_int() == 0);
  }
  EXPECT_TRUE(beside);
  EXPECT_NEAR(sum, json.at("sum_ns").as_double(), 1);
  EXPECT_NEAR(json.at("remainder_ns").as_double(),
              json.at("measured").at("model_ns").as_double() - sum, 1);
  EXPECT_GT(json.at("closure").as_double(), 0.2);
  EXPECT_TRUE(fs::exists(options.out + ".md"));
}

TEST_F(ProfileTest, BadWordsAreRefused) {
  ProfileOptions options;
  options.checkpoint = checkpoint_dir();
  options.input = R"({"shape": [1, 32], "seed": 1})";
  options.out = folder_->file("out");
  options.levels = {"rope"};
  EXPECT_THROW(profile(options), base::Error);
  options.levels = {"rope=sideways"};
  EXPECT_THROW(profile(options), base::Error);
}

}  // namespace
}  // namespace abba::laya
