// What documents say of graphs captured after the measured passes, and of the workers that did it.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "engine/base/json.h"
#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "tests/unit/report/small_run.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::report {
namespace {

using record::RunRecord;

TEST(Documents, show_warm_up_and_capture_costs_where_they_were_asked_for) {
  RunRecord run = small_run(-0.05);
  EXPECT_EQ(markdown_of(run).find("Warm-up and capture costs"), std::string::npos);
  synthetic::add_captures(run, {synthetic::eager("A", "small"), synthetic::captured("B", "small"),
                                synthetic::captured("B", "large")});
  const std::string text = markdown_of(run);
  EXPECT_NE(text.find("## Warm-up and capture costs"), std::string::npos);
  for (const char* row :
       {"| small | A | \\[8,128\\] | 9.000 ms | 2 runs, 3.000 ms | – | – | – | – | – | – |",
        "| small | B | \\[8,128\\] | 9.100 ms | 1 run, 1.500 ms | 2.000 ms | 1.000 ms | 600.0 µs | "
        "1.400 ms | 31 | 2,097,152 |",
        "| large | A | not answered, see the doubts | – |"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
  }
  // 3.6 ms by some 5 % of 1.5 ms.
  EXPECT_TRUE(std::regex_search(
      text, std::regex("small: capture, instantiate and upload of B \\(3\\.600 ms\\) are won back "
                       "after [45][0-9] requests")));
  EXPECT_EQ(text.find("large: capture, instantiate"), std::string::npos);  // A did not answer
  const std::string page = html_of(run);
  EXPECT_NE(page.find("Warm-up and capture costs"), std::string::npos);
  EXPECT_NE(page.find("2,097,152"), std::string::npos);
  EXPECT_NE(page.find("are won back"), std::string::npos);
}

// The steps of its workers are others than those of measured ones: one table would mix them.
TEST(Documents, keep_workers_of_later_passes_out_of_the_table_of_starts) {
  RunRecord run = small_run(-0.05);
  run.workers = {{1, "A", 0, 7, "d", {{"spawn", 1e6}}},
                 {2, "A", record::kLaterPass, 8, "d", {{"spawn", 3e6}}}};
  EXPECT_NE(markdown_of(run).find("| spawn | A | 1 | 1.000 ms"), std::string::npos)
      << markdown_of(run);
}

TEST(Json, has_the_capture_ledger_with_null_for_what_was_not_given) {
  RunRecord run = small_run(-0.05);
  EXPECT_EQ(json(run, stats::analyze(run), context()).find("graph_captures"), std::string::npos);
  synthetic::add_captures(run, {synthetic::eager("A", "small"), synthetic::captured("B", "small")});
  const base::Json parsed = base::parse_json(json(run, stats::analyze(run), context()), "report");
  const auto& captures = parsed.at("graph_captures").as_array();
  ASSERT_EQ(captures.size(), 2U);
  EXPECT_EQ(captures[0].at("first_run_ns").as_int(), 9'000'000);
  EXPECT_TRUE(captures[0].at("capture_ns").is_null());
  EXPECT_EQ(captures[1].at("bytes").as_int(), 2'097'152);
}

}  // namespace
}  // namespace abba::report
