// A megabyte without a boundary is encoded in less than half a second, whatever it consists of: the
// bound would be missed a thousandfold by merging in quadratic time.
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "tests/unit/text/tokenizers_for_tests.h"

namespace abba::text {
namespace {

#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr double kLimitS = 10;
#else
constexpr double kLimitS = 0.5;
#endif
constexpr std::size_t kMegabyte = 1U << 20U;

std::string repeated(const std::string& unit) {
  std::string text;
  while (text.size() + unit.size() <= kMegabyte) text += unit;
  return text;
}

// CPU time of this thread: the machine may be busy with other things.
double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  timespec start{};
  timespec end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  EXPECT_GT(tokenizer.encode(text).size(), 0U);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - start.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
}

TEST(TokenizerSpeed, AMegabyteWithoutABoundary) {
  std::string letters;
  for (std::size_t i = 0; i < 997; ++i) letters.push_back(static_cast<char>('a' + i * i % 26));
  const std::string texts[] = {repeated(letters), repeated("a"),       repeated("😀"),
                               repeated(" "),     repeated("refund"),  repeated("e\u0301\u0323"),
                               repeated("\n"),    repeated("  [MASK]")};
  const Tokenizer tokenizers[] = {builtin_tokenizer(), metaspace_tokenizer()};
  for (const Tokenizer& tokenizer : tokenizers) {
    for (const std::string& text : texts) {
      const double seconds = seconds_to_encode(tokenizer, text);
      EXPECT_LT(seconds, kLimitS) << text.substr(0, 20) << " " << tokenizer.special().mask_text;
      RecordProperty("seconds_" + std::to_string(&text - texts), std::to_string(seconds));
    }
  }
}

}  // namespace
}  // namespace abba::text
