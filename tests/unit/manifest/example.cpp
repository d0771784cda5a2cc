#include "tests/unit/manifest/example.h"

#include <gtest/gtest.h>

namespace abba::manifest::testing {

std::string with(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no " << from;
  if (at == std::string::npos) return text;
  return std::string(text).replace(at, from.size(), to);
}

record::Manifest parsed(const std::string& source) {
  ParseResult result = parse_text(source, "example.json");
  EXPECT_TRUE(result.ok()) << text(result.mistakes);
  return result.manifest.value_or(record::Manifest{});
}

std::vector<Mistake> mistakes_of(const std::string& from, const std::string& to) {
  return parse_text(with(kNineLines, from, to), "example.json").mistakes;
}

}  // namespace abba::manifest::testing
