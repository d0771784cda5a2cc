#include "harness/manifest/known_events.h"

#include <algorithm>

#include "engine/base/text.h"

namespace abba::manifest {
namespace {

constexpr std::string_view kPrefix = "ledger/";

}  // namespace

record::Binding event_binding(const std::vector<record::Binding>& bound, const std::string& kind,
                              const std::string& digest) {
  const std::string stem = std::string(kPrefix) + kind + "/";
  const auto before = std::count_if(bound.begin(), bound.end(), [&](const auto& binding) {
    return binding.name.rfind(stem, 0) == 0;
  });
  return {stem + std::to_string(before + 1), digest};
}

std::vector<std::string> missing_events(const LedgerReading& ledger,
                                        const std::vector<record::Binding>& bindings) {
  std::vector<std::string> missing;
  for (const record::Binding& binding : bindings) {
    if (binding.name.rfind(kPrefix, 0) != 0 || ledger.holds(binding.value)) continue;
    const std::string kind = base::split(binding.name, '/').at(1);
    missing.push_back((kind == "known" ? "" : kind + " ") + "event " + binding.value.substr(0, 8));
  }
  return missing;
}

}  // namespace abba::manifest
