// What the tokenizer needs to know of Unicode, and the only files that include utf8proc: decoding
// and checking UTF-8, the classes of the GPT-2 pattern, and NFC. utf8proc was taken instead of ICU
// because one small static archive without data files is all of it; its category table is that of
// Unicode 15.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace abba::text {

// \p{L}, \p{N} and \s of the original's regular expression engine; \s is the White_Space property
// (U+000B and U+0085 included), which is not what ICU's \s means.
enum class CharClass : unsigned char { kOther, kLetter, kNumber, kSpace };

struct CodePoint {
  char32_t value;
  unsigned size_bytes;  // 1..4
};

// Byte offset of the first byte that does not belong to well-formed UTF-8 (overlong forms,
// surrogates, values above U+10FFFF and cut sequences are not well-formed), or nothing.
[[nodiscard]] std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Throws Error(kBadInput, where, ...) with that offset.
void require_utf8(std::string_view text, std::string_view where);

// The code point that starts at `offset`. Precondition: `text` is well-formed, offset < size.
[[nodiscard]] CodePoint code_point_at(std::string_view text, std::size_t offset);
// The offset at which the code point before `offset` starts. Precondition: offset > 0.
[[nodiscard]] std::size_t previous_offset(std::string_view text, std::size_t offset);

void append_utf8(char32_t value, std::string& out);

[[nodiscard]] CharClass char_class(char32_t value);
// Whether repr() of Python shows the character instead of escaping it.
[[nodiscard]] bool is_printable(char32_t value);

// Normalization form C of well-formed UTF-8, in time linear in its length (utf8proc's own ordering
// of combining marks is quadratic in the length of a run of them, so it is done here). The original
// normalizes with the tables of Unicode 9: a mark younger than that and out of canonical order
// stays where it is there, and is put in order here.
[[nodiscard]] std::string nfc(std::string_view text);

// Without white space at both ends, as Python's str.strip() does it (White_Space and U+001C..1F).
[[nodiscard]] std::string_view strip(std::string_view text);

}  // namespace abba::text
