#include <gtest/gtest.h>

#include <string>

#include "harness/report/claims.h"
#include "harness/report/document.h"
#include "harness/report/escape.h"
#include "harness/report/format.h"
#include "harness/report/svg_style.h"

namespace abba::report {
namespace {

TEST(Escape, bytes_that_are_no_text_become_replacement_characters) {
  EXPECT_EQ(clean_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(clean_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");              // overlong
  EXPECT_EQ(clean_utf8("\xED\xA0\x80").find("\xED"), std::string::npos);      // surrogate
  EXPECT_EQ(clean_utf8("\xF4\x90\x80\x80").find("\xF4"), std::string::npos);  // beyond Unicode
  EXPECT_EQ(clean_utf8("µ – …"), "µ – …");
  EXPECT_EQ(clean_utf8(std::string("a\x00\x1b\n\x7f", 5)), "a    ");
  EXPECT_EQ(clean_utf8("a\xC2\x9B"
                       "31m\xC2\xA0z"),
            "a 31m\xC2\xA0z");  // C1: a terminal's CSI
  for (const char* hidden :
       {"\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x80\x8F", "\xD8\x9C", "\xE2\x80\xA8"}) {
    EXPECT_EQ(clean_utf8(hidden), "\xEF\xBF\xBD");
  }
  EXPECT_EQ(clean_utf8("\xE2\x80\x93\xE2\x81\xA5"), "\xE2\x80\x93\xE2\x81\xA5");
  EXPECT_EQ(base::clean_lines("a\n\tb\r\x1b[2J"), "a\n\tb  [2J");
  EXPECT_EQ(clean_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut short
}

TEST(Escape, xml_knows_five_characters) {
  EXPECT_EQ(escape_xml("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
}

TEST(Escape, nothing_in_markdown_text_starts_markup) {
  EXPECT_EQ(escape_markdown("a|b*c_d`e[f](g)<h>"), "a\\|b\\*c\\_d\\`e\\[f\\](g)\\<h\\>");
  EXPECT_EQ(escape_markdown("- item", true), "\\- item");
  EXPECT_EQ(escape_markdown("-3.5 %"), "-3.5 %");
  EXPECT_EQ(escape_markdown("12. item", true), "12\\. item");
  EXPECT_EQ(escape_markdown("12)", true), "12\\)");
  EXPECT_EQ(escape_markdown("97.5 %", true), "97.5 %");  // no blank behind the stop: no item
  EXPECT_EQ(escape_markdown("97.5 %"), "97.5 %");
  EXPECT_EQ(escape_markdown("12. cell"), "12. cell");  // a cell or the middle of a line
  EXPECT_EQ(escape_markdown("v1.2 at 3.5", true), "v1.2 at 3.5");
  EXPECT_EQ(escape_markdown("# title\n# two"), "\\# title \\# two");
  EXPECT_EQ(escape_markdown("http://x"), "http\\://x");
}

TEST(Escape, code_spans_outgrow_their_backticks) {
  EXPECT_EQ(markdown_code("a", false), "`a`");
  EXPECT_EQ(markdown_code("a`b``c", false), "```a`b``c```");
  EXPECT_EQ(markdown_code("`", false), "`` ` ``");
  EXPECT_EQ(markdown_code("a|b", true), "`a\\|b`");
  EXPECT_EQ(markdown_code("", true), "");
}

TEST(Format, numbers_carry_four_digits_and_a_fitting_unit) {
  EXPECT_EQ(time_text(842.1), "842.1 ns");
  EXPECT_EQ(time_text(84210), "84.21 µs");
  EXPECT_EQ(time_text(1523456), "1.523 ms");
  EXPECT_EQ(time_text(12.4e9), "12.40 s");
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-1234), "-1,234");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(counted(1, "pass"), "1 pass");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
  EXPECT_EQ(counted(0, "block"), "0 blocks");
}

TEST(Format, times_of_day_are_seconds_since_1970) {
  EXPECT_EQ(unix_seconds("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(unix_seconds("2026-01-02T03:04:05Z"), 1767323045);
  EXPECT_EQ(unix_seconds("2024-02-29T00:00:00Z"), 1709164800);
  EXPECT_EQ(unix_seconds("yesterday"), -1);
  EXPECT_EQ(unix_seconds(""), -1);
}

TEST(Claims, words_are_found_whole_and_in_any_case) {
  EXPECT_EQ(cause_words("Better Occupancy and\nmemory bandwidth").size(), 2U);
  EXPECT_TRUE(cause_words("bandwidths of preoccupancy").empty());
  EXPECT_EQ(agreement_words("Parity holds; ready to merge.").size(), 2U);
  EXPECT_TRUE(agreement_words("claims: parity-blocked").empty());
}

TEST(Svg, ticks_are_round_and_inside) {
  for (const auto& [low, high] : {std::pair(0.13, 0.97), {1e6, 1.4e6}, {-3e-4, 2e-4}}) {
    const auto ticks = round_ticks(low, high);
    EXPECT_GE(ticks.size(), 3U);
    EXPECT_LE(ticks.size(), 8U);
    EXPECT_GE(ticks.front(), low);
    EXPECT_LE(ticks.back(), high + 1e-9 * high);
  }
  EXPECT_TRUE(round_ticks(1, 1).empty());
}

}  // namespace
}  // namespace abba::report
