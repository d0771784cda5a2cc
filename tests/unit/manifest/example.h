// Manifests that the tests of this layer share.
#pragma once

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

}  // namespace abba::manifest::testing
