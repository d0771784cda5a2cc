// Whole documents against golden files, and the rules that every document keeps. To accept a
// deliberate change: ABBA_UPDATE_GOLDEN=1 test_report, then read the difference before committing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "harness/report/claims.h"
#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "tests/unit/report/small_run.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::report {
namespace {

using record::RunRecord;
using synthetic::Spec;

RunRecord seeds_run() {
  Spec spec;
  spec.effect = -0.05;
  spec.preset = record::Preset::kTwoPass;
  spec.order = record::Order::kAbBa;
  spec.claim = record::Claim::kDisjointPassMeans;
  spec.passes = 2;
  spec.looks = {2};
  spec.blocks = 1;
  spec.harm_limit.reset();
  spec.fresh_workers = false;
  return synthetic::make_run(spec);
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(ABBA_GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("ABBA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_TRUE(golden.str() == text) << name << " differs from its golden file";
}

TEST(Golden, documents_are_what_they_were) {
  const RunRecord improved = small_run(-0.05);
  expect_golden("improved.md", markdown_of(improved));
  expect_golden("improved.html", html_of(improved));
  expect_golden("improved.txt", summary_text(improved, stats::analyze(improved), context()));
  expect_golden("two_pass.md", markdown_of(seeds_run()));
  RunRecord tainted = small_run(-0.05);
  tainted.passes[1].blocks[0].taint = "cpu-load";
  expect_golden("tainted.md", markdown_of(tainted));
}

TEST(Documents, are_the_same_bytes_every_time) {
  EXPECT_EQ(html_of(small_run(0)), html_of(small_run(0)));
  EXPECT_EQ(svg_samples(small_run(0)), svg_samples(small_run(0)));
}

TEST(Documents, put_the_words_before_the_numbers_and_name_the_level) {
  const std::string text = markdown_of(small_run(-0.05));
  const auto word = text.find("improved on small, large");
  ASSERT_NE(word, std::string::npos);
  EXPECT_LT(word, text.find('%'));
  EXPECT_NE(text.find("97.5 %"), std::string::npos);
  EXPECT_NE(text.find("plain 95 % (secondary)"), std::string::npos);
  EXPECT_NE(text.find("245 seconds lay between registration and run"), std::string::npos);
  EXPECT_NE(text.find("2 runs of this experiment went before"), std::string::npos);
}

TEST(Documents, of_every_kind_state_what_they_do_not_show) {
  for (const RunRecord& run : {small_run(-0.05), seeds_run()}) {
    const std::string text = markdown_of(run);
    EXPECT_NE(text.find("## What this run does not show"), std::string::npos);
    EXPECT_NE(text.find("no claim about any other program, an earlier or original runtime"),
              std::string::npos);
    EXPECT_NE(text.find("abba run manifests/synthetic.json"), std::string::npos);
  }
}

TEST(Summary, a_busy_machine_is_named) {
  RunRecord run = small_run(-0.05);
  EXPECT_EQ(summary_text(run, stats::analyze(run), context()).find("not quiet"), std::string::npos);
  run.passes[3].blocks[0].taint = "cpu-load";
  EXPECT_NE(summary_text(run, stats::analyze(run), context())
                .find("The machine was not quiet: other programs on its CPUs in 1 of"),
            std::string::npos);
}

TEST(Beside, two_plans_of_one_change_stand_side_by_side) {
  RunRecord two_pass = seeds_run();
  two_pass.file = "results/a.sqlite";
  const RunRecord standard = small_run(-0.05);
  const auto first = stats::analyze(two_pass);
  const auto second = stats::analyze(standard);
  const std::string text = beside({two_pass, first}, {standard, second});
  EXPECT_NE(text.find("disjoint-pass-means"), std::string::npos);
  EXPECT_NE(text.find("| improved, -"), std::string::npos) << text;
  EXPECT_NE(text.find("no verdict word, no interval and no error rate"), std::string::npos);
  EXPECT_NE(text.find("improved, regressed, equivalent (within 2.00 %)"), std::string::npos);
  EXPECT_NE(text.find("abba beside results/a.sqlite"), std::string::npos);
}

TEST(Beside, where_only_the_rule_of_disjoint_means_says_a_direction_it_is_said) {
  RunRecord two_pass = seeds_run();
  const RunRecord standard = small_run(0);
  auto first = stats::analyze(two_pass);
  for (auto& verdict : first.verdicts) {
    verdict.word = record::Word::kDisjointMet;
    verdict.effect = -0.01;
  }
  const auto second = stats::analyze(standard);
  EXPECT_NE(
      beside({two_pass, first}, {standard, second}).find("by chance in one workload of three"),
      std::string::npos);
}

TEST(Beside, another_change_is_refused) {
  const RunRecord x = small_run(-0.05);
  RunRecord y = small_run(-0.05);
  y.manifest.b.factors["blocking"] = "row_8";
  const auto analysis = stats::analyze(x);
  EXPECT_THROW((void)beside({x, analysis}, {y, analysis}), base::Error);
}

TEST(Documents, of_two_programs_claim_no_optimization_and_the_other_way_round) {
  RunRecord run = small_run(-0.05);
  EXPECT_EQ(markdown_of(run).find("runtime comparison"), std::string::npos);
  run.hello["A"].name = "original";
  run.hello["A"].version = "0.3";
  run.hello["B"].name = "engine";
  const std::string text = markdown_of(run);
  EXPECT_NE(text.find("A is original 0.3, B is engine: two programs"), std::string::npos);
  EXPECT_NE(text.find("no claim about any optimization"), std::string::npos);
  EXPECT_EQ(text.find("no claim about any other program"), std::string::npos);
  EXPECT_EQ(text.find("worth trying"), std::string::npos);  // nothing was changed, nothing to cite
  const auto analysis = stats::analyze(run);
  EXPECT_EQ(base::parse_json(json(run, analysis, context()), "report").at("kind").as_string(),
            "runtime comparison");
  run.hello["B"].name = "original";  // one program: what is compared is a change of it
  EXPECT_NE(markdown_of(run).find("no claim about any other program"), std::string::npos);
  run.hello["B"].name = "engine";
  run.manifest.b.program = {"./engine"};  // declares no name of its own
  EXPECT_NE(markdown_of(run).find("no claim about any other program"), std::string::npos);
}

// Our own text never names a cause or an agreement. The canary shows that the check would see it.
TEST(Documents, use_none_of_the_forbidden_words) {
  RunRecord two_programs = small_run(-0.05);
  two_programs.hello["A"].name = "original";
  two_programs.hello["B"].name = "engine";
  for (RunRecord run : {small_run(-0.05), small_run(0), seeds_run(), two_programs, RunRecord{}}) {
    run.output_checks.push_back({"small", "logits", "A", "reference", "d", false, false});
    run.output_checks.push_back({"small", "logits", "B", "reference", "d", false, false});
    for (const std::string& text : {markdown_of(run), html_of(run)}) {
      EXPECT_TRUE(cause_words(text).empty());
      EXPECT_TRUE(agreement_words(text).empty());
    }
  }
  EXPECT_FALSE(cause_words(markdown_of(small_run(0)) + " the bandwidth rose").empty());
}

TEST(Documents, an_author_who_names_a_cause_is_answered) {
  RunRecord run = small_run(-0.05);
  run.manifest.hypothesis = "Fewer rows raise occupancy.";
  EXPECT_NE(markdown_of(run).find("No hardware counter was read in this run"), std::string::npos);
}

TEST(Documents, escape_what_others_wrote) {
  RunRecord run = small_run(-0.05);
  const std::string evil = "<script>alert(1)</script>\"|`*\n# x\xFF";
  run.manifest.title = evil;
  run.manifest.hypothesis = evil;
  run.manifest.a.label = evil;
  run.manifest.workloads[0].id = evil;
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      block.workload = block.workload == "small" ? evil : block.workload;
    }
  }
  for (auto& planned : run.plan.passes) {
    for (auto& block : planned.blocks) {
      block.workload = block.workload == "small" ? evil : block.workload;
    }
  }
  run.identity = {{"cpu", evil, evil}};
  run.notes = {{"N999", record::Severity::kDoubt, evil, evil}};
  for (const std::string& text : {html_of(run), svg_samples(run)}) {
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_EQ(text.find('\xFF'), std::string::npos);
  }
  const std::string text = markdown_of(run);
  EXPECT_EQ(text.find("\n# x"), std::string::npos);
  // Outside code spans no markup of theirs survives.
  const std::string bare = std::regex_replace(text, std::regex("`+[^`]*`+"), "");
  EXPECT_FALSE(std::regex_search(bare, std::regex(R"([^\\]<script)")));
  EXPECT_TRUE(std::regex_search(bare, std::regex(R"(\\<script)")));  // it is there, escaped
}

TEST(Documents, of_a_page_load_nothing_and_close_what_they_open) {
  const std::string page = html_of(small_run(-0.05));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("url("), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  for (const std::string tag : {"section", "table", "svg", "figure", "details", "ul", "p", "tr"}) {
    const auto count = [&](const std::string& pattern) {
      const std::regex regex(pattern);
      return std::distance(std::sregex_iterator(page.begin(), page.end(), regex),
                           std::sregex_iterator());
    };
    EXPECT_EQ(count("<" + tag + "[ >]"), count("</" + tag + ">")) << tag;
  }
}

TEST(Documents, of_empty_and_spoilt_runs_are_documents_too) {
  RunRecord nothing;
  RunRecord no_samples = small_run(0);
  for (auto& pass : no_samples.passes) {
    for (auto& block : pass.blocks) {
      block.slots.clear();
    }
  }
  RunRecord negative = small_run(0);
  negative.passes[0].blocks[0].slots[0].samples[4].duration_ns = -1;
  for (const RunRecord& run : {nothing, no_samples, negative}) {
    const auto analysis = stats::analyze(run);
    for (const std::string& text :
         {markdown_of(run), html_of(run), summary_text(run, analysis, context()),
          json(run, analysis, context())}) {
      EXPECT_EQ(text.find("nan"), std::string::npos);
      EXPECT_EQ(text.find("inf %"), std::string::npos);
      EXPECT_FALSE(text.empty());
    }
  }
}

TEST(Svg, draws_every_point_up_to_the_limit_and_says_when_it_does_not) {
  const RunRecord run = small_run(-0.05);
  const std::string svg = svg_samples(run, "small");
  const std::regex dot("h0");
  // 6 passes x 2 blocks x 4 slots x 6 requests.
  EXPECT_EQ(
      std::distance(std::sregex_iterator(svg.begin(), svg.end(), dot), std::sregex_iterator()),
      288);
  EXPECT_EQ(svg.find("pixel column"), std::string::npos);
  EXPECT_NE(svg_samples(run).find("large: 288 requests"), std::string::npos);
  Spec spec;
  spec.passes = 6;
  spec.looks = {6};
  spec.blocks = 4;
  spec.requests = 220;
  spec.workloads = {"w"};
  RunRecord big = synthetic::make_run(spec);  // 21,120 points
  big.passes[3].blocks[1].slots[2].samples[100].duration_ns *= 100;
  const std::string thinned = svg_samples(big);
  EXPECT_NE(thinned.find("21,120 requests in time order, drawn as smallest to largest"),
            std::string::npos);
  EXPECT_EQ(thinned.find("h0"), std::string::npos);
  EXPECT_NE(thinned.find("above the axis drawn at its edge"), std::string::npos);
  EXPECT_LT(thinned.size(), 60'000U);
}

TEST(Json, is_json_and_keeps_unknown_numbers_null) {
  const RunRecord run = small_run(-0.05);
  const base::Json parsed = base::parse_json(json(run, stats::analyze(run), context()), "report");
  EXPECT_EQ(parsed.at("schema").as_string(), "abba.report/1");
  const base::Json& verdict = parsed.at("verdicts").as_array().at(0);
  EXPECT_EQ(verdict.at("word").as_string(), "improved");
  EXPECT_TRUE(verdict.at("passes_needed").is_null());
  EXPECT_EQ(verdict.at("pass_effects").as_array().size(), 6U);
  EXPECT_EQ(parsed.at("criterion").as_string(), "met");
}

// small_run with a span "parse" of 50 us a request in every slot, `factor` times as long in B.
RunRecord with_control(double factor) {
  RunRecord run = small_run(-0.05);
  run.manifest.success.controls = {"parse"};
  std::int64_t number = 0;
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        const double ripple = static_cast<double>(number++ % 5) * 10;
        const double each = 50'000 * (slot.arm == "B" ? factor : 1) + ripple;
        slot.spans.push_back({-1, "parse", "outer", 0, static_cast<std::int64_t>(6 * each), 6});
      }
    }
  }
  return run;
}

TEST(Supplement, quantiles_have_an_interval_or_say_what_they_need) {
  const std::string text = markdown_of(small_run(-0.05));  // 144 requests an arm
  EXPECT_NE(text.find("| p50 | A | 144 | 1.502 ms |"), std::string::npos) << text;
  EXPECT_NE(text.find("| p99 | B | 144 |"), std::string::npos);
  EXPECT_NE(text.find("not estimable: needs n \\>= 368"), std::string::npos) << text;
  EXPECT_EQ(text.find("needs n \\>= 72"), std::string::npos) << "there are enough for a p95";
  EXPECT_NE(html_of(seeds_run()).find("not estimable: needs n &gt;= 72"), std::string::npos);
}

TEST(Supplement, the_bootstrap_stands_beside_the_t_interval) {
  const RunRecord run = small_run(-0.05);
  const auto analysis = stats::analyze(run);
  const std::string name = "hierarchical bootstrap of medians (a check, decides nothing)";
  EXPECT_NE(markdown_of(run).find(name), std::string::npos);
  EXPECT_NE(html_of(run).find(name), std::string::npos);
  EXPECT_EQ(markdown_of(seeds_run()).find(name), std::string::npos);
  EXPECT_NE(summary_text(run, analysis, context()).find("bootstrap, a check: -5."),
            std::string::npos);
  const base::Json parsed = base::parse_json(json(run, analysis, context()), "report");
  const base::Json& interval =
      parsed.at("supplements").as_array().at(0).at("bootstrap").at("rescaled");
  const record::Interval t = analysis.verdicts[0].plain95;
  EXPECT_NEAR(interval.at("low").as_double(), t.low, 0.003);
  EXPECT_NEAR(interval.at("high").as_double(), t.high, 0.003);
}

TEST(Supplement, negative_controls_are_one_line_after_the_words) {
  const RunRecord still = with_control(1);
  const std::string text = markdown_of(still);
  const auto line = text.find("**small**: Negative control parse: still within 2.00 %,");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_LT(text.find("improved on small"), line);
  EXPECT_LT(line, text.find("## Doubts"));
  const RunRecord moved = with_control(1.1);
  EXPECT_NE(html_of(moved).find("Negative control parse: moved, limit 2.00 %, +"),
            std::string::npos);
  const auto analysis = stats::analyze(moved);
  EXPECT_NE(summary_text(moved, analysis, context()).find("Negative control parse: moved"),
            std::string::npos);
  const base::Json parsed = base::parse_json(json(moved, analysis, context()), "report");
  const base::Json& control =
      parsed.at("supplements").as_array().at(1).at("negative_controls").as_array().at(0);
  EXPECT_EQ(control.get_string("state", ""), "moved");
  EXPECT_EQ(control.at("passes").as_int(), 6);
  EXPECT_NEAR(control.at("effect").as_double(), 0.1, 0.001);
  RunRecord absent = small_run(-0.05);
  EXPECT_EQ(markdown_of(absent).find("Negative control"), std::string::npos);
  absent.manifest.success.controls = {"parse"};
  EXPECT_NE(markdown_of(absent).find("Negative control parse: not recorded in both arms."),
            std::string::npos);
}

TEST(Summary, keeps_to_the_width_and_colours_only_if_asked) {
  const RunRecord run = small_run(-0.05);
  ReportContext plain = context();
  const auto analysis = stats::analyze(run);
  const std::string text = summary_text(run, analysis, plain);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("improved"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 90U) << line;
  }
  plain.color = true;
  EXPECT_NE(summary_text(run, analysis, plain).find("\x1b[32m"), std::string::npos);
}

}  // namespace
}  // namespace abba::report
