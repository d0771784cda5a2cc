// Text from outside made harmless for the format it enters. Every function takes any bytes: control
// characters become spaces and bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/utf8.h"

namespace abba::report {

using base::clean_utf8;
// For element content and double-quoted attributes of HTML and SVG.
[[nodiscard]] std::string escape_xml(std::string_view text);
// No character of running text, headings or table cells starts any markup. `starts_line`: nor does
// the text as a whole become a list item or a rule.
[[nodiscard]] std::string escape_markdown(std::string_view text, bool starts_line = false);
// A code span with as many backticks as it needs; `in_table` also escapes the cell separator.
[[nodiscard]] std::string markdown_code(std::string_view text, bool in_table);

}  // namespace abba::report
