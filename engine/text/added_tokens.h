// Tokens that are matched in text before any merging (special tokens, runs of spaces): the leftmost
// match, the longest at one place. A token with `lstrip` also takes the white space before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/byte_pair.h"

namespace abba::text {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool lstrip = false;
  bool normalized = false;  // matched in normalized text instead of the text as given
};

class AddedTokenMatcher {
 public:
  // One stretch of text: either a token (id) or text between tokens (no id, never empty).
  struct Piece {
    std::string_view text;
    std::optional<TokenId> id;
  };

  // Empty contents are ignored; of two tokens with one content the later one counts.
  void add(const AddedToken& token);
  // The pieces of `text` in order; they cover it. Views into `text`.
  [[nodiscard]] std::vector<Piece> split(std::string_view text) const;

 private:
  struct Leaf {
    TokenId id = -1;
    bool lstrip = false;
  };
  struct Match {
    std::size_t size;
    Leaf leaf;
  };
  [[nodiscard]] std::optional<Match> longest_at(std::string_view text, std::size_t offset) const;

  std::vector<Leaf> nodes_ = std::vector<Leaf>(1);             // 0 is the root
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // node << 8 | byte -> node
  std::array<bool, 256> starts_{};                             // bytes that some token starts with
};

}  // namespace abba::text
