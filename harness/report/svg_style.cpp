#include "harness/report/svg_style.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/report/escape.h"

namespace abba::report {

std::string_view svg_style() {
  return R"svg(<style>
.ab-t{font:11px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#5d6873}
.ab-h{font-weight:600;fill:#1d2329}
.ab-g{stroke:#e2e5e8;stroke-width:1}
.ab-z{stroke:#8b949d;stroke-width:1;stroke-dasharray:3 3}
.ab-m{fill:#1f518f;fill-opacity:.08}
.ab-a{stroke:#2f6fc1}.ab-b{stroke:#d9731a}.ab-n{stroke:#2b3138}
.ab-p{fill:none;stroke-width:3;stroke-linecap:round;stroke-opacity:.62}
.ab-o{stroke-opacity:.22}
.ab-c{fill:none;stroke-width:1;stroke-opacity:.7}
.ab-i{stroke-width:3;stroke-linecap:round}
.ab-fa{fill:#2f6fc1}.ab-fb{fill:#d9731a}.ab-fn{fill:#2b3138}
@media (prefers-color-scheme:dark){.ab-t{fill:#9aa5b0}.ab-h{fill:#e4e7ea}.ab-g{stroke:#30363c}
.ab-a{stroke:#6da8f2}.ab-b{stroke:#f5a455}.ab-n{stroke:#dfe4e8}.ab-m{fill:#9cc5f7}
.ab-fa{fill:#6da8f2}.ab-fb{fill:#f5a455}.ab-fn{fill:#dfe4e8}}
</style>
)svg";
}

std::string svg_number(double value) {
  if (!std::isfinite(value)) {
    return "0";
  }
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text == "-0" ? "0" : text;
}

std::vector<double> round_ticks(double low, double high) {
  const double span = high - low;
  if (!(span > 0) || !std::isfinite(span)) {
    return {};
  }
  const double power = std::pow(10, std::floor(std::log10(span / 4)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (span / step > 6) {
      step = factor * power;
    }
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step); k * step <= high * (1 + 1e-12); ++k) {
    ticks.push_back(k * step);
  }
  return ticks;
}

std::string svg_text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text class=\"ab-t\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                     svg_number(x), svg_number(y), anchor, escape_xml(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view style_class) {
  return fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", style_class, svg_number(x1),
                     svg_number(y1), svg_number(x2), svg_number(y2));
}

std::string svg_open(double width, double height, std::string_view label) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n",
      svg_number(width), svg_number(height), escape_xml(label));
}

}  // namespace abba::report
