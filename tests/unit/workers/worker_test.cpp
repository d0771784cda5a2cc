// Workers through spawn: the two examples answer everything, and a worker that breaks off, hangs or
// lies ends as one Error and never as a sample.
#include "harness/workers/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;
using testing::HasSubstr;

WorkerSpec spec_of(std::vector<std::string> argv) {
  WorkerSpec spec;
  spec.name = "B";
  spec.argv = std::move(argv);
  return spec;
}

std::unique_ptr<Worker> broken(const std::string& rule, double slot_s = 20) {
  WorkerSpec spec = spec_of(broken_python(rule));
  spec.timeouts.slot_s = slot_s;
  auto worker = spawn(spec);
  record::Workload workload = saxpy_workload(3);
  worker->prepare(workload, 1);
  return worker;
}

class Saxpy : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Saxpy, IsAnArm) {
  auto worker = spawn(spec_of(GetParam()));
  const record::WorkerHello hello = worker->hello();
  ASSERT_EQ(hello.factors.size(), 1U);
  EXPECT_EQ(hello.factors[0].name, "loop");
  std::vector<std::string> digests;
  for (const record::LevelDecl& level : hello.factors[0].levels) {
    record::LoadRequest load;
    load.factors["loop"] = level.name;
    EXPECT_EQ(worker->load(load).factors.at("loop"), level.name);
    const record::PrepareReply prepared = worker->prepare(saxpy_workload(), 11);
    EXPECT_GT(prepared.first_request_ns, 0);
    const record::SlotReply slot = worker->slot(slot_of("w"));
    ASSERT_EQ(slot.samples.size(), 7U);
    EXPECT_TRUE(slot.samples[1].warmup);
    EXPECT_FALSE(slot.samples[2].warmup);
    EXPECT_GT(slot.samples[3].duration_ns, 0);
    EXPECT_EQ(slot.failures, 0);
    digests.push_back(slot.digest);
    const auto outputs = worker->outputs("w", {}, true);
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].digest, slot.digest);
    ASSERT_EQ(outputs[0].values.size(), 1000U);
    std::string bytes(4000, '\0');
    std::memcpy(bytes.data(), outputs[0].values.data(), bytes.size());
    EXPECT_EQ(base::sha256_hex("F32\n1000\n" + bytes), outputs[0].digest);
  }
  EXPECT_EQ(digests[0], digests[1]) << "the levels are bitwise equal";
  worker->prepare(saxpy_workload(), 12);
  EXPECT_NE(worker->slot(slot_of("w")).digest, digests[0]) << "another seed, other numbers";
  EXPECT_EQ(worker->shutdown(), 0);
  EXPECT_EQ(worker->shutdown(), 0);
  EXPECT_THROW((void)worker->slot(slot_of("w")), Error);
}

TEST_P(Saxpy, RefusesWhatItDoesNotHaveAndLivesOn) {
  auto worker = spawn(spec_of(GetParam()));
  record::LoadRequest load;
  load.factors["loop"] = "no such level";
  try {
    worker->load(load);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPreflight);
    EXPECT_THAT(error.what(), HasSubstr("unknown_level"));
  }
  worker->prepare(saxpy_workload(), 1);
  EXPECT_THROW((void)worker->slot(slot_of("other")), Error);
  EXPECT_EQ(worker->slot(slot_of("w")).samples.size(), 7U);
}

INSTANTIATE_TEST_SUITE_P(Examples, Saxpy, testing::Values(saxpy_cpp(), saxpy_python()));

TEST(Worker, KnowsItsFilesAndCpus) {
  auto worker = spawn(spec_of(saxpy_cpp()));
  EXPECT_FALSE(worker->cpus().empty());
  const auto files = worker->files();
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files[0].name, "executable/B");
  EXPECT_EQ(files[0].value, base::sha256_file(ABBA_TEST_SAXPY));
  const bool has_libc = std::any_of(files.begin(), files.end(), [](const record::Binding& file) {
    return file.name == "library/B/libc.so.6" && file.value.size() == 64;
  });
  EXPECT_TRUE(has_libc);
  auto python = spawn(spec_of(saxpy_python()));
  const auto with_script = python->files();
  EXPECT_EQ(with_script.back().name, "argument/B/saxpy_worker.py");
  EXPECT_EQ(with_script.back().value, base::sha256_file(ABBA_TEST_SAXPY_PY));
}

TEST(Worker, PaddingIsDrawnFromItsSeed) {
  EXPECT_EQ(draw_padding(3), draw_padding(3));
  EXPECT_NE(draw_padding(3), draw_padding(4));
  EXPECT_LT(draw_padding(5), 4096U);
  WorkerSpec spec = spec_of({"sh", "-c", "echo abba-sample w ${#ABBA_PADDING}"});
  spec.reads = record::Reads::kLines;
  spec.padding_bytes = 321;
  auto program = spawn(spec);
  program->prepare(saxpy_workload(), 1);
  EXPECT_EQ(program->slot(slot_of("w", 0, 1)).samples[0].duration_ns, 321);
}

struct Breakage {
  const char* rule;
  const char* says;
  friend void PrintTo(const Breakage& breakage, std::ostream* out) { *out << breakage.rule; }
};

class BrokenWorker : public testing::TestWithParam<Breakage> {};

TEST_P(BrokenWorker, EndsAsOneErrorAndStaysDead) {
  auto worker = broken(GetParam().rule, std::string(GetParam().rule) == "hang" ? 0.2 : 20);
  try {
    (void)worker->slot(slot_of("w"));
    FAIL() << "gave samples";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBroken);
    EXPECT_EQ(error.where(), "B");
    EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
  }
  EXPECT_EQ(kill(worker->pid(), 0), -1) << "the process is gone and reaped";
  EXPECT_THROW((void)worker->slot(slot_of("w")), Error);
  EXPECT_NE(worker->shutdown(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenWorker,
    testing::Values(Breakage{"hang", "within 0.2 s"}, Breakage{"die", "signal 9"},
                    Breakage{"die", "about to die"}, Breakage{"exit", "exit code 7"},
                    Breakage{"garbage", "no answer"}, Breakage{"nan", "no answer"},
                    Breakage{"oversize", "64 MiB"}, Breakage{"slot-id-echoed", "answers slot"},
                    Breakage{"other-type", "answered \"slot\" with \"prepare\""},
                    Breakage{"samples-consistent", "6 durations"},
                    Breakage{"negative", "duration_ns"}, Breakage{"fraction", "duration_ns"},
                    Breakage{"backwards", "before the one before"},
                    Breakage{"spans-nested", "does not lie within"},
                    Breakage{"metric", "not declared"}, Breakage{"warmup", "warm-ups"},
                    Breakage{"digest", "SHA-256"}));

TEST(Worker, WithoutABreakTheSameWorkerIsFine) {  // the canary of the suite above
  auto worker = broken("nothing");
  const record::SlotReply slot = worker->slot(slot_of("w"));
  EXPECT_EQ(slot.samples.size(), 7U);
  EXPECT_EQ(slot.spans.size(), 6U) << "five spans and a total";
  EXPECT_EQ(slot.spans.back().seq, -1);
  EXPECT_EQ(slot.spans.back().count, 5);
  EXPECT_EQ(worker->shutdown(), 0);
}

TEST(Worker, AnUnaskedAnswerIsNoticedBeforeTheNextRequest) {
  auto worker = broken("twice");
  EXPECT_EQ(worker->slot(slot_of("w")).samples.size(), 7U);
  try {
    (void)worker->slot(slot_of("w"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("without being asked"));
  }
}

TEST(Worker, KilledInTheMiddleOfASlot) {
  auto worker = broken("hang");
  std::thread killer([pid = worker->pid()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(pid, SIGKILL);
  });
  try {
    (void)worker->slot(slot_of("w"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("died during \"slot\" with signal 9"));
  }
  killer.join();
}

TEST(Worker, AFloodOnStandardErrorNeitherBlocksNorGrows) {
  std::size_t logged = 0;
  std::size_t longest = 0;
  WorkerSpec spec = spec_of(broken_python("flood"));
  spec.log = [&](std::string_view line) {
    ++logged;
    longest = std::max(longest, line.size());
  };
  auto worker = spawn(spec);
  worker->prepare(saxpy_workload(3), 1);
  EXPECT_EQ(worker->slot(slot_of("w")).samples.size(), 7U);
  EXPECT_EQ(worker->shutdown(), 0);
  const auto tail = worker->stderr_tail();
  EXPECT_EQ(tail.size(), 100U);
  EXPECT_THAT(tail, testing::Contains("the last line"));
  EXPECT_LE(logged, 10'001U);
  EXPECT_LE(longest, 2000U);
}

TEST(Worker, IgnoringSigtermDoesNotHelp) {
  WorkerSpec spec = spec_of(broken_python("ignore-sigterm"));
  spec.timeouts.shutdown_s = 0.3;
  auto worker = spawn(spec);
  EXPECT_EQ(worker->shutdown(), 128 + SIGKILL);
  EXPECT_EQ(kill(worker->pid(), 0), -1);
}

TEST(Worker, IsKilledOnRequestInTheMiddleOfAnAnswer) {
  std::atomic<bool> stop = false;
  WorkerSpec spec = spec_of(broken_python("hang"));
  spec.stop = [&] { return stop.load(); };
  auto worker = spawn(spec);
  worker->prepare(saxpy_workload(3), 1);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  try {
    worker->slot(slot_of("w"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBroken);
    EXPECT_THAT(error.what(), HasSubstr("was killed on request during \"slot\""));
  }
  later.join();
  EXPECT_EQ(kill(worker->pid(), 0), -1);
}

TEST(Worker, ADeadOneHasNoFilesAndThatIsNoOtherSetOfFiles) {
  auto worker = spawn(spec_of(broken_python("none")));
  EXPECT_FALSE(worker->files().empty());
  kill(worker->pid(), SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  try {
    worker->files();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBroken);
    EXPECT_THAT(error.what(), HasSubstr("died while its files were read"));
  }
}

TEST(Worker, ASlotGetsTimeForWhatItsRequestsTook) {
  auto worker = broken("hang", 0.05);
  record::SlotRequest request = slot_of("w");
  request.expected_s = 0.03;
  try {
    worker->slot(request);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("within 0.35 s"));
  }
}

TEST(Worker, AnswersWhatItsCapturesCost) {
  auto worker = broken("none");
  const auto costs = worker->graph_capture("w");
  ASSERT_EQ(costs.size(), 1U);
  EXPECT_EQ(costs[0].capture_ns, 7);
  EXPECT_FALSE(costs[0].bytes.has_value());
  EXPECT_EQ(worker->slot(slot_of("w")).samples.size(), 7U);  // it goes on
  auto other = spawn(spec_of(saxpy_cpp()));
  other->prepare(saxpy_workload(3), 1);
  EXPECT_THROW(other->graph_capture("w"), Error);  // declares none
}

TEST(Worker, ACaptureThatIsRefusedDoesNotEndTheWorkerAndOneThatIsBrokenDoes) {
  struct Case {
    const char* how;
    ErrorCode code;
    const char* says;
  };
  for (const Case& one :
       {Case{"capture-refused", ErrorCode::kPreflight, "three numbers need no graph"},
        Case{"capture-negative", ErrorCode::kBroken, "\"capture_ns\" is no integer from 0"},
        Case{"capture-hang", ErrorCode::kBroken,
             "did not answer \"graph_capture\" within 0.3 s"}}) {
    WorkerSpec spec = spec_of(broken_python(one.how));
    spec.timeouts.graph_capture_s = 0.3;
    auto worker = spawn(spec);
    worker->prepare(saxpy_workload(3), 1);
    try {
      worker->graph_capture("w");
      ADD_FAILURE() << one.how;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), one.code) << one.how;
      EXPECT_THAT(error.what(), HasSubstr(one.says));
    }
    const bool lives = kill(worker->pid(), 0) == 0;
    EXPECT_EQ(lives, one.code == ErrorCode::kPreflight) << one.how;
  }
}

TEST(Worker, AProgramThatDoesNotSpeakIsRefusedAtOnce) {
  WorkerSpec spec = spec_of({"sh", "-c", "echo usage: sh >&2; exit 2"});
  try {
    spawn(spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBroken);
    EXPECT_THAT(error.what(), HasSubstr("exit code 2"));
    EXPECT_THAT(error.what(), HasSubstr("usage: sh"));
  }
  spec.argv = {"cat"};  // echoes the request
  EXPECT_THROW(spawn(spec), Error);
  spec.argv = {"sleep", "30"};
  spec.timeouts.hello_s = 0.1;
  EXPECT_THROW(spawn(spec), Error);
  spec.argv = {};
  EXPECT_THROW(spawn(spec), Error);
}

}  // namespace
}  // namespace abba::workers
