#include "harness/report/claims.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>

namespace abba::report {
namespace {

constexpr std::string_view kCauses[] = {
    "occupancy",    "bandwidth",       "cache miss",       "cache misses",  "memory-bound",
    "memory bound", "compute-bound",   "compute bound",    "bank conflict", "bank conflicts",
    "stalls",       "warp divergence", "branch mispredict"};
constexpr std::string_view kAgreement[] = {"parity", "equal to the original", "ready to merge",
                                           "merge-ready"};

bool part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool holds_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !part_of_word(text[at - 1])) &&
        (end == text.size() || !part_of_word(text[end]))) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> found(std::string_view text, std::span<const std::string_view> words) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return c == '\n' ? ' ' : static_cast<char>(std::tolower(c));
  });
  std::vector<std::string> result;
  for (const std::string_view word : words) {
    if (holds_word(lower, word)) {
      result.emplace_back(word);
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> cause_words(std::string_view text) {
  return found(text, kCauses);
}

std::vector<std::string> agreement_words(std::string_view text) {
  return found(text, kAgreement);
}

}  // namespace abba::report
