#include "harness/report/escape.h"

#include <algorithm>
#include <cstddef>

namespace abba::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Length of the well-formed sequence at i (RFC 3629: no overlong form, no surrogate), or 0.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  const auto follows = [&](std::size_t k) { return (byte_at(text, i + k) & 0xC0U) == 0x80U; };
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  const unsigned char second = byte_at(text, i + 1);
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool legal = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F);
    return legal && follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool legal = !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
    return legal && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    if (length == 0) {
      out += kReplacement;
      ++i;
    } else if (length == 1 && (byte_at(text, i) < 0x20 || byte_at(text, i) == 0x7F)) {
      out += ' ';
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

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
    // A bullet, rule or numbered item begins only a line; links in clear need "://".
    const bool starts_item = starts_line && i == 0 && (c == '-' || c == '+' || c == '=');
    const bool ends_number =
        (c == '.' || c == ')') && i > 0 && i <= 9 && clean.find_first_not_of("0123456789") == i;
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
