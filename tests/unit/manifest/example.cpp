#include "tests/unit/manifest/example.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

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

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "abba-test-XXXXXX").string();
  const char* made = ::mkdtemp(name.data());
  EXPECT_NE(made, nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::write(const std::string& name,
                                             const std::string& bytes) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

}  // namespace abba::manifest::testing
