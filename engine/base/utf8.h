// UTF-8 of text that nobody has checked: what comes from other programs and files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace abba::base {

// What stands for bytes that are not UTF-8: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Length in bytes of the well-formed sequence at `i` (RFC 3629: no overlong form, no surrogate), or
// 0 if there is none.
std::size_t utf8_sequence_length(std::string_view text, std::size_t i);

// Control characters (C0, DEL, and C1, which terminals obey too) become spaces; each byte that is
// not UTF-8, and each character that turns the direction of text or ends a line unseen (U+061C,
// U+200E/F, U+2028 to U+202E, U+2066 to U+2069), becomes the replacement character.
std::string clean_utf8(std::string_view text);

// The same for text of several lines: line ends and tabs stay.
std::string clean_lines(std::string_view text);

}  // namespace abba::base
