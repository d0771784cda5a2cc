// The two ways in which a piece of normalized text is cut into the words that merging works on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace abba::text {

// Size in bytes of the first word of non-empty well-formed `text` under the GPT-2 pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// The end of `text` is the end the look-ahead sees. Calling it until the text is used up is linear.
[[nodiscard]] std::size_t first_gpt2_word(std::string_view text);

// U+2581, which stands for a space in Metaspace vocabularies, in UTF-8.
inline constexpr std::string_view kMetaspace = "\xe2\x96\x81";

// `text` with each U+0020 replaced by kMetaspace.
[[nodiscard]] std::string replace_spaces(std::string_view text);
// `text` with kMetaspace before it unless it starts with one or is empty.
[[nodiscard]] std::string with_leading_metaspace(std::string_view text);
// Size in bytes of the first word of non-empty `text`: it ends before the next kMetaspace.
[[nodiscard]] std::size_t first_metaspace_word(std::string_view text);

}  // namespace abba::text
