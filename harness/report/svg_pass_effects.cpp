// One row a pass, then the estimate with its interval: what the verdict rests on, at a glance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/report/report.h"
#include "harness/report/svg_style.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

constexpr double kWidth = 720;
constexpr double kLeft = 92;
constexpr double kRight = 20;
constexpr double kRow = 17;
constexpr double kTop = 14;

struct Axis {
  double low = 0;
  double high = 0;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * (value - low) / (high - low);
  }
};

// From the data, zero and, if it is near enough to be of interest, the harm limit.
Axis make_axis(const record::Verdict& verdict, const record::Interval& interval, double limit) {
  Axis axis;
  for (const double effect : verdict.pass_effects) {
    axis.include(std::expm1(effect));
  }
  if (interval.estimable()) {
    axis.include(interval.low);
    axis.include(interval.high);
  }
  const double reach = std::max(-axis.low, axis.high);
  if (limit > 0 && limit < 3 * reach) {
    axis.include(-limit);
    axis.include(limit);
  }
  const double margin = std::max(0.06 * (axis.high - axis.low), 1e-6);
  axis.low -= margin;
  axis.high += margin;
  return axis;
}

std::string frame(const Axis& axis, double bottom, double limit) {
  std::string out;
  if (limit > 0) {
    const double left = std::max(axis.x(-limit), kLeft);
    const double right = std::min(axis.x(limit), kWidth - kRight);
    out += fmt::format("<rect class=\"ab-m\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                       svg_number(left), svg_number(kTop), svg_number(right - left),
                       svg_number(bottom - kTop));
  }
  for (const double tick : round_ticks(axis.low, axis.high)) {
    out += svg_line(axis.x(tick), kTop, axis.x(tick), bottom, "ab-g");
    out += svg_text(axis.x(tick), bottom + 15, "middle",
                    stats::percent(tick, 2 * (axis.high - axis.low)));
  }
  return out + svg_line(axis.x(0), kTop, axis.x(0), bottom, "ab-z");
}

std::string estimate_row(const Axis& axis, const record::Verdict& verdict,
                         const record::Interval& interval, double y) {
  std::string out = svg_text(kLeft - 10, y + 4, "end", "mean");
  if (interval.estimable()) {
    out += svg_line(axis.x(interval.low), y, axis.x(interval.high), y, "ab-i ab-n");
  }
  const double x = axis.x(verdict.effect);
  return out + fmt::format("<path class=\"ab-fn\" d=\"M{0} {1}l6 6l-6 6l-6 -6z\"/>\n",
                           svg_number(x), svg_number(y - 6));
}

}  // namespace

std::string svg_pass_effects(const record::RunRecord& run, const record::Verdict& verdict) {
  if (verdict.pass_effects.empty()) {
    return "";
  }
  const record::Interval interval =
      verdict.deciding.estimable() ? verdict.deciding : verdict.plain95;
  const double limit = run.manifest.success.harm_limit.value_or(0);
  const double usable = limit > 0 && limit < 1 ? limit : 0;
  const Axis axis = make_axis(verdict, interval, usable);
  const double bottom = kTop + kRow * static_cast<double>(verdict.pass_effects.size() + 1) + 10;
  std::string out = svg_open(kWidth, bottom + 24, "Effect of each pass on " + verdict.workload);
  out += svg_style();
  out += frame(axis, bottom, usable);
  double y = kTop + kRow / 2 + 3;
  for (std::size_t i = 0; i < verdict.pass_effects.size(); ++i) {
    const int index =
        i < verdict.pass_indices.size() ? verdict.pass_indices[i] : static_cast<int>(i);
    out += svg_text(kLeft - 10, y + 4, "end", "pass " + std::to_string(index + 1));
    out += fmt::format("<circle class=\"ab-fa\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>\n",
                       svg_number(axis.x(std::expm1(verdict.pass_effects[i]))), svg_number(y));
    y += kRow;
  }
  out += estimate_row(axis, verdict, interval, y + 4);
  return out + "</svg>\n";
}

}  // namespace abba::report
