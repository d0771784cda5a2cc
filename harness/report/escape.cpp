#include "harness/report/escape.h"

#include <algorithm>
#include <cstddef>

namespace abba::report {

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : clean_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_markdown(std::string_view text, bool starts_line) {
  static constexpr std::string_view kSpecial = "\\`*_{}[]<>|#!~&$";
  const std::string clean = clean_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    // A bullet, rule or numbered item (with a blank behind it) begins only a line; links in clear
    // need "://".
    const bool starts_item = starts_line && i == 0 && (c == '-' || c == '+' || c == '=');
    const bool ends_number = starts_line && (c == '.' || c == ')') && i > 0 && i <= 9 &&
                             clean.find_first_not_of("0123456789") == i &&
                             (i + 1 == clean.size() || clean[i + 1] == ' ');
    const bool link = c == ':' && clean.compare(i, 3, "://") == 0;
    if (kSpecial.find(c) != std::string_view::npos || starts_item || ends_number || link) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string markdown_code(std::string_view text, bool in_table) {
  std::string clean = clean_utf8(text);
  if (clean.empty()) {
    return "";
  }
  std::size_t longest = 0;
  std::size_t run = 0;
  std::string body;
  for (const char c : clean) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    body += in_table && c == '|' ? "\\|" : std::string(1, c);
  }
  const std::string fence(longest + 1, '`');
  const bool pad = clean.front() == '`' || clean.back() == '`';
  return fence + (pad ? " " : "") + body + (pad ? " " : "") + fence;
}

}  // namespace abba::report
