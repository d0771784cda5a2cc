// The questions only a worker can answer: does it have what the manifest names?
#include <algorithm>

#include "harness/manifest/diff.h"
#include "harness/manifest/section.h"

namespace abba::manifest {
namespace {

using record::WorkerHello;

// The names of a list of declarations.
template <typename T>
std::vector<std::string_view> names_of(const std::vector<T>& items) {
  std::vector<std::string_view> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

std::vector<std::string_view> names_of(const std::vector<std::string>& items) {
  return {items.begin(), items.end()};
}

void require_name(const std::string& name, const std::string& what, const std::string& pointer,
                  const std::vector<std::string_view>& known, Mistakes& mistakes) {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    mistakes.push_back({pointer, "unknown-name",
                        what + " \"" + name + "\", which the worker does not have",
                        one_of(name, known)});
  }
}

void check_factors(const record::Arm& arm, const record::Protocol& protocol,
                   const WorkerHello& hello, Mistakes& mistakes) {
  for (const auto& [name, level] : arm.factors) {
    const std::string pointer = below("/arms/" + arm.id + "/factors", name);
    const record::FactorDecl* declared = hello.factor(name);
    if (declared == nullptr) {
      require_name(name, "factor", pointer, names_of(hello.factors), mistakes);
      continue;
    }
    require_name(level, "level", pointer, names_of(declared->levels), mistakes);
    if (protocol.placement == record::Placement::kSharedProcess && !declared->hot) {
      mistakes.push_back({"/protocol/placement", "inconsistent",
                          "\"shared-process\", but factor \"" + name + "\" needs a reload",
                          "\"both-loaded\" or \"one-at-a-time\""});
    }
  }
}

void check_flush(const record::Protocol& protocol, const WorkerHello& hello, Mistakes& mistakes) {
  if (protocol.cache == record::kFlushCaches && !hello.declares("flush")) {
    mistakes.push_back({"/protocol/cache", "inconsistent",
                        "\"" + protocol.cache + "\", which worker " + hello.name + " cannot do",
                        "\"warm\", or a worker that declares the capability \"flush\""});
  }
}

void check_stages(const record::Outputs& outputs, const WorkerHello& hello, Mistakes& mistakes) {
  const auto known = names_of(hello.stages);
  for (std::size_t i = 0; i < outputs.stages.size(); ++i) {
    require_name(outputs.stages[i], "stage", below("/outputs/stages", i), known, mistakes);
  }
  for (const auto& [stage, limit] : outputs.limits) {
    require_name(stage, "stage", below("/outputs/limits", stage), known, mistakes);
  }
  for (const auto& [stage, limit] : outputs.reference_limits) {
    require_name(stage, "stage", below("/outputs/reference/limits", stage), known, mistakes);
  }
}

void check_boundaries(const record::Manifest& manifest, const WorkerHello& hello,
                      Mistakes& mistakes) {
  const auto known = names_of(hello.boundaries);
  for (std::size_t i = 0; i < manifest.workloads.size(); ++i) {
    const record::Workload& workload = manifest.workloads[i];
    for (std::size_t j = 0; j < workload.boundaries.size(); ++j) {
      require_name(workload.boundaries[j], "boundary",
                   below(below("/workloads", i) + "/boundaries", j), known, mistakes);
    }
  }
  if (!manifest.success.boundary.empty()) {
    require_name(manifest.success.boundary, "boundary", "/success/boundary", known, mistakes);
  }
}

}  // namespace

std::vector<Mistake> check_against_hello(const record::Manifest& manifest, const std::string& arm,
                                         const WorkerHello& hello) {
  Mistakes mistakes;
  const record::Arm& subject = manifest.arm(arm);
  check_factors(subject, manifest.protocol, hello, mistakes);
  if (!subject.program.empty()) return mistakes;  // rung 0 declares nothing
  check_flush(manifest.protocol, hello, mistakes);
  check_boundaries(manifest, hello, mistakes);
  check_stages(manifest.outputs, hello, mistakes);
  if (manifest.success.metric != "latency") {
    auto known = names_of(hello.metrics);
    known.insert(known.begin(), "latency");
    require_name(manifest.success.metric, "metric", "/success/metric", known, mistakes);
  }
  return mistakes;
}

std::vector<Mistake> check_against_hello(const record::Manifest& manifest,
                                         const WorkerHello& hello) {
  Mistakes mistakes = check_against_hello(manifest, "A", hello);
  for (Mistake& mistake : check_against_hello(manifest, "B", hello)) {
    const bool known = std::any_of(mistakes.begin(), mistakes.end(), [&](const Mistake& other) {
      return other.pointer == mistake.pointer && other.found == mistake.found;
    });
    if (!known) mistakes.push_back(std::move(mistake));
  }
  return mistakes;
}

}  // namespace abba::manifest
