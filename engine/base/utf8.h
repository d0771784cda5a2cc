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

// Control characters become spaces, each byte that is not UTF-8 the replacement character.
std::string clean_utf8(std::string_view text);

}  // namespace abba::base
