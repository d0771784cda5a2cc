#include "harness/run/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

using record::Binding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Binding> kNow = {{"executable/A", "new"},
                                   {"code/executable/A", "code"},
                                   {"library/A/libx.so", "x"},
                                   {"code/library/A/libx.so", "cx"},
                                   {"executable/B", "other"}};

EarlierBindings earlier(std::map<std::string, std::string> changes = {}) {
  EarlierBindings before{"results/m/1.sqlite", {}, "0123456789abcdef"};
  for (const Binding& binding : kNow) {
    if (binding.name.find("/A") != std::string::npos) before.values[binding.name] = binding.value;
  }
  for (const auto& [name, value] : changes) before.values[name] = value;
  return before;
}

std::vector<Binding> of_a() {
  return {kNow.begin(), kNow.end() - 1};
}

std::string refusal(const EarlierBindings& before, const std::vector<Binding>& now = of_a()) {
  try {
    require_as_earlier(before, now, "A");
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kMismatch);
    return error.what();
  }
  return "";
}

TEST(Bindings, ALaterRunUsesTheSamePrograms) {
  EXPECT_THAT(require_as_earlier(earlier(), of_a(), "A"), ::testing::IsEmpty());
  EXPECT_THAT(require_as_earlier({}, of_a(), "A"), ::testing::IsEmpty());
  EXPECT_THAT(refusal(earlier({{"executable/A", "old"}, {"code/executable/A", "old code"}})),
              HasSubstr("executable/A"));
  EXPECT_THAT(refusal(earlier({{"executable/A", "old"}, {"code/executable/A", "old code"}})),
              ::testing::EndsWith("register anew with --supersede 01234567"));
  EXPECT_THAT(refusal(earlier({{"library/A/liby.so", "y"}})), HasSubstr("liby.so"));
  auto more = of_a();
  more.push_back({"library/A/preloaded.so", "p"});
  EXPECT_THAT(refusal(earlier(), more), HasSubstr("preloaded.so"));
}

TEST(Bindings, ARebuildOfTheSameCodeIsAcceptedAndNamed) {
  EXPECT_THAT(require_as_earlier(earlier({{"executable/A", "old"}}), of_a(), "A"),
              ElementsAre("executable/A"));
  auto unknown = earlier({{"executable/A", "old"}});
  unknown.values.erase("code/executable/A");  // an earlier run that stored no code digest
  EXPECT_THAT(refusal(unknown), HasSubstr("executable/A"));
}

TEST(Bindings, AnotherDeviceIsNamedAndNoReasonToRefuse) {
  const EarlierBindings before{"r", {{"device/uuid", "GPU-1"}, {"counts/w", "3"}, {"file/f", "1"}}};
  EXPECT_THAT(
      other_than_earlier(before, {{"device/uuid", "GPU-2"}, {"counts/w", "4"}, {"file/f", "2"}}),
      ElementsAre("device/uuid"));
}

// A process that both arms share names its files after A, whoever asks.
class SharedWorker final : public FakeWorker {
 public:
  using FakeWorker::FakeWorker;
  [[nodiscard]] std::vector<Binding> files() const override {
    return {{"executable/A", "another program"}, {"code/executable/A", "its code"}};
  }
};

TEST(Bindings, TheCodeOfASharedProcessIsNamedAsTheFileItIsOf) {
  Script script;
  host::FakeClock clock{1, 1};
  const SharedWorker worker("A", script, clock);
  workers::FileDigests digests;
  for (const std::string arm : {"A", "B"}) {
    const auto bindings = bindings_of(arm, {{"/bin/sh"}}, worker, digests);
    const Binding* file = find_binding(bindings, "running/executable/" + arm);
    ASSERT_NE(file, nullptr) << arm;
    EXPECT_EQ(file->value, "another program");
    const Binding* code = find_binding(bindings, "code/running/executable/" + arm);
    ASSERT_NE(code, nullptr) << arm;
    EXPECT_EQ(code->value, "its code");
  }
}

TEST(Bindings, BelongToTheArmInTheirName) {
  for (const char* name : {"executable/A", "argument/A/x.py", "running/executable/A",
                           "code/library/A/l.so", "code/running/executable/A"}) {
    EXPECT_TRUE(belongs_to({name, ""}, "A")) << name;
    EXPECT_FALSE(belongs_to({name, ""}, "B")) << name;
  }
  EXPECT_FALSE(belongs_to({"file/A", ""}, "A"));
  EXPECT_FALSE(belongs_to({"ledger/A/1", ""}, "A"));
}

TEST(Bindings, ARunThatHasAnotherProgramThanTheEarlierOneMeasuresNothing) {
  World first;
  const auto bound = first.run().record.bindings;
  EarlierBindings before{"results/small/first.sqlite", {}};
  for (const auto& binding : bound) before.values[binding.name] = binding.value;
  World same;
  same.earlier = before;
  EXPECT_FALSE(same.run().error);
  World other;
  other.earlier = before;
  other.script.library["B"] = "another";
  const auto result = other.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kMismatch);
  EXPECT_EQ(other.script.slots, 0);
}

TEST(Bindings, ARunNamesTheEventsItKnewAndWrote) {
  World world;
  world.known_events = {"event 0"};
  world.run();
  std::vector<std::string> named;
  for (const auto& binding : world.sink.bindings) {
    if (binding.name.rfind("ledger/", 0) == 0) named.push_back(binding.name + "=" + binding.value);
  }
  EXPECT_THAT(named, ElementsAre("ledger/known/1=event 0", "ledger/run-started/1=event 1",
                                 "ledger/bound/1=event 2"));
}

}  // namespace
}  // namespace abba::run
