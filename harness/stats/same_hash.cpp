#include "harness/stats/same_hash.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace abba::stats {
namespace {

using NamedValues = std::map<std::string, std::string>;

// If `name` is "KIND/ARM" or "KIND/ARM/REST", adds KIND/REST -> value to that arm's map.
void sort_by_arm(const std::string& name, const std::string& value, NamedValues& a,
                 NamedValues& b) {
  const auto slash = name.find('/');
  if (slash == std::string::npos || slash + 1 >= name.size()) {
    return;
  }
  const char arm = name[slash + 1];
  const bool whole_part = slash + 2 == name.size() || name[slash + 2] == '/';
  if ((arm == 'A' || arm == 'B') && whole_part) {
    (arm == 'A' ? a : b)[name.substr(0, slash) + name.substr(slash + 2)] = value;
  }
}

// Arguments without the program's own name: a path that is equal in content may differ in name.
std::vector<std::string> arguments(const record::Arm& arm) {
  const std::vector<std::string>& command = !arm.program.empty() ? arm.program : arm.worker;
  return command.empty() ? command : std::vector<std::string>(command.begin() + 1, command.end());
}

// By the name of the file they are of: two builds of one source differ in their stamps alone.
NamedValues code_digests(const record::RunRecord& run) {
  constexpr std::string_view kCode = "code/";
  NamedValues digests;
  for (const record::Binding& binding : run.bindings) {
    if (binding.name.rfind(kCode, 0) == 0) {
      digests[binding.name.substr(kCode.size())] = binding.value;
    }
  }
  return digests;
}

}  // namespace

bool declared_equal(const record::RunRecord& run) {
  return run.manifest.independent_variable == "none";
}

bool arms_are_equal(const record::RunRecord& run) {
  const record::Manifest& manifest = run.manifest;
  if (manifest.a.inject != manifest.b.inject || manifest.a.factors != manifest.b.factors ||
      arguments(manifest.a) != arguments(manifest.b)) {
    return false;
  }
  const auto load_a = run.load.find("A");
  const auto load_b = run.load.find("B");
  if (load_a != run.load.end() && load_b != run.load.end() &&
      load_a->second.factors != load_b->second.factors) {
    return false;
  }
  NamedValues a;
  NamedValues b;
  const NamedValues code = code_digests(run);
  for (const record::Binding& binding : run.bindings) {
    const auto same_code = code.find(binding.name);
    sort_by_arm(binding.name, same_code == code.end() ? binding.value : same_code->second, a, b);
  }
  if (a != b) {
    return false;
  }
  return !a.empty() || declared_equal(run);
}

}  // namespace abba::stats
