#include "engine/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/utf8.h"

namespace abba::text {
namespace {

// Every code point below has no decomposition to recompose differently and combining class 0.
constexpr char32_t kFirstToNormalize = 0x300;

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

CharClass class_by_category(char32_t value) {
  if (is_white_space(value)) return CharClass::kSpace;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::kNumber;
    default:
      return CharClass::kOther;
  }
}

constexpr CharClass ascii_class(unsigned char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return CharClass::kLetter;
  if (c >= '0' && c <= '9') return CharClass::kNumber;
  if ((c >= 9 && c <= 13) || c == ' ') return CharClass::kSpace;
  return CharClass::kOther;
}

unsigned char byte_at(std::string_view text, std::size_t offset) {
  return static_cast<unsigned char>(text[offset]);
}

int combining_class(utf8proc_int32_t value) {
  return utf8proc_get_property(value)->combining_class;
}

// Canonical decomposition of each code point, not yet ordered.
std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  std::array<utf8proc_int32_t, 32> parts{};
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    offset += point.size_bytes;
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point.value), parts.data(),
                                parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    ABBA_CHECK(count >= 0 && static_cast<std::size_t>(count) <= parts.size());
    out.insert(out.end(), parts.begin(), parts.begin() + count);
  }
  return out;
}

// The canonical ordering: each run of combining marks sorted by class, equal classes in order.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  std::size_t i = 0;
  while (i < points.size()) {
    if (combining_class(points[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < points.size() && combining_class(points[end]) != 0) ++end;
    std::stable_sort(points.begin() + static_cast<std::ptrdiff_t>(i),
                     points.begin() + static_cast<std::ptrdiff_t>(end),
                     [](utf8proc_int32_t a, utf8proc_int32_t b) {
                       return combining_class(a) < combining_class(b);
                     });
    i = end;
  }
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = base::utf8_sequence_length(text, offset);
    if (length == 0) return offset;
    offset += length;
  }
  return std::nullopt;
}

void require_utf8(std::string_view text, std::string_view where) {
  if (const auto offset = first_invalid_utf8(text)) {
    throw base::Error(
        base::ErrorCode::kBadInput, std::string(where),
        "is not valid UTF-8 at byte " + std::to_string(*offset) + "; give text in UTF-8");
  }
}

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  const unsigned char lead = byte_at(text, offset);
  if (lead < 0x80) return {lead, 1};
  const auto tail = [&](std::size_t i) {
    return static_cast<char32_t>(byte_at(text, offset + i) & 0x3fU);
  };
  if (lead < 0xe0) return {static_cast<char32_t>(lead & 0x1fU) << 6U | tail(1), 2};
  if (lead < 0xf0) {
    return {static_cast<char32_t>(lead & 0xfU) << 12U | tail(1) << 6U | tail(2), 3};
  }
  return {static_cast<char32_t>(lead & 7U) << 18U | tail(1) << 12U | tail(2) << 6U | tail(3), 4};
}

std::size_t previous_offset(std::string_view text, std::size_t offset) {
  do {
    --offset;
  } while ((byte_at(text, offset) & 0xc0U) == 0x80);
  return offset;
}

void append_utf8(char32_t value, std::string& out) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    push(value);
  } else if (value < 0x800) {
    push(0xc0U | value >> 6U);
    push(0x80U | (value & 0x3fU));
  } else if (value < 0x10000) {
    push(0xe0U | value >> 12U);
    push(0x80U | (value >> 6U & 0x3fU));
    push(0x80U | (value & 0x3fU));
  } else {
    push(0xf0U | value >> 18U);
    push(0x80U | (value >> 12U & 0x3fU));
    push(0x80U | (value >> 6U & 0x3fU));
    push(0x80U | (value & 0x3fU));
  }
}

bool is_printable(char32_t value) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return value == ' ';
    default:
      return true;
  }
}

CharClass char_class(char32_t value) {
  return value < 0x80 ? ascii_class(static_cast<unsigned char>(value)) : class_by_category(value);
}

std::string nfc(std::string_view text) {
  bool may_change = false;
  for (std::size_t offset = 0; offset < text.size() && !may_change;) {
    const CodePoint point = code_point_at(text, offset);
    may_change = point.value >= kFirstToNormalize;
    offset += point.size_bytes;
  }
  if (!may_change) return std::string(text);
  std::vector<utf8proc_int32_t> points = decompose(text);
  order_marks(points);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      points.data(), static_cast<utf8proc_ssize_t>(points.size()), options);
  ABBA_CHECK(length >= 0);
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    append_utf8(static_cast<char32_t>(points[static_cast<std::size_t>(i)]), out);
  }
  return out;
}

std::string_view strip(std::string_view text) {
  const auto is_space = [](char32_t c) { return is_white_space(c) || (c >= 0x1c && c <= 0x1f); };
  std::size_t begin = 0;
  while (begin < text.size()) {
    const CodePoint point = code_point_at(text, begin);
    if (!is_space(point.value)) break;
    begin += point.size_bytes;
  }
  std::size_t end = text.size();
  while (end > begin) {
    const std::size_t before = previous_offset(text, end);
    if (!is_space(code_point_at(text, before).value)) break;
    end = before;
  }
  return text.substr(begin, end - begin);
}

}  // namespace abba::text
