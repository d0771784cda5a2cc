// A small run and its documents, for the tests of what documents say.
#pragma once

#include <string>

#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::report {

inline ReportContext context() {
  ReportContext context;
  context.commands = {"abba register manifests/synthetic.json",
                      "abba run manifests/synthetic.json"};
  context.standing = "internally consistent, not anchored";
  context.attempts_before = 2;
  context.samples_svg = "20260102T030405Z-0a1b2c3d.svg";
  return context;
}

// B takes `effect` more than A (a share); six passes on two workloads, small and large.
inline record::RunRecord small_run(double effect) {
  synthetic::Spec spec;
  spec.effect = effect;
  spec.passes = 6;
  spec.looks = {6};
  spec.blocks = 2;
  spec.requests = 6;
  record::RunRecord run = synthetic::make_run(spec);
  run.identity = {{"kernel", "release", "6.1.0"}, {"cpu", "model name", "Example CPU"}};
  run.counts = {{"small", 3, 6}, {"large", 3, 6}};
  run.output_checks = {{"small", "logits", "B", "A", "d", true, true, 0, 0, 0}};
  return run;
}

inline std::string markdown_of(const record::RunRecord& run) {
  return markdown(run, stats::analyze(run), context());
}

inline std::string html_of(const record::RunRecord& run) {
  return html(run, stats::analyze(run), context());
}

}  // namespace abba::report
