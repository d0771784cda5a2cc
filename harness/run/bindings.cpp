#include "harness/run/bindings.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using record::Binding;

// Where the owner stands in [code/][running/]KIND/OWNER/...
std::size_t owner_index(const std::vector<std::string>& parts) {
  std::size_t owner = 1;
  for (const char* prefix : {"code", "running"}) {
    owner += owner <= parts.size() && parts[owner - 1] == prefix ? 1 : 0;
  }
  return owner;
}

// A process that both arms share names its files after the first; here after `arm`.
std::string of_arm(const std::string& name, const std::string& arm) {
  std::vector<std::string> parts = base::split(name, '/');
  const std::size_t owner = owner_index(parts);
  if (parts.size() > owner) parts[owner] = arm;
  return base::join(parts, "/");
}

constexpr std::string_view kCode = "code/";

bool is_code(const std::string& name) {
  return name.rfind(kCode, 0) == 0;
}

// What both arms have in common: plan and frozen sources, whatever names stand behind the kind.
bool is_common(const std::string& name) {
  static const std::set<std::string> kKinds = {"counts", "file", "input", "ledger"};
  return kKinds.count(base::split(name, '/')[0]) > 0;
}

// What belongs to no arm and is no frozen source: the machine's.
bool is_of_the_machine(const Binding& binding) {
  return !is_common(binding.name) && !belongs_to(binding, "A") && !belongs_to(binding, "B") &&
         !belongs_to(binding, "reference");
}

[[noreturn]] void refuse_earlier(const EarlierBindings& earlier, const std::string& name,
                                 const std::string& what) {
  throw Error(ErrorCode::kMismatch, name,
              what + " by an earlier run of this registration (" + earlier.run_file +
                  "); run the same program, or register anew with --supersede " +
                  record::short_digest(earlier.lock_digest));
}

}  // namespace

const Binding* find_binding(const std::vector<Binding>& bindings, const std::string& name) {
  const auto found = std::find_if(bindings.begin(), bindings.end(),
                                  [&](const auto& binding) { return binding.name == name; });
  return found == bindings.end() ? nullptr : &*found;
}

std::vector<Binding> bindings_of(const std::string& arm, const ArmCommand& command,
                                 const workers::Worker& worker, workers::FileDigests& digests) {
  std::vector<Binding> bindings = workers::hash_command(command.argv, arm, &digests);
  std::set<std::string> renamed;
  for (Binding binding : worker.files()) {
    binding.name = of_arm(binding.name, arm);
    if (is_code(binding.name) && renamed.count(binding.name.substr(kCode.size())) > 0) {
      binding.name.insert(kCode.size(), "running/");  // as the file that it is of
    }
    const Binding* found = find_binding(bindings, binding.name);
    if (found != nullptr && found->value == binding.value) {
      continue;
    }
    if (found != nullptr) {
      renamed.insert(binding.name);
      binding.name = "running/" + binding.name;
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

bool belongs_to(const Binding& binding, const std::string& arm) {
  const std::vector<std::string> parts = base::split(binding.name, '/');
  const std::size_t owner = owner_index(parts);
  return !is_common(binding.name) && parts.size() > owner && parts[owner] == arm;
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
    const Binding* same = find_binding(bound, binding.name);
    if (same == nullptr && !just_started) {
      continue;
    }
    if (same == nullptr) {
      refuse_binding(binding.name, "is used now but was not when this run was bound");
    }
    if (same->value != binding.value) {
      refuse_binding(binding.name, "is not what this run was bound to (" +
                                       record::short_digest(same->value) + " then, " +
                                       record::short_digest(binding.value) + " now)");
    }
  }
  for (const auto& binding : bound) {
    if (belongs_to(binding, arm) && find_binding(now, binding.name) == nullptr) {
      refuse_binding(binding.name, "was used when this run was bound but is not now");
    }
  }
}

EarlierBindings earlier_bindings(const manifest::LedgerReading& ledger,
                                 const std::string& lock_digest) {
  EarlierBindings earlier;
  for (const record::LedgerEvent& event : ledger.events) {
    const base::Json* bindings = event.details.find("bindings");
    if (event.kind != record::LedgerEventKind::kBound || event.lock_digest != lock_digest ||
        bindings == nullptr || !bindings->is_object()) {
      continue;
    }
    earlier.lock_digest = lock_digest;
    earlier.run_file = event.details.text_or_empty("run_file");
    if (earlier.run_file.empty()) earlier.run_file = event.file;
    for (const auto& [name, value] : bindings->as_object()) {
      if (value.is_string()) earlier.values[name] = value.as_string();
    }
    break;
  }
  return earlier;
}

std::vector<std::string> require_as_earlier(const EarlierBindings& earlier,
                                            const std::vector<Binding>& now,
                                            const std::string& arm) {
  std::vector<std::string> rebuilt;
  if (earlier.run_file.empty()) {
    return rebuilt;
  }
  for (const Binding& binding : now) {
    const auto before = earlier.values.find(binding.name);
    if (is_code(binding.name) ||
        (before != earlier.values.end() && before->second == binding.value)) {
      continue;
    }
    if (before == earlier.values.end()) {
      refuse_earlier(earlier, binding.name, "is used now but was not");
    }
    const Binding* code = find_binding(now, "code/" + binding.name);
    const auto code_before = earlier.values.find("code/" + binding.name);
    if (code == nullptr || code_before == earlier.values.end() ||
        code->value != code_before->second) {
      refuse_earlier(earlier, binding.name,
                     "is another program now (" + record::short_digest(binding.value) +
                         ") than was bound (" + record::short_digest(before->second) + ")");
    }
    rebuilt.push_back(binding.name);
  }
  for (const auto& [name, value] : earlier.values) {
    if (!is_code(name) && belongs_to({name, value}, arm) && find_binding(now, name) == nullptr) {
      refuse_earlier(earlier, name, "is not used now but was");
    }
  }
  return rebuilt;
}

std::vector<std::string> other_than_earlier(const EarlierBindings& earlier,
                                            const std::vector<Binding>& now) {
  std::vector<std::string> names;
  for (const Binding& binding : now) {
    const auto before = earlier.values.find(binding.name);
    if (is_of_the_machine(binding) && before != earlier.values.end() &&
        before->second != binding.value) {
      names.push_back(binding.name);
    }
  }
  return names;
}

}  // namespace abba::run
