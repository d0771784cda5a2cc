// The keys of every object a manifest may hold, in one table: what parsing accepts, what a
// suggestion is chosen from, and what the JSON Schema beside the manifests is tested against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abba::manifest {

struct SectionKeys {
  std::string_view name;  // "manifest", "arm", "workload", "protocol", "slot", ...
  std::vector<std::string_view> keys;
  std::vector<std::string_view> required;
};

const std::vector<SectionKeys>& all_sections();
// Aborts on an unknown section: our mistake.
const SectionKeys& section_keys(std::string_view name);

// The candidate with the smallest edit distance to `word`, if it is near enough to be meant; else
// empty.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

// "one of a, b, c" or, with a near candidate, "b (nearest), or one of a, c".
std::string one_of(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace abba::manifest
