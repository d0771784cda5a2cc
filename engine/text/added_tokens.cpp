#include "engine/text/added_tokens.h"

#include <algorithm>

#include "engine/text/unicode.h"

namespace abba::text {
namespace {

std::uint64_t edge(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8U | static_cast<unsigned char>(byte);
}

// Where the white space that ends text[begin, end) starts.
std::size_t start_of_trailing_space(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin) {
    const std::size_t before = previous_offset(text, end);
    if (char_class(code_point_at(text, before).value) != CharClass::kSpace) break;
    end = before;
  }
  return end;
}

}  // namespace

void AddedTokenMatcher::add(const AddedToken& token) {
  if (token.content.empty()) return;
  std::uint32_t node = 0;
  for (const char byte : token.content) {
    const auto [child, is_new] =
        children_.try_emplace(edge(node, byte), static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    node = child->second;
  }
  nodes_[node] = {token.id, token.lstrip};
  starts_[static_cast<unsigned char>(token.content.front())] = true;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::longest_at(std::string_view text,
                                                                      std::size_t offset) const {
  std::optional<Match> best;
  std::uint32_t node = 0;
  for (std::size_t i = offset; i < text.size(); ++i) {
    const auto child = children_.find(edge(node, text[i]));
    if (child == children_.end()) break;
    node = child->second;
    if (nodes_[node].id >= 0) best = Match{i + 1 - offset, nodes_[node]};
  }
  return best;
}

std::vector<AddedTokenMatcher::Piece> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<Piece> pieces;
  std::size_t done = 0;
  for (std::size_t offset = 0; offset < text.size();) {
    const bool may_start = starts_[static_cast<unsigned char>(text[offset])];
    const auto match = may_start ? longest_at(text, offset) : std::nullopt;
    if (!match) {
      ++offset;
      continue;
    }
    const std::size_t begin =
        match->leaf.lstrip ? start_of_trailing_space(text, done, offset) : offset;
    if (done < begin) pieces.push_back({text.substr(done, begin - done), std::nullopt});
    done = offset + match->size;
    pieces.push_back({text.substr(begin, done - begin), match->leaf.id});
    offset = done;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), std::nullopt});
  return pieces;
}

}  // namespace abba::text
