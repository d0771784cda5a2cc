// Manifests and folders that the tests of this layer share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/manifest/parse.h"

namespace abba::manifest::testing {

// Nine lines: everything that is required and nothing else.
inline const std::string kNineLines = R"({
  "id": "nine",
  "hypothesis": "B is faster",
  "independent_variable": "loop",
  "arms": {"A": {"factors": {"loop": "old"}}, "B": {"factors": {"loop": "new"}}},
  "workloads": [{"id": "w1", "input": {"n": 100}}, {"id": "w2", "input": {"n": 200}}],
  "success": {"claim": "faster"},
  "protocol": {"preset": "standard"}
}
)";

// The text with its one occurrence of `from` replaced.
std::string with(const std::string& text, const std::string& from, const std::string& to);
record::Manifest parsed(const std::string& text);
// The mistakes of nine lines with one replacement.
std::vector<Mistake> mistakes_of(const std::string& from, const std::string& to);

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Creates folders as needed.
  std::filesystem::path write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace abba::manifest::testing
