#include "engine/text/unicode.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "engine/base/error.h"

namespace abba::text {
namespace {

using std::string_literals::operator""s;

TEST(Unicode, InvalidUtf8IsFoundAtItsByte) {
  EXPECT_EQ(first_invalid_utf8("plain, é, 漢, 😀"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("\x00 a"s), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(first_invalid_utf8("a\x80"), 1U);             // a tail without a lead
  EXPECT_EQ(first_invalid_utf8("é\xc3"), 2U);             // cut at the end
  EXPECT_EQ(first_invalid_utf8("\xc0\x80"), 0U);          // overlong
  EXPECT_EQ(first_invalid_utf8("\xe0\x9f\xbf"), 0U);      // overlong
  EXPECT_EQ(first_invalid_utf8("x\xed\xa0\x80"), 1U);     // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("\xf0\x9f\x98"), 0U);      // an emoji without its last byte
  try {
    require_utf8("ab\xff", "state");
    FAIL() << "not refused";
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(), "state: is not valid UTF-8 at byte 2; give text in UTF-8");
  }
}

TEST(Unicode, EveryCodePointSurvivesEncodingAndDecoding) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(c, text);
    ASSERT_FALSE(first_invalid_utf8(text)) << static_cast<unsigned>(c);
    const CodePoint point = code_point_at(text, 0);
    ASSERT_TRUE(point.value == c) << static_cast<unsigned>(c);
    ASSERT_EQ(point.size_bytes, text.size());
    ASSERT_EQ(previous_offset(text, text.size()), 0U);
  }
}

TEST(Unicode, ClassesOfThePattern) {
  for (const char32_t c : {U'a', U'Z', U'é', U'漢', U'ª', U'ʰ', U'Ⅎ', U'א', U'ก'}) {
    EXPECT_EQ(char_class(c), CharClass::kLetter) << static_cast<unsigned>(c);
  }
  for (const char32_t c : {U'0', U'9', U'²', U'¼', U'٣', U'Ⅷ', U'㊀'}) {
    EXPECT_EQ(char_class(c), CharClass::kNumber) << static_cast<unsigned>(c);
  }
  for (const char32_t c :
       {U' ', U'\t', U'\n', U'\v', U'\u0085', U'\u00a0', U'\u2003', U'\u2028', U'\u3000'}) {
    EXPECT_EQ(char_class(c), CharClass::kSpace) << static_cast<unsigned>(c);
  }
  // Zero-width space, combining acute, byte-order mark, U+001C: no white space, no letters.
  for (const char32_t c :
       {U'_', U'!', U'\u200b', U'\u0301', U'\ufeff', U'\u001c', U'😀', U'\u180e'}) {
    EXPECT_EQ(char_class(c), CharClass::kOther) << static_cast<unsigned>(c);
  }
}

TEST(Unicode, NormalizationFormC) {
  EXPECT_EQ(nfc("e\u0301"), "é");
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");   // NFC keeps compatibility letters
  EXPECT_EQ(nfc("d\u0307\u0323"), "\u1e0d\u0307");  // marks are put in order first
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "각");       // Hangul by arithmetic
  EXPECT_EQ(nfc("\u2126"), "\u03a9");               // a singleton
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");         // a composition exclusion
  EXPECT_EQ(nfc("a\u0301\u200d\u0301"), "á\u200d\u0301");
  EXPECT_EQ(nfc(nfc("q\u0307\u0323\u0301")), nfc("q\u0307\u0323\u0301"));
}

TEST(Unicode, ALongRunOfMarksInTheWorstOrderIsOrderedInTime) {
  std::string text = "a";
  for (int i = 0; i < 200000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";  // classes 230, 220
  const auto start = std::chrono::steady_clock::now();
  const std::string out = nfc(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  // ạ takes the first U+0323, all other U+0323 come next, then every U+0301.
  EXPECT_EQ(out.substr(0, 5), "\u1ea1\u0323");
  EXPECT_EQ(out.substr(out.size() - 2), "\u0301");
  EXPECT_EQ(out.size(), 3 + 2 * 199999U);
}

TEST(Unicode, StripTakesWhatPythonTakes) {
  EXPECT_EQ(strip(" \t\u3000x y\u0085\x1c\n"), "x y");
  EXPECT_EQ(strip("\u200bx"), "\u200bx");
  EXPECT_EQ(strip(" \u2003 "), "");
}

}  // namespace
}  // namespace abba::text
