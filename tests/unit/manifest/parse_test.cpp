// What a good manifest becomes: presets, overrides, expansion, digest, notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "harness/manifest/canonical.h"
#include "harness/record/names.h"
#include "tests/unit/manifest/example.h"

namespace abba::manifest::testing {
namespace {

record::Manifest with_protocol(const std::string& protocol) {
  return parsed(with(kNineLines, R"({"preset": "standard"})", protocol));
}

TEST(Parse, NineLinesAreEnough) {
  const record::Manifest manifest = parsed(kNineLines);
  EXPECT_EQ(manifest.id, "nine");
  EXPECT_EQ(manifest.a.label, "old");
  EXPECT_EQ(manifest.b.label, "new");
  EXPECT_EQ(manifest.a.id, "A");
  EXPECT_EQ(manifest.workloads.size(), 2U);
  EXPECT_EQ(manifest.outputs.rule, record::OutputsRule::kBitwise);
  EXPECT_EQ(manifest.device.wanted, "none");
}

TEST(Parse, StandardPreset) {
  const record::Protocol protocol = parsed(kNineLines).protocol;
  EXPECT_EQ(protocol.passes, 12);
  EXPECT_EQ(protocol.blocks, 4);
  EXPECT_THAT(protocol.looks, ::testing::ElementsAre(6, 12));
  EXPECT_EQ(protocol.order, record::Order::kAbbaBaab);
  EXPECT_EQ(protocol.workers, record::WorkerReuse::kFreshPerPass);
  EXPECT_EQ(protocol.slot.min_requests, 30);
  EXPECT_EQ(protocol.slot.max_requests, 300);
}

TEST(Parse, TwoPassPresetIsTheSeedsMethod) {
  const record::Manifest manifest =
      parsed(with(with(kNineLines, R"({"preset": "standard"})", R"({"preset": "two-pass"})"),
                  R"({"claim": "faster"})", "{}"));
  const record::Protocol& protocol = manifest.protocol;
  EXPECT_TRUE(protocol.feasibility);
  EXPECT_EQ(protocol.passes, 2);
  EXPECT_EQ(protocol.blocks, 1);
  EXPECT_EQ(protocol.order, record::Order::kAbBa);
  EXPECT_EQ(protocol.workers, record::WorkerReuse::kReuse);
  EXPECT_EQ(protocol.slot.warmup_requests, 10);
  EXPECT_EQ(protocol.slot.warmup_ms, 0);
  EXPECT_EQ(protocol.slot.min_requests, 50);
  EXPECT_EQ(protocol.slot.max_requests, 50);
  EXPECT_EQ(protocol.slot.min_ms, 0);
  EXPECT_EQ(manifest.success.claim, record::Claim::kDisjointPassMeans);
}

TEST(Parse, QuickPreset) {
  const record::Protocol protocol = with_protocol(R"({"preset": "quick"})").protocol;
  EXPECT_EQ(protocol.passes, 6);
  EXPECT_EQ(protocol.blocks, 2);
  EXPECT_THAT(protocol.looks, ::testing::ElementsAre(6));
  EXPECT_EQ(protocol.workers, record::WorkerReuse::kFreshPerPass);
}

TEST(Parse, EveryPartOfAPresetCanBeOverridden) {
  const record::Protocol protocol = with_protocol(R"({
      "preset": "two-pass", "feasibility": false, "passes": 9, "looks": [6, 9], "blocks": 3,
      "workers": "fresh-per-pass", "order": "interleaved",
      "workload_order": "rotated", "arrival": "paced", "interval_ms": 2.5,
      "placement": "shared-process", "cache": "flush-l2", "readiness": "warm", "load": "expected",
      "on_taint": "abort", "seed": 7, "idle_gap_ms": 3,
      "slot": {"warmup": 3, "warmup_ms": 4, "min_requests": 5, "min_ms": 6, "max_requests": 7,
               "max_ms": 8},
      "limits": {"max_wall_s": 60, "max_requests": 1000, "max_runs": 2,
                 "timeouts": {"load_s": 300, "slot_s": 1.5}}})")
                                        .protocol;
  EXPECT_FALSE(protocol.feasibility);
  EXPECT_THAT(protocol.looks, ::testing::ElementsAre(6, 9));
  EXPECT_EQ(protocol.order, record::Order::kInterleaved);
  EXPECT_EQ(protocol.workload_order, record::WorkloadOrder::kRotated);
  EXPECT_EQ(protocol.interval_ms, 2.5);
  EXPECT_EQ(protocol.placement, record::Placement::kSharedProcess);
  EXPECT_EQ(protocol.on_taint, record::OnTaint::kAbort);
  EXPECT_EQ(protocol.slot.max_ms, 8);
  EXPECT_EQ(protocol.limits.max_runs, 2);
  EXPECT_EQ(protocol.limits.timeouts.load_s, 300);
  EXPECT_EQ(protocol.limits.timeouts.slot_s, 1.5);
  EXPECT_EQ(protocol.limits.timeouts.prepare_s, 100);
  EXPECT_EQ(protocol.seed, 7U);
}

// Digests of manifests registered before there were time-outs hold.
TEST(Parse, TimeoutsEnterTheDigestOnlyWhereTheyAreNotTheUsualOnes) {
  const auto plain = with_protocol(R"({"preset": "standard"})");
  const auto usual =
      with_protocol(R"({"preset": "standard", "limits": {"timeouts": {"load_s": 100}}})");
  const auto longer =
      with_protocol(R"({"preset": "standard", "limits": {"timeouts": {"load_s": 101}}})");
  EXPECT_EQ(digest(plain), digest(usual));
  EXPECT_NE(digest(plain), digest(longer));
}

// Likewise digests with other time-outs, from before there was one for captures.
TEST(Parse, TheTimeoutOfACaptureEntersTheDigestOnlyWhereItIsNotTheUsualOne) {
  const auto timeouts = [](const std::string& members) {
    return with_protocol(R"({"preset": "standard", "limits": {"timeouts": {)" + members + "}}}");
  };
  const auto plain = timeouts(R"("load_s": 5)");
  const auto usual = timeouts(R"("load_s": 5, "graph_capture_s": 100)");
  const auto longer = timeouts(R"("load_s": 5, "graph_capture_s": 600)");
  EXPECT_EQ(expand(plain).dump().find("graph_capture_s"), std::string::npos);
  EXPECT_EQ(digest(plain), digest(usual));
  EXPECT_NE(digest(plain), digest(longer));
  EXPECT_EQ(longer.protocol.limits.timeouts.graph_capture_s, 600);
  EXPECT_EQ(digest(parsed(expand(longer).dump_pretty())), digest(longer));
}

// The same for the order of workloads, which plans chose by themselves before.
TEST(Parse, OrderOfWorkloadsEntersTheDigestOnlyWhereItIsNotTheUsualOne) {
  const auto plain = with_protocol(R"({"preset": "standard"})");
  const auto usual = with_protocol(R"({"preset": "standard", "workload_order": "random"})");
  const auto rotated = with_protocol(R"({"preset": "standard", "workload_order": "rotated"})");
  EXPECT_FALSE(usual.protocol.workload_order);
  EXPECT_EQ(digest(plain), digest(usual));
  EXPECT_EQ(rotated.protocol.workload_order, record::WorkloadOrder::kRotated);
  EXPECT_NE(digest(plain), digest(rotated));
  EXPECT_EQ(digest(parsed(expand(rotated).dump_pretty())), digest(rotated));
  // Where blocks are AB or BA, fixed is the usual one.
  const auto pairs = with_protocol(R"({"preset": "standard", "order": "AB/BA"})");
  const auto fixed =
      with_protocol(R"({"preset": "standard", "order": "AB/BA", "workload_order": "fixed"})");
  EXPECT_EQ(digest(pairs), digest(fixed));
}

TEST(Parse, FixedCountMeansThatCount) {
  const record::SlotRule slot =
      with_protocol(R"({"preset": "standard", "slot": {"warmup": 2, "requests": 10}})")
          .protocol.slot;
  EXPECT_EQ(slot.min_requests, 10);
  EXPECT_EQ(slot.max_requests, 10);
  EXPECT_EQ(slot.min_ms, 0);
  EXPECT_EQ(slot.warmup_requests, 2);
  EXPECT_GE(slot.max_ms, 3'600'000);
}

TEST(Parse, LooksFollowThePasses) {
  EXPECT_THAT(with_protocol(R"({"preset": "standard", "passes": 20})").protocol.looks,
              ::testing::ElementsAre(10, 20));
  EXPECT_THAT(with_protocol(R"({"preset": "standard", "passes": 8})").protocol.looks,
              ::testing::ElementsAre(8));
}

TEST(Parse, ExpansionParsesToItself) {
  const record::Manifest manifest = parsed(kNineLines);
  const record::Manifest again = parsed(expand(manifest).dump_pretty());
  EXPECT_EQ(expand(again).canonical(), expand(manifest).canonical());
  EXPECT_EQ(digest(again), digest(manifest));
}

TEST(Parse, CommentsOrderAndSpelledDefaultsLeaveTheDigest) {
  const std::string reordered = R"(// a comment
{ "protocol": {"passes": 12, "preset": "standard"}, /* another */
  "success": {"claim": "faster", "confidence": 0.95},
  "workloads": [{"input": {"n": 100}, "id": "w1"}, {"id": "w2", "input": {"n": 200}}],
  "arms": {"B": {"factors": {"loop": "new"}}, "A": {"label": "old", "factors": {"loop": "old"}}},
  "independent_variable": "loop", "hypothesis": "B is faster", "id": "nine",
  "schema": "abba.manifest/1" })";
  EXPECT_EQ(digest(parsed(reordered)), digest(parsed(kNineLines)));
}

TEST(Parse, EveryDeclarationMovesTheDigest) {
  const std::string before = digest(parsed(kNineLines));
  const std::pair<const char*, const char*> changes[] = {
      {"B is faster", "B is slower"},
      {R"("n": 100)", R"("n": 101)"},
      {R"("loop": "new")", R"("loop": "newer")"},
      {R"({"claim": "faster"})", R"({"claim": "faster", "at_least": 0.01})"},
      {R"({"preset": "standard"})", R"({"preset": "standard", "seed": 2})"},
      {R"("id": "nine")", R"("id": "nine", "settings": {"threads": 2})"},
      {R"("id": "nine")", R"("id": "nine", "outputs": "none")"},
  };
  for (const auto& [from, to] : changes) {
    EXPECT_NE(digest(parsed(with(kNineLines, from, to))), before) << from;
  }
}

TEST(Parse, CombinedArmsAreAllowedAndSaid) {
  std::string source = with(kNineLines, R"("loop",)", R"("loop+pad", "combined": true,)");
  source = with(source, R"({"loop": "old"})", R"({"loop": "old", "pad": "no"})");
  source = with(source, R"({"loop": "new"})", R"({"loop": "new", "pad": "yes"})");
  const ParseResult result = parse_text(source, "");
  ASSERT_TRUE(result.ok()) << text(result.mistakes);
  EXPECT_THAT(result.notes, ::testing::Contains(::testing::HasSubstr("combined")));
}

TEST(Parse, SameArmsAreAnAaRun) {
  std::string source = with(kNineLines, R"("loop",)", R"("none",)");
  source = with(source, R"("loop": "new")", R"("loop": "old")");
  const record::Manifest manifest = parsed(source);
  EXPECT_EQ(manifest.a.label, "A");
  EXPECT_EQ(manifest.b.label, "B");
}

TEST(Parse, WorkersAndExecutablesAsTheVariable) {
  const std::string arms =
      R"({"A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new"}}})";
  const auto parse_with = [&](const char* variable, const char* to) {
    return parse_text(with(with(kNineLines, R"("loop",)", variable), arms, to), "");
  };
  EXPECT_TRUE(parse_with(R"("executable",)",
                         R"({"A": {"worker": ["old", "-x"]}, "B": {"worker": ["new", "-x"]}})")
                  .ok());
  EXPECT_TRUE(
      parse_with(R"("worker",)", R"({"A": {"worker": ["old"]}, "B": {"program": ["bench", "-n"]}})")
          .ok());
  // "executable" promises that only the program's file differs.
  EXPECT_FALSE(parse_with(R"("executable",)",
                          R"({"A": {"worker": ["old", "-x"]}, "B": {"worker": ["new", "-y"]}})")
                   .ok());
}

TEST(Parse, NotesSayWhatIsMissing) {
  const ParseResult result = parse_text(kNineLines, "");
  EXPECT_THAT(result.notes, ::testing::Contains(::testing::HasSubstr("no evidence")));
  EXPECT_THAT(result.notes, ::testing::Contains(::testing::HasSubstr("no harm_limit")));
  const ParseResult few = parse_text(
      with(kNineLines, R"({"preset": "standard"})", R"({"preset": "standard", "passes": 3})"), "");
  EXPECT_THAT(few.notes, ::testing::Contains(::testing::HasSubstr("6 are needed")));
}

TEST(Parse, UnreadableFileThrowsBadInput) {
  try {
    (void)parse_file("/nowhere/m.json");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
  }
}

}  // namespace
}  // namespace abba::manifest::testing
