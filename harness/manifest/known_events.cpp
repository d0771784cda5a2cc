#include "harness/manifest/known_events.h"

#include <algorithm>
#include <iterator>

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

std::vector<record::Binding> missing_events(const LedgerReading& ledger,
                                            const std::vector<record::Binding>& bindings) {
  std::vector<record::Binding> missing;
  std::copy_if(bindings.begin(), bindings.end(), std::back_inserter(missing),
               [&](const record::Binding& binding) {
                 return binding.name.rfind(kPrefix, 0) == 0 && !ledger.holds(binding.value) &&
                        !ledger.acknowledges(binding.value);
               });
  return missing;
}

std::string event_kind(const record::Binding& event) {
  const std::vector<std::string> parts = base::split(event.name, '/');
  return parts.size() < 2 || parts[1] == "known" ? "" : parts[1];
}

std::string event_names(const std::vector<record::Binding>& events) {
  std::vector<std::string> names;
  for (const record::Binding& event : events) {
    const std::string kind = event_kind(event);
    names.push_back("the " + (kind.empty() ? "" : kind + " ") + "event " +
                    record::short_digest(event.value));
  }
  return base::join(names, ", ");
}

}  // namespace abba::manifest
