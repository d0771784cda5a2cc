// What both drawings share: their style, numbers short enough for a path, round axis ticks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abba::report {

// A <style> element with light and dark colours; class names begin with "ab-".
[[nodiscard]] std::string_view svg_style();
// At most one decimal, none where it is zero.
[[nodiscard]] std::string svg_number(double value);
// Three to seven multiples of 1, 2 or 5 x 10^k within [low, high].
[[nodiscard]] std::vector<double> round_ticks(double low, double high);
[[nodiscard]] std::string svg_text(double x, double y, std::string_view anchor,
                                   std::string_view text);  // escapes `text`
[[nodiscard]] std::string svg_line(double x1, double y1, double x2, double y2,
                                   std::string_view style_class);
[[nodiscard]] std::string svg_open(double width, double height, std::string_view label);

}  // namespace abba::report
