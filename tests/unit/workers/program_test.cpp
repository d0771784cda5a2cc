// Rung 0: what a program printed becomes samples, or an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/workers/program_samples.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using base::Error;
using Samples = std::vector<std::int64_t>;

std::unique_ptr<Worker> program(std::vector<std::string> argv, record::Reads reads,
                                const std::string& cwd = "") {
  WorkerSpec spec;
  spec.name = "A";
  spec.argv = std::move(argv);
  spec.reads = reads;
  spec.cwd = cwd;
  auto worker = spawn(spec);
  worker->prepare(saxpy_workload(7), 1);
  return worker;
}

Samples durations(const record::SlotReply& slot) {
  Samples result;
  for (const record::Sample& sample : slot.samples) result.push_back(sample.duration_ns);
  return result;
}

TEST(SampleLines, AreThoseOfTheWorkload) {
  EXPECT_EQ(
      read_sample_lines("hi\nabba-sample w 12\nabba-sample v 9\nabba-sample w 3.6\n", "w", ""),
      (Samples{12, 4}));
  EXPECT_EQ(read_sample_lines("abba-sample two words 5", "two words", ""), Samples{5});
  for (const char* text : {"", "abba-sample v 1", "abba-sample w x", "abba-sample w -1",
                           "abba-sample w nan", "abba-sample w inf", "abba-sample w 1x"}) {
    EXPECT_THROW(read_sample_lines(text, "w", ""), Error) << text;
  }
}

TEST(GoogleBenchmark, RepetitionsAreSamplesAndAggregatesAreNot) {
  const std::string json = R"({"context":{},"benchmarks":[
    {"name":"bm/8","run_name":"bm/8","run_type":"iteration","real_time":1.5,"time_unit":"us"},
    {"name":"bm/8","run_name":"bm/8","run_type":"iteration","real_time":2,"time_unit":"us"},
    {"name":"bm/9","run_name":"bm/9","run_type":"iteration","real_time":7,"time_unit":"us"},
    {"name":"bm/8_mean","run_name":"bm/8","run_type":"aggregate","real_time":9,"time_unit":"s"}]})";
  EXPECT_EQ(read_google_benchmark(json, "bm/8", ""), (Samples{1500, 2000}));
  EXPECT_THROW(read_google_benchmark(json, "bm/7", ""), Error);
  EXPECT_THROW(read_google_benchmark("no json", "bm/8", ""), Error);
  EXPECT_THROW(read_google_benchmark(
                   R"({"benchmarks":[{"name":"b","real_time":1,"time_unit":"days"}]})", "b", ""),
               Error);
  EXPECT_THROW(read_google_benchmark(R"({"benchmarks":[{"name":"b","error_occurred":true,
                                         "error_message":"no"}]})",
                                     "b", ""),
               Error);
}

std::string nvbench_json(const std::string& file, const std::string& size) {
  return R"({"benchmarks":[{"name":"copy","states":[{"name":"n=1","summaries":[
    {"tag":"nv/cold/time","data":[]},{"tag":"nv/json/bin:nv/cold/sample_times",
    "hint":"file/sample_times","data":[{"name":"filename","type":"string","value":")" +
         file + R"("},{"name":"size","type":"int64","value":")" + size + R"("}]}]},
    {"name":"n=2","summaries":[]}]}]})";
}

TEST(Nvbench, SamplesComeFromTheBinaryFile) {
  const TemporaryFolder folder;
  const std::vector<float> seconds = {1e-6F, 2.5e-6F};
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), seconds.data(), 8);
  base::write_file_atomically(folder.file("0.bin"), bytes);
  EXPECT_EQ(read_nvbench(nvbench_json("0.bin", "2"), "copy", folder.path(), ""),
            (Samples{1000, 2500}));
  EXPECT_EQ(read_nvbench(nvbench_json("0.bin", "2"), "copy n=1", folder.path(), ""),
            (Samples{1000, 2500}));
  EXPECT_THROW(read_nvbench(nvbench_json("0.bin", "3"), "copy", folder.path(), ""), Error);
  EXPECT_THROW(read_nvbench(nvbench_json("1.bin", "2"), "copy", folder.path(), ""), Error);
  EXPECT_THROW(read_nvbench(nvbench_json("0.bin", "2"), "copy n=2", folder.path(), ""), Error);
}

TEST(Program, WallTimeIsOneStartPerRequest) {
  auto worker = program({"sleep", "0.02"}, record::Reads::kWall);
  const record::SlotReply slot = worker->slot(slot_of("w", 1, 2));
  ASSERT_EQ(slot.samples.size(), 3U);
  EXPECT_TRUE(slot.samples[0].warmup);
  for (const record::Sample& sample : slot.samples) EXPECT_GE(sample.duration_ns, 20'000'000);
  EXPECT_EQ(worker->hello().boundaries[0].clock, "steady_clock of the harness");
}

TEST(Program, IsToldWhatIsAskedOfIt) {
  auto worker = program({"sh", "-c",
                         "for i in $(seq {requests}); do echo abba-sample {workload} "
                         "{warmup}${i}{factor.f}{setting.s}; done; echo '{input}' >&2"},
                        record::Reads::kLines);
  record::LoadRequest load;
  load.factors["f"] = "4";
  load.settings = base::Json::object({{"s", 5}});
  EXPECT_EQ(worker->load(load).factors.at("f"), "4");
  const record::SlotReply slot = worker->slot(slot_of("w", 1, 3));
  EXPECT_EQ(durations(slot), (Samples{1145, 1245, 1345}));
  EXPECT_TRUE(slot.samples[0].warmup);
  EXPECT_FALSE(slot.samples[1].warmup);
  EXPECT_EQ(slot.samples[1].start_ns, slot.samples[0].start_ns + 1145);
  EXPECT_EQ(worker->stderr_tail(), std::vector<std::string>{R"({"n":7})"});
  load.factors["other"] = "x";
  EXPECT_THROW((void)worker->load(load), Error) << "a factor without effect is refused";
}

TEST(Program, AFileCanStandForStandardOutput) {
  auto worker = program({"sh", "-c",
                         "printf '\\200\\226\\30\\113' > $(dirname {out})/0.bin; echo '" +
                             nvbench_json("0.bin", "1") + "' > {out}; echo chatter"},
                        record::Reads::kNvbench);
  record::Workload workload = saxpy_workload();
  workload.input = "copy";
  worker->prepare(workload, 1);
  EXPECT_EQ(durations(worker->slot(slot_of("w", 0, 1))), Samples{10'000'000'000'000'000});
}

TEST(Program, FailuresAreNoSamples) {
  const auto slot = [](const std::string& script, record::Reads reads) {
    return program({"sh", "-c", script}, reads)->slot(slot_of("w", 1, 2));
  };
  EXPECT_THROW(slot("exit 3", record::Reads::kWall), Error);
  EXPECT_THROW(slot("echo abba-sample w 5; exit 1", record::Reads::kLines), Error);
  EXPECT_THROW(slot("echo abba-sample w 5", record::Reads::kLines), Error) << "only warm-ups";
  EXPECT_THROW(slot("true", record::Reads::kGoogleBenchmark), Error);
  EXPECT_THROW(program({"/no/such/program"}, record::Reads::kWall), Error);
}

}  // namespace
}  // namespace abba::workers
