#include "harness/run/arm_bindings.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

bool kinds_of_arms(const std::string& kind) {
  return kind != "counts" && kind != "file" && kind != "input";
}

// KIND/ARM/... of the arm: a process that both arms share names its files after the first.
std::string of_arm(const std::string& name, const std::string& arm) {
  std::vector<std::string> parts = base::split(name, '/');
  if (parts.size() > 1) parts[1] = arm;
  return base::join(parts, "/");
}

}  // namespace

std::vector<record::Binding> bindings_of(const std::string& arm, const ArmCommand& command,
                                         const workers::Worker& worker,
                                         workers::FileDigests& digests) {
  constexpr std::string_view kCode = "code/";
  std::vector<record::Binding> bindings = workers::hash_command(command.argv, arm, &digests);
  std::set<std::string> renamed;
  for (record::Binding binding : worker.files()) {
    const bool is_code = binding.name.rfind(kCode, 0) == 0;
    if (is_code && renamed.count(binding.name.substr(kCode.size())) > 0) {
      binding.name.insert(kCode.size(), "running/");  // as the file that it is of
    }
    binding.name = of_arm(binding.name, arm);
    const auto same_name = [&](const record::Binding& other) { return other.name == binding.name; };
    const auto found = std::find_if(bindings.begin(), bindings.end(), same_name);
    if (found != bindings.end() && found->value == binding.value) {
      continue;
    }
    if (found != bindings.end()) {
      renamed.insert(binding.name);
      binding.name = "running/" + binding.name;
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

bool belongs_to(const record::Binding& binding, const std::string& arm) {
  const std::vector<std::string> parts = base::split(binding.name, '/');
  const std::size_t owner = parts[0] == "running" ? 2 : 1;
  return kinds_of_arms(parts[0]) && parts.size() > owner && parts[owner] == arm;
}

void refuse_binding(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::kMismatch, name,
              what +
                  "; what was measured before is kept. Measure with unchanged programs, or "
                  "register anew");
}

void require_same(const std::vector<record::Binding>& bound,
                  const std::vector<record::Binding>& now, const std::string& arm,
                  bool just_started) {
  for (const auto& binding : now) {
    const auto same = std::find_if(bound.begin(), bound.end(),
                                   [&](const auto& other) { return other.name == binding.name; });
    if (same == bound.end() && !just_started) {
      continue;
    }
    if (same == bound.end()) {
      refuse_binding(binding.name, "is used now but was not when this run was bound");
    }
    if (same->value != binding.value) {
      refuse_binding(binding.name, "is not what this run was bound to (" +
                                       same->value.substr(0, 8) + " then, " +
                                       binding.value.substr(0, 8) + " now)");
    }
  }
  for (const auto& binding : bound) {
    const bool gone = belongs_to(binding, arm) &&
                      std::none_of(now.begin(), now.end(),
                                   [&](const auto& other) { return other.name == binding.name; });
    if (gone) {
      refuse_binding(binding.name, "was used when this run was bound but is not now");
    }
  }
}

}  // namespace abba::run
