// What only the whole manifest shows: the arms differ in exactly the independent variable, every
// name refers to something, the declared counts fit the declared limits.
#include <algorithm>
#include <set>

#include "engine/base/text.h"
#include "harness/manifest/parts.h"

namespace abba::manifest {
namespace {

using record::Arm;
using record::Manifest;

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string words(const std::vector<std::string>& argv) {
  return base::join(argv, " ");
}

std::string level_of(const Arm& arm, const std::string& factor) {
  const auto found = arm.factors.find(factor);
  return found == arm.factors.end() ? std::string() : found->second;
}

// "executable" = only the first word differs.
std::string command_variable(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const bool only_first =
      !a.empty() && a.size() == b.size() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
  return only_first ? "executable" : "worker";
}

void check_unstated_levels(const Manifest& manifest, Mistakes& mistakes) {
  std::set<std::string> factors;
  for (const Arm* arm : {&manifest.a, &manifest.b}) {
    for (const auto& [factor, level] : arm->factors) factors.insert(factor);
  }
  for (const std::string& factor : factors) {
    for (const Arm* arm : {&manifest.a, &manifest.b}) {
      if (level_of(*arm, factor).empty()) {
        mistakes.push_back({below("/arms/" + arm->id + "/factors", factor), "missing",
                            "no level, though the other arm names one",
                            "the level of " + quoted(factor) + " stated in both arms"});
      }
    }
  }
}

// The names an independent variable stands for: one, or several joined by '+' where combined.
std::set<std::string> declared_variables(const Manifest& manifest) {
  if (manifest.independent_variable == "none") return {};
  if (!manifest.combined) return {manifest.independent_variable};
  std::set<std::string> names;
  for (const std::string& part : base::split(manifest.independent_variable, '+')) {
    names.insert(std::string(base::trim(part)));
  }
  return names;
}

// An arm that changes its command declares "worker"; "executable" is the narrower word for it.
bool covers(const std::set<std::string>& declared, const std::string& variable) {
  if (declared.count(variable) > 0) return true;
  if (variable == "executable") return declared.count("worker") > 0;
  return variable == "reads" && (declared.count("worker") > 0 || declared.count("executable") > 0);
}

void check_variable(const Manifest& manifest, Mistakes& mistakes) {
  const std::string& variable = manifest.independent_variable;
  if (variable.empty()) return;
  const std::vector<ArmDifference> found = arm_differences(manifest.a, manifest.b);
  const std::set<std::string> declared = declared_variables(manifest);
  for (const ArmDifference& difference : found) {
    if (covers(declared, difference.variable)) continue;
    mistakes.push_back({difference.pointer, "too-many-differences",
                        difference.variable + " differs: A " + quoted(difference.a) + ", B " +
                            quoted(difference.b),
                        variable == "none"
                            ? "equal arms, or an independent_variable other than \"none\""
                            : "a difference in " + quoted(variable) +
                                  " only, or \"combined\": true with " +
                                  quoted(variable + "+" + difference.variable)});
  }
  for (const std::string& name : declared) {
    const bool differs = std::any_of(found.begin(), found.end(), [&](const ArmDifference& d) {
      return covers({name}, d.variable);
    });
    if (!differs) {
      mistakes.push_back({"/independent_variable", "no-difference",
                          quoted(name) + ", in which A and B do not differ",
                          "a variable in which the arms differ, or \"none\" for an A/A run"});
    }
  }
}

// Single requests alternate there, and such a program answers whole slots.
void check_interleaved(const Manifest& manifest, Mistakes& mistakes) {
  if (manifest.protocol.order != record::Order::kInterleaved) return;
  for (const Arm* arm : {&manifest.a, &manifest.b}) {
    if (!record::prints_own_samples(arm->reads)) continue;
    mistakes.push_back({"/protocol/order", "inconsistent",
                        "\"interleaved\" with a program of arm " + arm->id +
                            " that prints its own samples (" +
                            std::string(record::name(arm->reads)) + ")",
                        "\"AB/BA\", \"ABBA/BAAB\" or \"random\", or \"reads\": \"wall\""});
    return;
  }
}

// One process serves both arms there: only what it can switch between two slots may differ.
void check_shared_process(const Manifest& manifest, Mistakes& mistakes) {
  if (manifest.protocol.placement != record::Placement::kSharedProcess) return;
  for (const ArmDifference& difference : arm_differences(manifest.a, manifest.b)) {
    const bool is_factor = manifest.a.factors.count(difference.variable) > 0 ||
                           manifest.b.factors.count(difference.variable) > 0;
    if (is_factor) continue;
    mistakes.push_back({"/protocol/placement", "inconsistent",
                        "\"shared-process\", but the arms differ in " + difference.variable,
                        "arms that differ in hot factors only, or \"both-loaded\""});
  }
}

// Every slot starts a worker of its own there, and no other one is alive meanwhile.
void check_one_at_a_time(const Manifest& manifest, Mistakes& mistakes) {
  const record::Protocol& protocol = manifest.protocol;
  if (protocol.placement != record::Placement::kOneAtATime) return;
  if (protocol.workers == record::WorkerReuse::kReuse) {
    mistakes.push_back({"/protocol/workers", "inconsistent",
                        "\"reuse\" with the placement \"one-at-a-time\"",
                        "\"fresh-per-pass\": every slot then starts a worker of its own"});
  }
  if (protocol.order == record::Order::kInterleaved) {
    mistakes.push_back({"/protocol/order", "inconsistent",
                        "\"interleaved\" with the placement \"one-at-a-time\"",
                        "\"AB/BA\", \"ABBA/BAAB\" or \"random\", or another placement"});
  }
}

void check_programs(const Manifest& manifest, Mistakes& mistakes) {
  const record::Protocol& protocol = manifest.protocol;
  for (const Arm* arm : {&manifest.a, &manifest.b}) {
    if (arm->program.empty()) continue;
    if (protocol.cache == record::kFlushCaches) {
      mistakes.push_back({"/protocol/cache", "inconsistent",
                          quoted(protocol.cache) + " with a program in arm " + arm->id,
                          "\"warm\", or a worker that declares the capability \"flush\""});
    }
    if (protocol.placement == record::Placement::kSharedProcess) {
      mistakes.push_back({"/protocol/placement", "inconsistent",
                          "\"shared-process\" with a program in arm " + arm->id,
                          "\"both-loaded\", or a worker with hot factors"});
    }
  }
}

void check_labels(Manifest& manifest, Mistakes& mistakes) {
  if (!manifest.a.label.empty() && manifest.a.label == manifest.b.label) {
    mistakes.push_back({"/arms/B/label", "duplicate", quoted(manifest.b.label) + " in both arms",
                        "two labels that differ"});
  }
  const std::string& variable = manifest.independent_variable;
  for (Arm* arm : {&manifest.a, &manifest.b}) {
    if (!arm->label.empty()) continue;
    const std::string level = variable == "rev" ? arm->rev : level_of(*arm, variable);
    arm->label = level.empty() ? arm->id : level;
  }
  if (manifest.a.label == manifest.b.label) {
    manifest.a.label = "A";
    manifest.b.label = "B";
  }
}

void check_builds(const Manifest& manifest, Mistakes& mistakes) {
  const bool wants_build = !manifest.a.rev.empty() || !manifest.b.rev.empty();
  if (wants_build && manifest.build.commands.empty()) {
    mistakes.push_back({"/build", "missing", "arms named by \"rev\" without a build recipe",
                        "{\"commands\": [[\"cmake\", ...], ...], \"executable\": \"bin/worker\"}"});
  }
}

std::vector<std::string_view> workload_ids(const Manifest& manifest) {
  std::vector<std::string_view> ids;
  for (const record::Workload& workload : manifest.workloads) ids.push_back(workload.id);
  return ids;
}

void check_workload_name(const std::string& name, const std::string& pointer,
                         const Manifest& manifest, Mistakes& mistakes) {
  const auto ids = workload_ids(manifest);
  if (std::find(ids.begin(), ids.end(), name) == ids.end()) {
    mistakes.push_back({pointer, "unknown-name", "workload " + quoted(name), one_of(name, ids)});
  }
}

void check_later_names(const Manifest& manifest, const char* key, const base::Json& pass,
                       Mistakes& mistakes) {
  const std::string pointer = "/" + std::string(key);
  const base::Json* workloads = pass.find("workloads");
  for (std::size_t i = 0;
       workloads != nullptr && workloads->is_array() && i < workloads->as_array().size(); ++i) {
    const base::Json& name = workloads->as_array()[i];
    if (name.is_string()) {
      check_workload_name(name.as_string(), below(pointer + "/workloads", i), manifest, mistakes);
    }
  }
  const base::Json* arms = pass.find("arms");
  for (std::size_t i = 0; arms != nullptr && arms->is_array() && i < arms->as_array().size(); ++i) {
    const base::Json& name = arms->as_array()[i];
    if (name.is_string() && name.as_string() != "A" && name.as_string() != "B") {
      mistakes.push_back(
          {below(pointer + "/arms", i), "unknown-name", shown(name), "\"A\", \"B\""});
    }
  }
}

void check_hash_names(const Manifest& manifest, Mistakes& mistakes) {
  std::set<std::string> names = {"tree/A", "tree/B", "executable/A", "executable/B"};
  for (const record::FileDecl& file : manifest.files) names.insert("file/" + file.name);
  for (const record::Workload& workload : manifest.workloads) names.insert("input/" + workload.id);
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, digest] : manifest.fixed_hashes) {
    if (names.count(name) == 0) {
      mistakes.push_back(
          {below("/hashes", name), "unknown-name", quoted(name), one_of(name, known)});
    }
  }
}

}  // namespace

std::vector<ArmDifference> arm_differences(const Arm& a, const Arm& b) {
  std::vector<ArmDifference> found;
  std::set<std::string> factors;
  for (const Arm* arm : {&a, &b}) {
    for (const auto& [factor, level] : arm->factors) factors.insert(factor);
  }
  for (const std::string& factor : factors) {
    const std::string level_a = level_of(a, factor);
    const std::string level_b = level_of(b, factor);
    if (level_a != level_b) {
      found.push_back({factor, below("/arms/B/factors", factor), level_a, level_b});
    }
  }
  if (a.rev != b.rev) found.push_back({"rev", "/arms/B/rev", a.rev, b.rev});
  if (a.worker != b.worker) {
    found.push_back(
        {command_variable(a.worker, b.worker), "/arms/B/worker", words(a.worker), words(b.worker)});
  }
  if (a.program != b.program) {
    found.push_back({command_variable(a.program, b.program), "/arms/B/program", words(a.program),
                     words(b.program)});
  }
  if (a.reads != b.reads) {
    found.push_back({"reads", "/arms/B/reads", std::string(record::name(a.reads)),
                     std::string(record::name(b.reads))});
  }
  if (a.inject != b.inject) {
    found.push_back({"inject", "/arms/B/inject", a.inject.dump(), b.inject.dump()});
  }
  return found;
}

void check_arms(Manifest& manifest, Mistakes& mistakes) {
  check_unstated_levels(manifest, mistakes);
  check_variable(manifest, mistakes);
  check_interleaved(manifest, mistakes);
  check_shared_process(manifest, mistakes);
  check_one_at_a_time(manifest, mistakes);
  check_programs(manifest, mistakes);
  check_labels(manifest, mistakes);
  check_builds(manifest, mistakes);
}

void check_names(const Manifest& manifest, Mistakes& mistakes) {
  for (std::size_t i = 0; i < manifest.success.primary.size(); ++i) {
    check_workload_name(manifest.success.primary[i], below("/success/primary", i), manifest,
                        mistakes);
  }
  check_later_names(manifest, "traces", manifest.traces, mistakes);
  check_later_names(manifest, "graph_capture", manifest.graph_capture, mistakes);
  check_hash_names(manifest, mistakes);
}

// Warm-ups and requests of a slot that no sizing by the clock can go below. Where the manifest
// fixes the counts these are they.
std::int64_t least_of_a_slot(const record::SlotRule& slot) {
  const bool fixed =
      slot.min_requests == slot.max_requests && slot.min_ms == 0 && slot.warmup_ms == 0;
  return fixed ? slot.warmup_requests + slot.min_requests
               : std::min<std::int64_t>(1, slot.warmup_requests) +
                     std::min<std::int64_t>(5, slot.min_requests);
}

void check_size(const Manifest& manifest, Mistakes& mistakes) {
  const record::Protocol& protocol = manifest.protocol;
  const double slots = static_cast<double>(manifest.workloads.size()) *
                       (protocol.passes * protocol.blocks + (protocol.feasibility ? 1 : 0)) *
                       (protocol.order == record::Order::kAbbaBaab ? 4 : 2);
  const double requests = slots * static_cast<double>(least_of_a_slot(protocol.slot));
  if (requests > static_cast<double>(protocol.limits.max_requests)) {
    mistakes.push_back({"/protocol/limits/max_requests", "inconsistent",
                        std::to_string(protocol.limits.max_requests) + " for a plan of at least " +
                            base::Json(requests).canonical() + " requests",
                        "fewer passes, blocks or workloads, or a higher limit"});
  }
}

std::vector<std::string> notes_on(const Manifest& manifest) {
  std::vector<std::string> notes;
  const bool is_aa = manifest.independent_variable == "none";
  if (!is_aa && !manifest.evidence.present()) {
    notes.emplace_back("no evidence: the manifest names no profile that suggested this change");
  }
  if (manifest.combined) {
    notes.emplace_back("combined: several things differ, no effect can be given to one of them");
  }
  const bool wants_word = manifest.success.claim != record::Claim::kDisjointPassMeans;
  if (wants_word && manifest.protocol.passes < 6) {
    notes.push_back("passes: " + std::to_string(manifest.protocol.passes) +
                    " passes give no verdict but invalid; 6 are needed, 12 are the standard");
  }
  if (wants_word && !manifest.success.harm_limit) {
    notes.emplace_back("no harm_limit: \"equivalent\" cannot be concluded");
  }
  if (manifest.outputs.rule == record::OutputsRule::kNone) {
    notes.emplace_back("outputs: \"none\", the arms' results are not compared");
  }
  for (const record::FileDecl& file : manifest.files) {
    if (file.path.front() == '/') {
      notes.push_back("file " + file.name + ": an absolute path works on this machine only");
    }
  }
  return notes;
}

}  // namespace abba::manifest
