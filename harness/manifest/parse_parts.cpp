// Everything a manifest declares besides its protocol: arms, files, machine, workloads, outputs,
// success.
#include <set>

#include "harness/manifest/parts.h"

namespace abba::manifest {
namespace {

void read_arm(const base::Json* value, const std::string& pointer, record::Arm& arm,
              Mistakes& mistakes) {
  const Section section(value, pointer, "arm", mistakes);
  section.text("label", TextRule::kLine, arm.label);
  section.factor_levels("factors", arm.factors);
  section.text("rev", TextRule::kLine, arm.rev);
  section.command("worker", arm.worker);
  section.command("program", arm.program);
  const std::string* reads =
      section.choice_word("reads", {"wall", "nvbench", "google-benchmark", "lines"});
  if (reads != nullptr) arm.reads = *record::parse_name<record::Reads>(*reads);
  if (arm.program.empty() && reads != nullptr) {
    section.mistake("reads", "inconsistent", "\"reads\" without \"program\"",
                    "\"reads\" beside a \"program\" only");
  }
  section.free_object("inject", arm.inject);
  if (!arm.program.empty() && reads == nullptr) arm.reads = record::Reads::kWall;
  const int ways = int{!arm.program.empty()} + int{!arm.worker.empty()} + int{!arm.rev.empty()};
  if (ways > 1) {
    mistakes.push_back(
        {pointer, "inconsistent", "more than one of rev, worker, program", "at most one of them"});
  }
}

bool within(const base::Json& array, std::size_t most, const std::string& pointer,
            const std::string& what, Mistakes& mistakes) {
  if (!array.is_array()) {
    mistakes.push_back({pointer, "wrong-type", shown(array), "an array of " + what});
    return false;
  }
  if (array.as_array().size() > most) {
    mistakes.push_back({pointer, "out-of-range",
                        std::to_string(array.as_array().size()) + " " + what,
                        "at most " + std::to_string(most)});
    return false;
  }
  return true;
}

record::FileDecl read_file_entry(const base::Json& value, const std::string& pointer,
                                 Mistakes& mistakes) {
  record::FileDecl file;
  const Section section(&value, pointer, "file", mistakes);
  section.text("name", TextRule::kId, file.name);
  section.text("path", TextRule::kLine, file.path);
  section.command("make", file.make);
  section.text("sha256", TextRule::kLine, file.sha256);
  if (!file.sha256.empty() && !is_sha256(file.sha256)) {
    section.mistake("sha256", "bad-value", "\"" + file.sha256 + "\"",
                    "64 lower-case hexadecimal digits");
  }
  const Section source(section.find("source"), section.at("source"), "file_source", mistakes);
  source.text("repo", TextRule::kLine, file.source_repo);
  source.text("revision", TextRule::kLine, file.source_revision);
  return file;
}

record::Workload read_workload(const base::Json& value, const std::string& pointer,
                               Mistakes& mistakes) {
  record::Workload workload;
  const Section section(&value, pointer, "workload", mistakes);
  section.text("id", TextRule::kId, workload.id);
  section.texts("boundaries", TextRule::kName, workload.boundaries);
  section.whole("rotate", 0, 10'000, workload.rotate);
  const Section work(section.find("work"), section.at("work"), "work", mistakes);
  work.number("items", 0, 1e18, workload.work.items);
  work.number("bytes", 0, 1e18, workload.work.bytes);
  work.number("flops", 0, 1e21, workload.work.flops);
  const base::Json* input = section.find("input");
  if (input == nullptr) return workload;
  workload.input = *input;
  const bool empty = input->is_null() || (input->is_string() && input->as_string().empty()) ||
                     (input->is_object() && input->as_object().empty()) ||
                     (input->is_array() && input->as_array().empty());
  if (empty) {
    section.mistake("input", "bad-value", shown(*input),
                    "what the worker needs to prepare this workload, not empty");
  }
  const base::Json* file = input->find("file");
  if (file != nullptr && !file->is_string()) {
    mistakes.push_back({below(section.at("input"), "file"), "wrong-type", shown(*file),
                        "a path relative to the project"});
  }
  return workload;
}

template <typename T>
void refuse_duplicates(const std::vector<T>& items, const std::string& pointer, std::string T::*id,
                       const std::string& key, Mistakes& mistakes) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& value = items[i].*id;
    if (!value.empty() && !seen.insert(value).second) {
      mistakes.push_back({below(below(pointer, i), key), "duplicate", "\"" + value + "\" again",
                          "each " + key + " once"});
    }
  }
}

void read_stage_limits(const Section& section, std::map<std::string, record::StageLimit>& target) {
  const base::Json* value = section.find("limits");
  if (value == nullptr) return;
  if (!value->is_object()) {
    section.mistake("limits", "wrong-type", shown(*value), "an object {stage: {nrms, max_abs}}");
    return;
  }
  for (const auto& [stage, limit] : value->as_object()) {
    const std::string pointer = below(section.at("limits"), stage);
    const Section one(&limit, pointer, "stage_limit", section.mistakes());
    record::StageLimit& into = target[stage];
    one.number("nrms", 0, 1e6, into.nrms);
    one.number("max_abs", 0, 1e30, into.max_abs);
    if (limit.is_object() && limit.as_object().empty()) {
      section.mistakes().push_back({pointer, "missing", "{}", "nrms, max_abs or both"});
    }
  }
}

}  // namespace

void read_arms(const Section& top, record::Manifest& manifest) {
  manifest.a.id = "A";
  manifest.b.id = "B";
  const Section arms(top.find("arms"), top.at("arms"), "arms", top.mistakes());
  read_arm(arms.find("A"), arms.at("A"), manifest.a, top.mistakes());
  read_arm(arms.find("B"), arms.at("B"), manifest.b, top.mistakes());
}

void read_files(const Section& top, record::Manifest& manifest) {
  const base::Json* value = top.find("files");
  if (value == nullptr || !within(*value, 200, top.at("files"), "files", top.mistakes())) return;
  for (std::size_t i = 0; i < value->as_array().size(); ++i) {
    manifest.files.push_back(
        read_file_entry(value->as_array()[i], below(top.at("files"), i), top.mistakes()));
  }
  refuse_duplicates(manifest.files, top.at("files"), &record::FileDecl::name, "name",
                    top.mistakes());
}

void read_build(const Section& top, record::Manifest& manifest) {
  const Section build(top.find("build"), top.at("build"), "build", top.mistakes());
  build.text("executable", TextRule::kLine, manifest.build.executable);
  const base::Json* commands = build.find("commands");
  if (commands == nullptr ||
      !within(*commands, 100, build.at("commands"), "commands", top.mistakes())) {
    return;
  }
  for (std::size_t i = 0; i < commands->as_array().size(); ++i) {
    const base::Json one = base::Json::object({{"commands", commands->as_array()[i]}});
    Mistakes inner;
    const Section entry(&one, "", "build", inner);
    std::vector<std::string> words;
    entry.command("commands", words);
    manifest.build.commands.push_back(words);
    if (words.empty()) {
      top.mistakes().push_back({below(build.at("commands"), i), "wrong-type",
                                shown(commands->as_array()[i]), "a command as an array of words"});
    }
  }
}

void read_device(const Section& top, record::Manifest& manifest) {
  const base::Json* value = top.find("device");
  if (value == nullptr) return;
  record::DeviceWish& device = manifest.device;
  if (value->is_string()) {
    device.wanted = value->as_string();
  } else {
    const Section section(value, top.at("device"), "device", top.mistakes());
    section.text("wanted", TextRule::kLine, device.wanted);
    section.text("compute_capability", TextRule::kName, device.compute_capability);
    section.whole("sm_count", 1, 100'000, device.sm_count);
    section.whole("memory_bytes", 1, std::int64_t{1} << 50U, device.memory_bytes);
  }
  const bool known = device.wanted == "none" || device.wanted == "any" ||
                     device.wanted.rfind("GPU-", 0) == 0 || device.wanted.rfind("MIG-", 0) == 0;
  if (!known) {
    top.mistake("device", "bad-value", shown(*value), "\"none\", \"any\" or a UUID \"GPU-...\"");
  }
}

void read_affinity(const Section& top, record::Manifest& manifest) {
  const Section section(top.find("affinity"), top.at("affinity"), "affinity", top.mistakes());
  section.whole("numa_node", 0, 1023, manifest.affinity.numa_node);
  section.flag("bind_memory", manifest.affinity.bind_memory);
  const base::Json* cpus = section.find("cpus");
  if (cpus == nullptr || !within(*cpus, 4096, section.at("cpus"), "CPU numbers", top.mistakes())) {
    return;
  }
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < cpus->as_array().size(); ++i) {
    const base::Json& item = cpus->as_array()[i];
    std::int64_t cpu = -1;
    if (!whole_number(item, cpu) || cpu < 0 || cpu > 4095) {
      top.mistakes().push_back({below(section.at("cpus"), i), "out-of-range", shown(item),
                                "a CPU number from 0 to 4095"});
    } else if (!seen.insert(cpu).second) {
      top.mistakes().push_back(
          {below(section.at("cpus"), i), "duplicate", shown(item), "each CPU once"});
    }
  }
  manifest.affinity.cpus.assign(seen.begin(), seen.end());
}

void read_workloads(const Section& top, record::Manifest& manifest) {
  const base::Json* value = top.find("workloads");
  if (value == nullptr || !within(*value, 200, top.at("workloads"), "workloads", top.mistakes())) {
    return;
  }
  if (value->as_array().empty()) {
    top.mistake("workloads", "missing", "no workload", "at least one {\"id\", \"input\"}");
  }
  for (std::size_t i = 0; i < value->as_array().size(); ++i) {
    manifest.workloads.push_back(
        read_workload(value->as_array()[i], below(top.at("workloads"), i), top.mistakes()));
  }
  refuse_duplicates(manifest.workloads, top.at("workloads"), &record::Workload::id, "id",
                    top.mistakes());
}

void read_outputs(const Section& top, record::Manifest& manifest) {
  record::Outputs& outputs = manifest.outputs;
  outputs.rule = record::OutputsRule::kBitwise;
  const base::Json* value = top.find("outputs");
  if (value == nullptr) return;
  if (value->is_string()) {
    top.choice("outputs", outputs.rule);
    if (outputs.rule == record::OutputsRule::kLimits) {
      top.mistake("outputs", "missing", "\"limits\"", "{\"rule\": \"limits\", \"limits\": {...}}");
    }
    return;
  }
  const Section section(value, top.at("outputs"), "outputs", top.mistakes());
  section.choice("rule", outputs.rule);
  section.texts("stages", TextRule::kName, outputs.stages);
  read_stage_limits(section, outputs.limits);
  if ((outputs.rule == record::OutputsRule::kLimits) == outputs.limits.empty()) {
    section.mistake("limits", outputs.limits.empty() ? "missing" : "inconsistent",
                    outputs.limits.empty() ? "no limits" : "limits beside another rule",
                    "limits exactly if \"rule\" is \"limits\"");
  }
  if (section.find("reference") == nullptr) return;
  const Section reference(section.find("reference"), section.at("reference"), "reference",
                          top.mistakes());
  outputs.reference.settings = base::Json();
  reference.command("worker", outputs.reference.worker);
  reference.free_object("settings", outputs.reference.settings);
  reference.text("file", TextRule::kLine, outputs.reference.file);
  read_stage_limits(reference, outputs.reference_limits);
  if (!outputs.reference.worker.empty() && outputs.reference.settings.is_null()) {
    outputs.reference.settings = base::Json::object();
  }
  if (reference.is_object() && outputs.reference_limits.empty()) {
    reference.mistake("limits", "missing", "a reference without limits, which no result could fail",
                      "{\"STAGE\": {\"nrms\": 0.005}} for the stages to compare");
  }
  if (reference.is_object() &&
      outputs.reference.settings.is_object() == !outputs.reference.file.empty()) {
    top.mistakes().push_back(
        {section.at("reference"), "inconsistent",
         outputs.reference.file.empty() ? "neither settings nor file" : "both a worker and a file",
         "{\"settings\": {...}} (with \"worker\" if another), or {\"file\"}"});
  }
}

void read_success(const Section& top, record::Manifest& manifest) {
  record::Success& success = manifest.success;
  success.claim = manifest.protocol.preset == record::Preset::kTwoPass
                      ? record::Claim::kDisjointPassMeans
                      : record::Claim::kFaster;
  const Section section(top.find("success"), top.at("success"), "success", top.mistakes());
  section.choice("claim", success.claim);
  section.texts("primary", TextRule::kId, success.primary);
  section.text("metric", TextRule::kName, success.metric);
  section.text("boundary", TextRule::kName, success.boundary);
  section.number("at_least", 0, 1, success.at_least);
  section.number("confidence", 0.5, 0.9999, success.confidence);
  section.texts("controls", TextRule::kName, success.controls);
  if (section.find("harm_limit") != nullptr) {
    double limit = -1;
    section.number("harm_limit", 1e-6, 1, limit);
    if (limit > 0) success.harm_limit = limit;
  }
  if (success.claim == record::Claim::kEquivalent && !success.harm_limit &&
      section.find("harm_limit") == nullptr) {
    section.mistake("harm_limit", "missing", "claim \"equivalent\" without a limit",
                    "the largest change called harmless, for example 0.02");
  }
}

void read_later_passes(const Section& top, record::Manifest& manifest) {
  for (const std::string_view key : {"traces", "graph_capture"}) {
    const Section section(top.find(key), top.at(key), key, top.mistakes());
    std::vector<std::string> arms;
    std::vector<std::string> workloads;
    section.texts("arms", TextRule::kName, arms);
    section.texts("workloads", TextRule::kId, workloads);
    if (key == "traces") {
      record::SlotCounts counts;
      section.whole("warmup", 0, record::kMostTraceRequests, counts.warmup);
      section.whole("requests", 1, record::kMostTraceRequests, counts.requests);
    }
  }
  top.free_object("traces", manifest.traces);
  top.free_object("graph_capture", manifest.graph_capture);
  top.free_object("gate", manifest.gate);
}

void read_hashes(const Section& top, record::Manifest& manifest) {
  base::Json hashes = base::Json::object();
  top.free_object("hashes", hashes);
  for (const auto& [name, value] : hashes.as_object()) {
    if (value.is_string() && is_sha256(value.as_string())) {
      manifest.fixed_hashes[name] = value.as_string();
    } else {
      top.mistakes().push_back({below(top.at("hashes"), name), "bad-value", shown(value),
                                "64 lower-case hexadecimal digits"});
    }
  }
}

}  // namespace abba::manifest
