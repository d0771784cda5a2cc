#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "harness/store/database.h"
#include "harness/store/record_fields.h"
#include "harness/store/record_json.h"
#include "harness/store/run_file.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

// The first place where two JSON values differ, or "".
std::string difference(const base::Json& a, const base::Json& b, const std::string& where) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.as_object()) {
      const base::Json* other = b.find(key);
      const std::string found = other == nullptr ? where + "/" + key + " missing"
                                                 : difference(value, *other, where + "/" + key);
      if (!found.empty()) {
        return found;
      }
    }
  } else if (a.is_array() && b.is_array() && a.as_array().size() == b.as_array().size()) {
    for (std::size_t i = 0; i < a.as_array().size(); ++i) {
      const std::string found =
          difference(a.as_array()[i], b.as_array()[i], where + "/" + std::to_string(i));
      if (!found.empty()) {
        return found;
      }
    }
  }
  return a == b ? "" : where + ": " + a.dump().substr(0, 200) + " / " + b.dump().substr(0, 200);
}

// Counts the members of an aggregate by how many initialisers it takes.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Members>
constexpr int arity() {
  if constexpr (requires { T{std::declval<Members>()..., Anything{}}; }) {
    return arity<T, Members..., Anything>();
  } else {
    return static_cast<int>(sizeof...(Members));
  }
}

struct Counter {
  int count = 0;
  template <typename T>
  void operator()(const char*, T&) {
    ++count;
  }
};

template <typename T>
void expect_all_named(const char* name) {
  T value{};
  Counter counter;
  fields(counter, value);
  EXPECT_EQ(counter.count, arity<T>()) << name << ": a member is missing in record_fields.h";
}

struct OneMore {
  int a = 0;
  std::string b;
  std::vector<double> c;
};
template <typename Archive>
void fields(Archive& archive, OneMore& value) {
  archive("a", value.a);
  archive("b", value.b);  // `c` is forgotten on purpose
}

TEST(RecordFields, NameEveryMemberOfEveryStruct) {
#define ABBA_EXPECT_ALL(Type) expect_all_named<record::Type>(#Type)
  ABBA_EXPECT_ALL(FileDecl);
  ABBA_EXPECT_ALL(Arm);
  ABBA_EXPECT_ALL(BuildRecipe);
  ABBA_EXPECT_ALL(Work);
  ABBA_EXPECT_ALL(Workload);
  ABBA_EXPECT_ALL(SlotRule);
  ABBA_EXPECT_ALL(Limits);
  ABBA_EXPECT_ALL(Protocol);
  ABBA_EXPECT_ALL(StageLimit);
  ABBA_EXPECT_ALL(Reference);
  ABBA_EXPECT_ALL(Outputs);
  ABBA_EXPECT_ALL(Success);
  ABBA_EXPECT_ALL(DeviceWish);
  ABBA_EXPECT_ALL(AffinityWish);
  ABBA_EXPECT_ALL(Evidence);
  ABBA_EXPECT_ALL(Manifest);
  ABBA_EXPECT_ALL(PlannedBlock);
  ABBA_EXPECT_ALL(PlannedPass);
  ABBA_EXPECT_ALL(Plan);
  ABBA_EXPECT_ALL(SlotCounts);
  ABBA_EXPECT_ALL(Registration);
  ABBA_EXPECT_ALL(Binding);
  ABBA_EXPECT_ALL(BoundaryDecl);
  ABBA_EXPECT_ALL(MetricDecl);
  ABBA_EXPECT_ALL(LevelDecl);
  ABBA_EXPECT_ALL(FactorDecl);
  ABBA_EXPECT_ALL(WorkerHello);
  ABBA_EXPECT_ALL(TraceKernel);
  ABBA_EXPECT_ALL(TraceCopy);
  ABBA_EXPECT_ALL(TraceApi);
  ABBA_EXPECT_ALL(TraceRange);
  ABBA_EXPECT_ALL(Trace);
  ABBA_EXPECT_ALL(LoadReply);
  ABBA_EXPECT_ALL(PrepareReply);
  ABBA_EXPECT_ALL(Sample);
  ABBA_EXPECT_ALL(Span);
  ABBA_EXPECT_ALL(Value);
  ABBA_EXPECT_ALL(WorkerProcess);
  ABBA_EXPECT_ALL(Identity);
  ABBA_EXPECT_ALL(EnvironmentReading);
  ABBA_EXPECT_ALL(Slot);
  ABBA_EXPECT_ALL(Block);
  ABBA_EXPECT_ALL(Pass);
  ABBA_EXPECT_ALL(OutputCheck);
  ABBA_EXPECT_ALL(CaptureCosts);
  ABBA_EXPECT_ALL(GraphCapture);
  ABBA_EXPECT_ALL(Note);
  ABBA_EXPECT_ALL(RunRecord);
  ABBA_EXPECT_ALL(Interval);
  ABBA_EXPECT_ALL(ArmSummary);
  ABBA_EXPECT_ALL(Verdict);
  ABBA_EXPECT_ALL(Analysis);
#undef ABBA_EXPECT_ALL
}

TEST(RecordFields, ACanaryWithAForgottenMemberIsSeen) {
  OneMore value;
  Counter counter;
  fields(counter, value);
  EXPECT_EQ(counter.count, 2);
  EXPECT_EQ(arity<OneMore>(), 3);
}

TEST(RoundTrip, EveryFieldComesBack) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const TemporaryFolder folder;
    record::RunRecord written = testing::random_run(seed);
    written.file = folder.file("run.sqlite");
    written.head_digest = testing::write_run(written.file, written);
    const record::RunRecord read = read_run(written.file);
    EXPECT_EQ(difference(to_json(written), to_json(read), ""), "");
    EXPECT_EQ(to_json(written).canonical(), to_json(read).canonical());
    // One plain file.
    EXPECT_FALSE(std::filesystem::exists(written.file + "-wal"));
    EXPECT_FALSE(std::filesystem::exists(written.file + "-shm"));
    EXPECT_FALSE(std::filesystem::exists(written.file + "-journal"));
  }
}

TEST(RoundTrip, CanaryTheComparisonSeesOneNanosecond) {
  const record::RunRecord run = testing::random_run(4);
  record::RunRecord changed = run;
  changed.passes[1].blocks[0].slots[2].samples[3].duration_ns += 1;
  EXPECT_NE(difference(to_json(run), to_json(changed), ""), "");
}

TEST(RoundTrip, TextsAndAnalysisComeBack) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(5);
  testing::write_run(path, run);
  EXPECT_EQ(read_texts(path).manifest_text, testing::texts_of(run).manifest_text);
  EXPECT_EQ(read_texts(path).lock.dump(), testing::texts_of(run).lock.dump());
  const auto analysis = read_analysis(path);
  ASSERT_TRUE(analysis.has_value());
  EXPECT_EQ(to_json(*analysis).canonical(), to_json(testing::random_analysis(99)).canonical());
}

TEST(RoundTrip, ACostThatWasNotGivenIsNullAndNotZero) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  testing::write_run(path, testing::random_run(6));
  Database database(path, Database::Mode::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM graph_capture WHERE warm_runs = 0 AND "
                             "first_run_ns IS NULL AND capture_ns IS NULL AND bytes IS NULL"),
            2);
  EXPECT_EQ(database.integer("SELECT count(*) FROM graph_capture WHERE bytes > 0"), 2);
}

TEST(RoundTrip, WithoutSamplesNothingElseIsLost) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(6);
  testing::write_run(path, run);
  const record::RunRecord read = read_run(path, {.samples = false});
  ASSERT_EQ(read.passes.size(), run.passes.size());
  EXPECT_EQ(read.passes[1].blocks[1].slots.size(), 4U);
  EXPECT_TRUE(read.passes[1].blocks[1].slots[0].samples.empty());
  EXPECT_EQ(read.environment.size(), run.environment.size());
}

TEST(RoundTrip, NumbersThatAreNoNumber) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  record::RunRecord run = testing::random_run(7);
  run.environment[0].value = std::numeric_limits<double>::quiet_NaN();
  run.environment[1].value = -std::numeric_limits<double>::infinity();
  run.prepared["A/w1"].first_request_ns = std::numeric_limits<double>::quiet_NaN();
  run.prepared["A/w2"].first_request_ns = std::numeric_limits<double>::infinity();
  testing::write_run(path, run);
  record::RunRecord read = read_run(path);
  EXPECT_TRUE(std::isnan(read.environment[0].value));
  EXPECT_EQ(read.environment[1].value, run.environment[1].value);
  EXPECT_TRUE(std::isnan(read.prepared["A/w1"].first_request_ns));
  EXPECT_EQ(read.prepared["A/w2"].first_request_ns, run.prepared["A/w2"].first_request_ns);
}

TEST(RoundTrip, ALaterAnswerReplacesAnEarlierOneAndABindingDoesNot) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  record::RunRecord run = testing::random_run(8);
  RunFile file = testing::create_run(path, run);
  record::WorkerHello later = run.hello["A"];
  later.version = "later";
  later.raw = base::Json("another message");
  file.commit_facts("again",
                    {.bindings = run.bindings, .hello = {{"A", later}}, .counts = run.counts});
  EXPECT_THROW(file.commit_facts("again", {.bindings = {{"driver", "another"}}}), base::Error);
  EXPECT_THROW(file.commit_facts("again", {.counts = {{"w1", 1, 1}}}), base::Error);
  file.finish(record::RunState::kStopped, "limit", "2026-11-29T15:10:00Z");
  record::RunRecord read = read_run(path);
  EXPECT_EQ(read.hello["A"].version, "later");
  EXPECT_EQ(read.hello["A"].raw, later.raw);
  EXPECT_EQ(read.bindings, run.bindings);
  EXPECT_EQ(read.counts.size(), run.counts.size());
}

}  // namespace
}  // namespace abba::store
