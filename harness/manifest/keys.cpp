#include "harness/manifest/keys.h"

#include <algorithm>
#include <cstddef>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::manifest {
const std::vector<SectionKeys>& all_sections() {
  static const std::vector<SectionKeys> kSections = {
      {"manifest",
       {"$schema",
        "schema",
        "id",
        "title",
        "hypothesis",
        "rationale",
        "prior_data",
        "evidence",
        "combined",
        "independent_variable",
        "arms",
        "worker",
        "settings",
        "files",
        "build",
        "hashes",
        "device",
        "affinity",
        "workloads",
        "protocol",
        "outputs",
        "success",
        "sources",
        "bind",
        "traces",
        "gate",
        "graph_capture",
        "reference_environment"},
       {"id", "hypothesis", "independent_variable", "arms", "workloads", "success", "protocol"}},
      {"arms", {"A", "B"}, {"A", "B"}},
      {"arm", {"label", "factors", "rev", "worker", "program", "reads", "inject"}, {}},
      {"evidence", {"run", "row", "share"}, {"run"}},
      {"build", {"commands", "executable"}, {"commands", "executable"}},
      {"file", {"name", "path", "sha256", "source", "make"}, {"name", "path"}},
      {"file_source", {"repo", "revision"}, {"repo"}},
      {"device", {"wanted", "compute_capability", "sm_count", "memory_bytes"}, {"wanted"}},
      {"affinity", {"cpus", "numa_node", "bind_memory"}, {}},
      {"workload", {"id", "input", "work", "boundaries", "rotate"}, {"id", "input"}},
      {"work", {"items", "bytes", "flops"}, {}},
      {"protocol",
       {"preset", "feasibility", "passes", "looks", "workers", "blocks", "order", "workload_order",
        "slot", "arrival", "interval_ms", "placement", "cache", "readiness", "load", "on_taint",
        "seed", "idle_gap_ms", "limits"},
       {"preset"}},
      {"slot",
       {"requests", "warmup", "warmup_ms", "min_requests", "min_ms", "max_requests", "max_ms"},
       {}},
      {"limits", {"max_wall_s", "max_requests", "max_runs", "timeouts"}, {}},
      {"timeouts",
       {"hello_s", "load_s", "prepare_s", "slot_s", "outputs_s", "graph_capture_s", "shutdown_s"},
       {}},
      {"outputs", {"rule", "limits", "stages", "reference"}, {}},
      {"stage_limit", {"nrms", "max_abs"}, {}},
      {"reference", {"worker", "settings", "file", "limits"}, {}},
      {"success",
       {"claim", "primary", "metric", "boundary", "at_least", "harm_limit", "confidence",
        "controls"},
       {}},
      {"graph_capture", {"arms", "workloads"}, {}},
      {"traces", {"arms", "workloads", "warmup", "requests"}, {}},
  };
  return kSections;
}

const SectionKeys& section_keys(std::string_view name) {
  const auto& sections = all_sections();
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const SectionKeys& section) { return section.name == name; });
  ABBA_CHECK(found != sections.end());
  return *found;
}

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = base::edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string one_of(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (candidates.empty()) return "nothing: none exists";
  const std::string_view near = closest(word, candidates);
  std::string rest;
  for (const std::string_view candidate : candidates) {
    if (candidate == near) continue;
    rest += rest.empty() ? "" : ", ";
    rest += candidate;
  }
  if (near.empty()) return "one of " + rest;
  const std::string first = "\"" + std::string(near) + "\" (nearest)";
  return rest.empty() ? first : first + ", or one of " + rest;
}

}  // namespace abba::manifest
