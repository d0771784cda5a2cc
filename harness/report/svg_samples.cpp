// All samples in time order. A point is one request; a column of more than 20,000 points is drawn
// as the line from its smallest to its largest, for each arm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/report/svg_style.h"
#include "harness/stats/estimators.h"

namespace abba::report {
namespace {

constexpr std::size_t kDrawnOneByOne = 20'000;
constexpr double kWidth = 960;
constexpr double kLeft = 74;
constexpr double kRight = 14;
constexpr double kPanel = 190;  // of one workload, with its title and axis
constexpr double kTop = 26;
constexpr double kPlot = 138;

struct Point {
  std::int64_t start_ns = 0;
  double time_ns = 0;
  std::int32_t pass = 0;
  bool is_b = false;
  bool counts = true;  // false: tainted, failed or superseded, in no statistic
};

struct Panel {
  std::string workload;
  std::vector<Point> points;  // in time order
  std::int64_t failed = 0;    // requests without a time
  double low = 0;
  double high = 1;
  std::size_t above = 0;  // points beyond `high`, drawn at the edge
};

void gather_block(const record::Pass& pass, std::int32_t pass_order, const record::Block& block,
                  Panel& panel) {
  const bool counts = !pass.superseded && !block.failed && block.taint.empty();
  for (const record::Slot& slot : block.slots) {
    for (const record::Sample& sample : slot.samples) {
      if (sample.warmup) {
        continue;
      }
      if (sample.status != record::SampleStatus::kOk || sample.duration_ns <= 0) {
        ++panel.failed;
        continue;
      }
      panel.points.push_back({sample.start_ns, static_cast<double>(sample.duration_ns), pass_order,
                              slot.arm == "B", counts});
    }
  }
}

// The axis begins at the smallest time and ends a little above the 99.5 % quantile, so that a few
// slow requests do not flatten all others; what lies beyond is drawn at the edge and counted.
void scale_axis(Panel& panel) {
  std::vector<double> times;
  times.reserve(panel.points.size());
  for (const Point& point : panel.points) {
    times.push_back(point.time_ns);
  }
  if (times.empty()) {
    return;
  }
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  const double least = *low;
  const double most = *high;
  const double usual = stats::quantile(std::move(times), 0.995);
  const double spread = std::max(usual - least, 1e-3 * least);
  panel.low = std::max(0.0, least - 0.06 * spread);
  panel.high = std::min(most, usual + 0.35 * spread) + 0.03 * spread;
  panel.above = static_cast<std::size_t>(
      std::count_if(panel.points.begin(), panel.points.end(),
                    [&](const Point& point) { return point.time_ns > panel.high; }));
}

Panel gather(const record::RunRecord& run, const std::string& workload) {
  Panel panel;
  panel.workload = workload;
  std::int32_t order = 0;
  for (const record::Pass& pass : run.passes) {
    if (pass.phase != record::Phase::kMeasured) {
      continue;
    }
    for (const record::Block& block : pass.blocks) {
      if (block.workload == workload) {
        gather_block(pass, order, block, panel);
      }
    }
    ++order;
  }
  std::stable_sort(panel.points.begin(), panel.points.end(), [](const Point& a, const Point& b) {
    return a.pass != b.pass ? a.pass < b.pass : a.start_ns < b.start_ns;
  });
  scale_axis(panel);
  return panel;
}

// Draws one panel with its upper edge at y0.
class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, double y0) : panel_(panel), top_(y0 + kTop) {}

  std::string draw() {
    out_ += fmt::format("<g><title>{}</title>\n", "samples in time order");
    axis();
    passes();
    if (panel_.points.size() > kDrawnOneByOne) {
      columns();
    } else {
      dots();
    }
    return out_ + "</g>\n";
  }

 private:
  [[nodiscard]] double x_of(std::size_t i) const {
    const auto n = static_cast<double>(std::max<std::size_t>(panel_.points.size(), 2) - 1);
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(i) / n;
  }
  [[nodiscard]] double y_of(double time_ns) const {
    const double share = (std::min(time_ns, panel_.high) - panel_.low) / (panel_.high - panel_.low);
    return top_ + kPlot * (1 - share);
  }

  void axis() {
    std::string title = panel_.workload + ": " +
                        count_text(static_cast<std::int64_t>(panel_.points.size())) +
                        " requests in time order";
    if (panel_.points.size() > kDrawnOneByOne) {
      title += ", drawn as smallest to largest of each pixel column";
    }
    if (panel_.above > 0) {
      title += fmt::format(", {} above the axis drawn at its edge", panel_.above);
    }
    if (panel_.failed > 0) {
      title += fmt::format(", {} failed not drawn", panel_.failed);
    }
    out_ += svg_text(kLeft, top_ - 10, "start", title);
    for (const double tick : round_ticks(panel_.low, panel_.high)) {
      out_ += svg_line(kLeft, y_of(tick), kWidth - kRight, y_of(tick), "ab-g");
      out_ += svg_text(kLeft - 8, y_of(tick) + 4, "end", time_text(tick));
    }
  }

  void passes() {
    std::size_t begin = 0;
    double last_label = -100;
    for (std::size_t i = 1; i <= panel_.points.size(); ++i) {
      if (i < panel_.points.size() && panel_.points[i].pass == panel_.points[begin].pass) {
        continue;
      }
      const double middle = 0.5 * (x_of(begin) + x_of(i - 1));
      if (middle - last_label > 46) {  // labels of many short passes would overlap
        out_ += svg_text(middle, top_ + kPlot + 15, "middle",
                         "pass " + std::to_string(panel_.points[begin].pass + 1));
        last_label = middle;
      }
      if (i < panel_.points.size()) {
        const double x = 0.5 * (x_of(i - 1) + x_of(i));
        out_ += svg_line(x, top_, x, top_ + kPlot, "ab-z");
      }
      begin = i;
    }
  }

  void dots() {
    for (const bool is_b : {false, true}) {
      for (const bool counts : {false, true}) {
        std::string path;
        for (std::size_t i = 0; i < panel_.points.size(); ++i) {
          const Point& point = panel_.points[i];
          if (point.is_b == is_b && point.counts == counts) {
            path += "M" + svg_number(x_of(i)) + " " + svg_number(y_of(point.time_ns)) + "h0";
          }
        }
        if (!path.empty()) {
          out_ += fmt::format("<path class=\"ab-p {}{}\" d=\"{}\"/>\n", is_b ? "ab-b" : "ab-a",
                              counts ? "" : " ab-o", path);
        }
      }
    }
  }

  void columns() {
    const auto width = static_cast<std::size_t>(kWidth - kLeft - kRight);
    for (const bool is_b : {false, true}) {
      std::vector<double> low(width + 1, INFINITY);
      std::vector<double> high(width + 1, -INFINITY);
      for (std::size_t i = 0; i < panel_.points.size(); ++i) {
        if (panel_.points[i].is_b == is_b) {
          const auto column = static_cast<std::size_t>(x_of(i) - kLeft);
          low[column] = std::min(low[column], panel_.points[i].time_ns);
          high[column] = std::max(high[column], panel_.points[i].time_ns);
        }
      }
      std::string path;
      for (std::size_t column = 0; column <= width; ++column) {
        if (high[column] >= low[column]) {
          // A column of one time would be no line at all: at least a pixel.
          const double bottom = y_of(low[column]);
          path +=
              fmt::format("M{} {}V{}", svg_number(kLeft + static_cast<double>(column) + 0.5),
                          svg_number(bottom), svg_number(std::min(y_of(high[column]), bottom - 1)));
        }
      }
      out_ += fmt::format("<path class=\"ab-c {}\" d=\"{}\"/>\n", is_b ? "ab-b" : "ab-a", path);
    }
  }

  const Panel& panel_;
  double top_;
  std::string out_;
};

std::string legend(double y) {
  return fmt::format(
             "<circle class=\"ab-fa\" cx=\"{0}\" cy=\"{2}\" r=\"4\"/>\n"
             "<circle class=\"ab-fb\" cx=\"{1}\" cy=\"{2}\" r=\"4\"/>\n",
             svg_number(kLeft + 4), svg_number(kLeft + 64), svg_number(y - 4)) +
         svg_text(kLeft + 13, y, "start", "arm A") + svg_text(kLeft + 73, y, "start", "arm B") +
         svg_text(kLeft + 128, y, "start",
                  "faint: blocks in no statistic (tainted, failed, superseded)");
}

}  // namespace

std::string svg_samples(const record::RunRecord& run, const std::string& workload) {
  std::vector<std::string> wanted;
  for (const record::Workload& declared : run.manifest.workloads) {
    if (workload.empty() || declared.id == workload) {
      wanted.push_back(declared.id);
    }
  }
  const double height = 24 + kPanel * static_cast<double>(std::max<std::size_t>(wanted.size(), 1));
  std::string out = svg_open(kWidth, height, "Samples of both arms in time order");
  out += svg_style();
  out += legend(16);
  double y = 22;
  for (const std::string& id : wanted) {
    const Panel panel = gather(run, id);
    if (panel.points.empty()) {
      out += svg_text(kLeft, y + kTop, "start", id + ": no measured request");
    } else {
      out += PanelDrawing(panel, y).draw();
    }
    y += kPanel;
  }
  return out + "</svg>\n";
}

}  // namespace abba::report
