// The end of `abba run` on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/report/escape.h"
#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/report/sections/sections.h"
#include "harness/report/supplement.h"
#include "harness/stats/family.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

std::string_view colour(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kNeutral:
      return "\x1b[36m";
    case Tone::kMuted:
      break;
  }
  return "\x1b[2m";
}

// Columns of UTF-8 text without wide characters.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t used = columns(text);
  return used < width ? text + std::string(width - used, ' ') : text;
}

// Breaks at spaces; a word longer than the line stays whole.
std::string wrapped(const std::string& text, int width, const std::string& indent) {
  const auto limit = static_cast<std::size_t>(std::max(width, 40));
  std::string out = indent;
  std::size_t used = columns(indent);
  std::size_t begin = 0;
  bool first = true;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!first && used + 1 + columns(word) > limit) {
      out += "\n" + indent;
      used = columns(indent);
    } else if (!first) {
      out += " ";
      ++used;
    }
    out += word;
    used += columns(word);
    first = false;
    begin = end + 1;
  }
  return out + "\n";
}

std::string verdict_line(const record::Verdict& v, std::size_t name_width, std::size_t word_width,
                         bool color) {
  const std::string word = padded(std::string(record::name(v.word)), word_width);
  std::string line = "  " + padded(clean_utf8(v.workload), name_width) + "  ";
  line += color ? std::string(colour(tone_of(v.word))) + word + "\x1b[0m" : word;
  if (v.passes > 0) {
    const auto& interval = v.deciding.estimable() ? v.deciding : v.plain95;
    line += "  " + padded(stats::percent(v.effect, stats::half_width(interval)), 9);
  }
  if (v.deciding.estimable()) {
    line += fmt::format("  {} interval {}", stats::level_text(v.deciding.level),
                        stats::interval_text(v.deciding));
  }
  return line + "\n";
}

std::string medians_line(const record::Verdict& v, std::size_t name_width) {
  std::string a;
  std::string b;
  for (const record::ArmSummary& summary : v.summaries) {
    if (summary.pass == -1) {
      (summary.arm == "A" ? a : b) = metric_text(v.metric, summary.median);
    }
  }
  if (a.empty() || b.empty()) {
    return "";
  }
  return "  " + std::string(name_width, ' ') + "  median A " + a + ", B " + b + ", " +
         counted(v.passes, "pass") + "\n";
}

// What stands beside the verdict: the tail, the bootstrap, the controls.
std::string supplement_lines(const record::RunRecord& run, const record::Verdict& v,
                             std::size_t name_width, int width) {
  constexpr double kTail = 0.95;
  std::vector<std::string> lines;
  std::string tail;
  for (const ArmQuantile& row : arm_quantiles(run, v.workload)) {
    if (row.estimate.p == kTail) {
      tail += fmt::format("{}{} {} ({})", tail.empty() ? "p95 " : ", ", row.arm,
                          metric_text(v.metric, row.estimate.value),
                          quantile_interval_text(v.metric, row.estimate));
    }
  }
  lines.push_back(tail);
  if (!stats::judged_by_disjoint_means(run)) {
    const record::Interval interval = bootstrap_check(run, v.workload).rescaled;
    if (interval.estimable()) {
      lines.push_back("bootstrap, a check: " + stats::interval_text(stats::to_fraction(interval)));
    }
  }
  for (const stats::ControlRow& row : control_rows(run, v.workload)) {
    lines.push_back(control_text(run, row));
  }
  std::string out;
  for (const std::string& line : lines) {
    out += line.empty() ? "" : wrapped(clean_utf8(line), width, std::string(name_width + 4, ' '));
  }
  return out;
}

// What disturbed blocks of the measured passes, each reason with how many blocks it spoilt.
std::string disturbed_text(const record::RunRecord& run) {
  std::map<std::string, int> reasons;
  int blocks = 0;
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      const bool counts = pass.phase == record::Phase::kMeasured && !pass.superseded;
      blocks += counts ? 1 : 0;
      for (const std::string& reason : base::split(counts ? block.taint : "", ',')) {
        reasons[reason] += reason.empty() ? 0 : 1;
      }
    }
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) {
    if (count > 0) {
      parts.push_back(fmt::format("{} in {} of {}",
                                  reason == "cpu-load" ? "other programs on its CPUs" : reason,
                                  count, counted(blocks, "block")));
    }
  }
  return parts.empty() ? "" : "The machine was not quiet: " + base::join(parts, ", ") + ".";
}

std::string doubts_text(const record::RunRecord& run, const record::Analysis& analysis, int width) {
  std::string out;
  for (const auto* notes : {&analysis.notes, &run.notes}) {
    for (const record::Note& note : *notes) {
      if (note.severity != record::Severity::kInfo) {
        const std::string where = note.where.empty() ? "" : note.where + ": ";
        out += wrapped(clean_utf8(note.code + " " + std::string(record::name(note.severity)) +
                                  "  " + where + note.text),
                       width, "  ");
      }
    }
  }
  return out;
}

}  // namespace

std::string summary_text(const record::RunRecord& run, const record::Analysis& analysis,
                         const ReportContext& context) {
  std::size_t name_width = 0;
  std::size_t word_width = 0;
  for (const record::Verdict& verdict : analysis.verdicts) {
    name_width = std::max(name_width, columns(clean_utf8(verdict.workload)));
    word_width = std::max(word_width, record::name(verdict.word).size());
  }
  std::string out = wrapped(clean_utf8(analysis.headline), context.width, "");
  if (context.color) {
    out = "\x1b[1m" + out.substr(0, out.size() - 1) + "\x1b[0m\n";
  }
  out += "\n";
  for (const record::Verdict& verdict : analysis.verdicts) {
    out += verdict_line(verdict, name_width, word_width, context.color);
    out +=
        verdict.word == record::Word::kInvalid
            ? wrapped(clean_utf8(verdict.reason), context.width, std::string(name_width + 4, ' '))
            : medians_line(verdict, name_width) +
                  supplement_lines(run, verdict, name_width, context.width);
  }
  const std::string disturbed = disturbed_text(run);
  if (!disturbed.empty()) {
    out += "\n" + wrapped(clean_utf8(disturbed), context.width, "  ");
  }
  const std::string doubts = doubts_text(run, analysis, context.width);
  return doubts.empty() ? out : out + "\n" + doubts;
}

}  // namespace abba::report
