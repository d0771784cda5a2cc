// Every kind of bad input gives its own mistake, at its place, with what would be accepted; and
// all of them are reported at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/manifest/example.h"

namespace abba::manifest::testing {
namespace {

struct Bad {
  std::string name;
  std::string from;
  std::string to;
  std::string pointer;
  std::string code;
  std::string accepted;  // part of it
};

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class BadManifest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadManifest, GivesExactlyThisMistake) {
  const Bad& bad = GetParam();
  const std::vector<Mistake> mistakes = mistakes_of(bad.from, bad.to);
  ASSERT_EQ(mistakes.size(), 1U) << text(mistakes);
  EXPECT_EQ(mistakes[0].pointer, bad.pointer);
  EXPECT_EQ(mistakes[0].code, bad.code);
  EXPECT_THAT(mistakes[0].accepted, ::testing::HasSubstr(bad.accepted));
  EXPECT_FALSE(mistakes[0].found.empty());
}

constexpr const char* kProtocol = R"("protocol": {"preset": "standard"})";
constexpr const char* kSuccess = R"("success": {"claim": "faster"})";
constexpr const char* kWorkloads =
    R"("workloads": [{"id": "w1", "input": {"n": 100}}, {"id": "w2", "input": {"n": 200}}])";
constexpr const char* kArms =
    R"("arms": {"A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new"}}})";

std::string protocol(const std::string& more) {
  return R"("protocol": {"preset": "standard", )" + more + "}";
}

const Bad kBadProtocol[] = {
    {"unknown_key", R"("id": "nine")", R"("id": "nine", "hypotesis": "x")", "/hypotesis",
     "unknown-key", "\"hypothesis\" (nearest)"},
    {"unknown_key_below", kProtocol, protocol(R"("pases": 3)"), "/protocol/pases", "unknown-key",
     "\"passes\" (nearest)"},
    {"no_hypothesis", R"("hypothesis": "B is faster",)", "", "/hypothesis", "missing", "required"},
    {"no_variable", R"("independent_variable": "loop",)", "", "/independent_variable", "missing",
     "required"},
    {"no_success", std::string(kSuccess) + ",", "", "/success", "missing", "required"},
    {"no_preset", kProtocol, R"("protocol": {})", "/protocol/preset", "missing", "required"},
    {"wrong_type", R"("id": "nine")", R"("id": 9)", "/id", "wrong-type", "a-z"},
    {"bad_id", R"("id": "nine")", R"("id": "Nine Lives")", "/id", "bad-value", "1 to 64 of a-z"},
    {"long_id", R"("id": "nine")", "\"id\": \"" + std::string(65, 'a') + "\"", "/id", "bad-value",
     "1 to 64"},
    {"empty_hypothesis", R"("B is faster")", R"("")", "/hypothesis", "bad-value", "1 to 20000"},
    {"passes_zero", kProtocol, protocol(R"("passes": 0)"), "/protocol/passes", "out-of-range",
     "from 1 to 1000"},
    {"passes_absurd", kProtocol, protocol(R"("passes": 1000000000)"), "/protocol/passes",
     "out-of-range", "from 1 to 1000"},
    {"passes_huge", kProtocol, protocol(R"("passes": 1e300)"), "/protocol/passes", "out-of-range",
     "from 1 to 1000"},
    {"passes_fraction", kProtocol, protocol(R"("passes": 2.5)"), "/protocol/passes", "out-of-range",
     "whole number"},
    {"passes_text", kProtocol, protocol(R"("passes": "12")"), "/protocol/passes", "wrong-type",
     "whole number"},
    {"unknown_preset", R"("standard")", R"("standart")", "/protocol/preset", "bad-value",
     "\"standard\" (nearest)"},
    {"unknown_order", kProtocol, protocol(R"("order": "ABBA")"), "/protocol/order", "bad-value",
     "ABBA/BAAB"},
    {"unknown_workload_order", kProtocol, protocol(R"("workload_order": "rotate")"),
     "/protocol/workload_order", "bad-value", "\"rotated\" (nearest)"},
    {"looks_descending", kProtocol, protocol(R"("looks": [12, 6])"), "/protocol/looks",
     "inconsistent", "the last one 12"},
    {"looks_short", kProtocol, protocol(R"("looks": [6, 10])"), "/protocol/looks", "inconsistent",
     "the last one 12"},
    {"slot_bounds", kProtocol, protocol(R"("slot": {"min_requests": 50, "max_requests": 10})"),
     "/protocol/slot/max_requests", "inconsistent", "at least min_requests, 50"},
    {"slot_two_ways", kProtocol, protocol(R"("slot": {"requests": 50, "min_ms": 10})"),
     "/protocol/slot/min_ms", "inconsistent", "either the fixed count"},
    {"negative_time", kProtocol, protocol(R"("idle_gap_ms": -1)"), "/protocol/idle_gap_ms",
     "out-of-range", "from 0 to 60000"},
    {"paced_unsaid", kProtocol, protocol(R"("arrival": "paced")"), "/protocol/interval_ms",
     "missing", "exactly if arrival"},
    {"alone_but_reused", kProtocol, protocol(R"("placement": "one-at-a-time", "workers": "reuse")"),
     "/protocol/workers", "inconsistent", "\"fresh-per-pass\""},
    {"alone_but_interleaved", kProtocol,
     protocol(R"("placement": "one-at-a-time", "order": "interleaved")"), "/protocol/order",
     "inconsistent", "or another placement"},
    {"limit_below_plan", kProtocol, protocol(R"("limits": {"max_requests": 10})"),
     "/protocol/limits/max_requests", "inconsistent", "higher limit"},
    {"limit_below_fixed_counts", kProtocol,
     protocol(R"("passes": 6, "blocks": 1, "slot": {"warmup": 2, "requests": 10},
                 "limits": {"max_requests": 671})"),
     "/protocol/limits/max_requests", "inconsistent", "higher limit"},
    {"timeout_of_nothing", kProtocol, protocol(R"("limits": {"timeouts": {"slot_s": 0}})"),
     "/protocol/limits/timeouts/slot_s", "out-of-range", "from 0.01 to 86400"},
    {"timeout_unknown", kProtocol, protocol(R"("limits": {"timeouts": {"slots": 1}})"),
     "/protocol/limits/timeouts/slots", "unknown-key", "slot_s"},
};

const Bad kBadSubject[] = {
    {"no_workloads", kWorkloads, R"("workloads": [])", "/workloads", "missing", "at least one"},
    {"workloads_object", kWorkloads, R"("workloads": {})", "/workloads", "wrong-type", "an array"},
    {"workload_without_input", kWorkloads, R"("workloads": [{"id": "w1"}])", "/workloads/0/input",
     "missing", "required"},
    {"workload_empty_input", kWorkloads, R"("workloads": [{"id": "w1", "input": {}}])",
     "/workloads/0/input", "bad-value", "not empty"},
    {"same_workload_twice", kWorkloads,
     R"("workloads": [{"id": "w1", "input": 1}, {"id": "w1", "input": 2}])", "/workloads/1/id",
     "duplicate", "each id once"},
    {"source_outside", R"("id": "nine")", R"("id": "nine", "sources": ["src", "a/../../b"])",
     "/sources/1", "bad-value", "relative to abba.json"},
    {"source_absolute", R"("id": "nine")", R"("id": "nine", "sources": ["/etc"])", "/sources/0",
     "bad-value", "of the project"},
    {"arms_alike", R"("loop": "new")", R"("loop": "old")", "/independent_variable", "no-difference",
     "\"none\" for an A/A run"},
    {"arms_differ_in_two",
     R"("A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new"}})",
     R"("A": {"factors": {"loop": "old", "pad": "no"}}, "B": {"factors": {"loop": "new", "pad": "yes"}})",
     "/arms/B/factors/pad", "too-many-differences", "\"loop+pad\""},
    {"variable_not_the_difference", R"("independent_variable": "loop")",
     R"("independent_variable": "none")", "/arms/B/factors/loop", "too-many-differences",
     "other than \"none\""},
    {"level_in_one_arm", R"("A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new"}})",
     R"("A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new", "pad": ""}})",
     "/arms/B/factors/pad", "bad-value", "a level"},
    {"arm_missing", kArms, R"("arms": {"A": {}})", "/arms/B", "missing", "required"},
    {"empty_command", R"("id": "nine")", R"("id": "nine", "worker": [])", "/worker", "out-of-range",
     "array of 1 to 256 words"},
    {"command_text", R"("id": "nine")", R"("id": "nine", "worker": "run me")", "/worker",
     "wrong-type", "array of 1 to 256 words"},
    {"primary_unknown", kSuccess, R"("success": {"claim": "faster", "primary": ["w3"]})",
     "/success/primary/0", "unknown-name", "\"w1\" (nearest)"},
    {"harm_missing", kSuccess, R"("success": {"claim": "equivalent"})", "/success/harm_limit",
     "missing", "0.02"},
    {"harm_negative", kSuccess, R"("success": {"harm_limit": -0.1})", "/success/harm_limit",
     "out-of-range", "from"},
    {"unknown_claim", kSuccess, R"("success": {"claim": "fast"})", "/success/claim", "bad-value",
     "\"faster\" (nearest)"},
    {"bad_device", R"("id": "nine")", R"("id": "nine", "device": "gpu0")", "/device", "bad-value",
     "\"none\", \"any\""},
    {"negative_cpu", R"("id": "nine")", R"("id": "nine", "affinity": {"cpus": [-1]})",
     "/affinity/cpus/0", "out-of-range", "0 to 4095"},
    {"cpu_twice", R"("id": "nine")", R"("id": "nine", "affinity": {"cpus": [1, 1]})",
     "/affinity/cpus/1", "duplicate", "each CPU once"},
    {"bad_digest", R"("id": "nine")",
     R"("id": "nine", "files": [{"name": "f", "path": "p", "sha256": "abc"}])", "/files/0/sha256",
     "bad-value", "64 lower-case"},
    {"hash_of_nothing", R"("id": "nine")",
     "\"id\": \"nine\", \"hashes\": {\"file/f\": \"" + std::string(64, '0') + "\"}",
     "/hashes/file~1f", "unknown-name", "tree/A"},
    {"limits_without_rule", R"("id": "nine")",
     R"("id": "nine", "outputs": {"rule": "bitwise", "limits": {"s": {"nrms": 0.1}}})",
     "/outputs/limits", "inconsistent", "exactly if"},
    {"stage_without_limit", R"("id": "nine")",
     R"("id": "nine", "outputs": {"rule": "limits", "limits": {"s": {}}})", "/outputs/limits/s",
     "missing", "nrms"},
    {"reference_without_limits", R"("id": "nine")",
     R"("id": "nine", "outputs": {"rule": "bitwise", "reference": {"settings": {"p": "x"}}})",
     "/outputs/reference/limits", "missing", "for the stages to compare"},
    {"trace_of_nothing", R"("id": "nine")", R"("id": "nine", "traces": {"workloads": ["w9"]})",
     "/traces/workloads/0", "unknown-name", "w1"},
    {"traced_requests", R"("id": "nine")", R"("id": "nine", "traces": {"requests": 0})",
     "/traces/requests", "out-of-range", "a whole number from 1 to 1000"},
    {"captured_requests", R"("id": "nine")", R"("id": "nine", "graph_capture": {"requests": 5})",
     "/graph_capture/requests", "unknown-key", "arms"},
};

std::string name_of(const ::testing::TestParamInfo<Bad>& each) {
  return each.param.name;
}
INSTANTIATE_TEST_SUITE_P(Protocol, BadManifest, ::testing::ValuesIn(kBadProtocol), name_of);
INSTANTIATE_TEST_SUITE_P(Subject, BadManifest, ::testing::ValuesIn(kBadSubject), name_of);

// Where the arms are two programs.
std::vector<std::string> mistakes_of_programs(const std::string& more) {
  std::string text = with(kNineLines, kArms,
                          R"("arms": {"A": {"program": ["a"], "reads": "wall"},
                                      "B": {"program": ["b"], "reads": "wall"}})");
  text = with(text, R"("independent_variable": "loop")", R"("independent_variable": "executable")");
  std::vector<std::string> found;
  for (const Mistake& mistake : parse_text(with(text, kProtocol, protocol(more)), "").mistakes) {
    found.push_back(mistake.pointer + ": " + mistake.found);
  }
  return found;
}

TEST(Mistakes, AProgramIsNeitherSharedNorCold) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  EXPECT_THAT(mistakes_of_programs(R"("passes": 6)"), ElementsAre());
  EXPECT_THAT(mistakes_of_programs(R"("placement": "one-at-a-time")"), ElementsAre());
  EXPECT_THAT(mistakes_of_programs(R"("cache": "flush-l2")"),
              ElementsAre(HasSubstr("a program in arm A"), HasSubstr("a program in arm B")));
  EXPECT_THAT(mistakes_of_programs(R"("placement": "shared-process")"),
              ElementsAre(HasSubstr("the arms differ in executable"),
                          HasSubstr("a program in arm A"), HasSubstr("a program in arm B")));
}

// The canary: without a replacement there is no mistake to find.
TEST(Mistakes, NineLinesHaveNone) {
  EXPECT_TRUE(parse_text(kNineLines, "").mistakes.empty());
}

TEST(Mistakes, SyntaxErrorsSayWhere) {
  const ParseResult result = parse_text("{\n  \"id\": \"x\",,\n}", "m.json");
  ASSERT_EQ(result.mistakes.size(), 1U);
  EXPECT_EQ(result.mistakes[0].code, "syntax");
  EXPECT_THAT(result.mistakes[0].found, ::testing::HasSubstr("line 2"));
}

TEST(Mistakes, NotAnObject) {
  const ParseResult result = parse_text("[1]", "");
  ASSERT_EQ(result.mistakes.size(), 1U);
  EXPECT_EQ(result.mistakes[0].code, "wrong-type");
  EXPECT_EQ(result.mistakes[0].pointer, "");
}

TEST(Mistakes, HostileTextIsRefused) {
  EXPECT_FALSE(parse_text(std::string(2U << 20U, ' ') + "{}", "").ok());
  EXPECT_FALSE(parse_text(std::string(100'000, '['), "").ok());
  EXPECT_FALSE(parse_text("{\"id\": \"a\", \"id\": \"b\"}", "").ok());
  EXPECT_FALSE(parse_text("", "").ok());
}

TEST(Mistakes, DuplicateLabels) {
  const auto mistakes = mistakes_of(kArms,
                                    R"("arms": {"A": {"label": "x", "factors": {"loop": "old"}},
                                         "B": {"label": "x", "factors": {"loop": "new"}}})");
  ASSERT_EQ(mistakes.size(), 1U) << text(mistakes);
  EXPECT_EQ(mistakes[0].pointer, "/arms/B/label");
  EXPECT_EQ(mistakes[0].code, "duplicate");
}

TEST(Mistakes, RevisionsNeedARecipe) {
  const std::string text_with_revs =
      with(with(kNineLines, R"("loop",)", R"("rev",)"), kArms,
           R"("arms": {"A": {"rev": "main"}, "B": {"rev": "HEAD"}})");
  const auto mistakes = parse_text(text_with_revs, "").mistakes;
  ASSERT_EQ(mistakes.size(), 1U) << text(mistakes);
  EXPECT_EQ(mistakes[0].pointer, "/build");
}

TEST(Mistakes, LevelStatedInOneArmOnly) {
  const auto mistakes = mistakes_of(R"("B": {"factors": {"loop": "new"}})",
                                    R"("B": {"factors": {"loop": "new", "pad": "yes"}})");
  ASSERT_FALSE(mistakes.empty());
  EXPECT_EQ(mistakes[0].pointer, "/arms/A/factors/pad");
  EXPECT_EQ(mistakes[0].code, "missing");
}

TEST(Mistakes, AllAtOnce) {
  std::string source = with(kNineLines, R"("id": "nine")", R"("id": "NINE", "typo": 1)");
  source = with(source, kProtocol, protocol(R"("passes": 0, "blocks": 0)"));
  source = with(source, R"({"id": "w2", "input": {"n": 200}})", R"({"id": "w1"})");
  const auto mistakes = parse_text(source, "").mistakes;
  std::vector<std::string> pointers;
  for (const Mistake& mistake : mistakes) pointers.push_back(mistake.pointer);
  EXPECT_THAT(pointers, ::testing::UnorderedElementsAre("/id", "/typo", "/protocol/passes",
                                                        "/protocol/blocks", "/workloads/1/id",
                                                        "/workloads/1/input"));
  EXPECT_THAT(text(mistakes),
              ::testing::HasSubstr("/protocol/passes: found 0; accepted: a whole number from 1"));
}

}  // namespace
}  // namespace abba::manifest::testing
