#include "harness/manifest/canonical.h"

#include "engine/base/sha256.h"
#include "harness/manifest/parse.h"
#include "harness/record/names.h"

namespace abba::manifest {
namespace {

using base::Json;

Json list(const std::vector<std::string>& items) {
  Json array = Json::array();
  for (const std::string& item : items) array.push_back(item);
  return array;
}

Json list(const std::vector<int>& items) {
  Json array = Json::array();
  for (const int item : items) array.push_back(item);
  return array;
}

void put_text(Json& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

void put_list(Json& object, std::string_view key, const std::vector<std::string>& items) {
  if (!items.empty()) object.set(key, list(items));
}

void put_known(Json& object, std::string_view key, double value) {
  if (value >= 0) object.set(key, value);
}

void put_known(Json& object, std::string_view key, std::int64_t value) {
  if (value >= 0) object.set(key, value);
}

template <typename Enum>
Json named(Enum value) {
  return Json(record::name(value));
}

Json map_of(const std::map<std::string, std::string>& texts) {
  Json object = Json::object();
  for (const auto& [key, value] : texts) object.set(key, value);
  return object;
}

Json expand_arm(const record::Arm& arm) {
  Json object = Json::object({{"label", arm.label}});
  if (!arm.factors.empty()) object.set("factors", map_of(arm.factors));
  if (!arm.inject.is_null()) object.set("inject", arm.inject);
  put_text(object, "rev", arm.rev);
  put_list(object, "worker", arm.worker);
  if (!arm.program.empty()) {
    object.set("program", list(arm.program));
    object.set("reads", named(arm.reads));
  }
  return object;
}

Json expand_files(const std::vector<record::FileDecl>& files) {
  Json array = Json::array();
  for (const record::FileDecl& file : files) {
    Json object = Json::object({{"name", file.name}, {"path", file.path}});
    put_text(object, "sha256", file.sha256);
    if (!file.source_repo.empty()) {
      Json source = Json::object({{"repo", file.source_repo}});
      put_text(source, "revision", file.source_revision);
      object.set("source", source);
    }
    put_list(object, "make", file.make);
    array.push_back(object);
  }
  return array;
}

Json expand_workloads(const std::vector<record::Workload>& workloads) {
  Json array = Json::array();
  for (const record::Workload& workload : workloads) {
    Json object = Json::object({{"id", workload.id}, {"input", workload.input}});
    Json work = Json::object();
    put_known(work, "items", workload.work.items);
    put_known(work, "bytes", workload.work.bytes);
    put_known(work, "flops", workload.work.flops);
    if (!work.as_object().empty()) object.set("work", work);
    put_list(object, "boundaries", workload.boundaries);
    object.set("rotate", workload.rotate);
    array.push_back(object);
  }
  return array;
}

Json expand_time_limits(const record::Limits& limits) {
  Json object = Json::object({{"max_wall_s", limits.max_wall_s},
                              {"max_requests", limits.max_requests},
                              {"max_runs", limits.max_runs}});
  const record::Timeouts& timeouts = limits.timeouts;
  if (timeouts == record::Timeouts{}) return object;  // as in digests from before they existed
  Json seconds = Json::object({{"hello_s", timeouts.hello_s},
                               {"load_s", timeouts.load_s},
                               {"prepare_s", timeouts.prepare_s},
                               {"slot_s", timeouts.slot_s},
                               {"outputs_s", timeouts.outputs_s},
                               {"shutdown_s", timeouts.shutdown_s}});
  if (timeouts.graph_capture_s != record::Timeouts{}.graph_capture_s) {  // likewise
    seconds.set("graph_capture_s", timeouts.graph_capture_s);
  }
  object.set("timeouts", seconds);
  return object;
}

Json expand_protocol(const record::Protocol& protocol) {
  const record::SlotRule& slot = protocol.slot;
  Json object = Json::object({{"preset", named(protocol.preset)},
                              {"feasibility", protocol.feasibility},
                              {"passes", protocol.passes},
                              {"looks", list(protocol.looks)},
                              {"workers", named(protocol.workers)},
                              {"blocks", protocol.blocks},
                              {"order", named(protocol.order)},
                              {"slot", Json::object({{"warmup", slot.warmup_requests},
                                                     {"warmup_ms", slot.warmup_ms},
                                                     {"min_requests", slot.min_requests},
                                                     {"min_ms", slot.min_ms},
                                                     {"max_requests", slot.max_requests},
                                                     {"max_ms", slot.max_ms}})},
                              {"arrival", named(protocol.arrival)},
                              {"placement", named(protocol.placement)},
                              {"cache", protocol.cache},
                              {"readiness", protocol.readiness},
                              {"load", named(protocol.load)},
                              {"on_taint", named(protocol.on_taint)},
                              {"seed", protocol.seed},
                              {"idle_gap_ms", protocol.idle_gap_ms},
                              {"limits", expand_time_limits(protocol.limits)}});
  if (protocol.arrival == record::Arrival::kPaced) object.set("interval_ms", protocol.interval_ms);
  // As in digests from before the key existed.
  if (protocol.workload_order) object.set("workload_order", named(*protocol.workload_order));
  return object;
}

Json expand_limits(const std::map<std::string, record::StageLimit>& limits) {
  Json object = Json::object();
  for (const auto& [stage, limit] : limits) {
    Json one = Json::object();
    put_known(one, "nrms", limit.nrms);
    put_known(one, "max_abs", limit.max_abs);
    object.set(stage, one);
  }
  return object;
}

Json expand_outputs(const record::Outputs& outputs) {
  Json object = Json::object({{"rule", named(outputs.rule)}});
  if (!outputs.limits.empty()) object.set("limits", expand_limits(outputs.limits));
  put_list(object, "stages", outputs.stages);
  if (!outputs.reference.present()) return object;
  Json reference = Json::object();
  put_list(reference, "worker", outputs.reference.worker);
  if (outputs.reference.settings.is_object()) reference.set("settings", outputs.reference.settings);
  put_text(reference, "file", outputs.reference.file);
  if (!outputs.reference_limits.empty()) {
    reference.set("limits", expand_limits(outputs.reference_limits));
  }
  object.set("reference", reference);
  return object;
}

Json expand_success(const record::Success& success) {
  Json object = Json::object({{"claim", named(success.claim)}});
  put_list(object, "primary", success.primary);
  object.set("metric", success.metric);
  put_text(object, "boundary", success.boundary);
  object.set("at_least", success.at_least);
  if (success.harm_limit) object.set("harm_limit", *success.harm_limit);
  object.set("confidence", success.confidence);
  put_list(object, "controls", success.controls);
  return object;
}

void expand_words(const record::Manifest& manifest, Json& object) {
  put_text(object, "title", manifest.title);
  object.set("hypothesis", manifest.hypothesis);
  put_text(object, "rationale", manifest.rationale);
  object.set("prior_data", manifest.prior_data);
  if (manifest.evidence.present()) {
    Json evidence = Json::object({{"run", manifest.evidence.run}});
    put_text(evidence, "row", manifest.evidence.row);
    put_known(evidence, "share", manifest.evidence.share);
    object.set("evidence", evidence);
  }
  put_text(object, "reference_environment", manifest.reference_environment);
  object.set("independent_variable", manifest.independent_variable);
  object.set("combined", manifest.combined);
}

void expand_machine(const record::Manifest& manifest, Json& object) {
  Json device = Json::object({{"wanted", manifest.device.wanted}});
  put_text(device, "compute_capability", manifest.device.compute_capability);
  put_known(device, "sm_count", manifest.device.sm_count);
  put_known(device, "memory_bytes", manifest.device.memory_bytes);
  object.set("device", device);
  Json affinity = Json::object();
  if (!manifest.affinity.cpus.empty()) affinity.set("cpus", list(manifest.affinity.cpus));
  if (manifest.affinity.numa_node >= 0) affinity.set("numa_node", manifest.affinity.numa_node);
  affinity.set("bind_memory", manifest.affinity.bind_memory);
  object.set("affinity", affinity);
}

void expand_subjects(const record::Manifest& manifest, Json& object) {
  object.set("arms", Json::object({{"A", expand_arm(manifest.a)}, {"B", expand_arm(manifest.b)}}));
  put_list(object, "worker", manifest.worker);
  object.set("settings", manifest.settings);
  object.set("files", expand_files(manifest.files));
  if (!manifest.build.commands.empty()) {
    Json commands = Json::array();
    for (const auto& command : manifest.build.commands) commands.push_back(list(command));
    object.set("build",
               Json::object({{"commands", commands}, {"executable", manifest.build.executable}}));
  }
  object.set("hashes", map_of(manifest.fixed_hashes));
}

}  // namespace

Json expand(const record::Manifest& manifest) {
  Json object = Json::object({{"schema", kSchemaName}, {"id", manifest.id}});
  expand_words(manifest, object);
  expand_subjects(manifest, object);
  expand_machine(manifest, object);
  object.set("workloads", expand_workloads(manifest.workloads));
  object.set("protocol", expand_protocol(manifest.protocol));
  object.set("outputs", expand_outputs(manifest.outputs));
  object.set("success", expand_success(manifest.success));
  object.set("sources", list(manifest.sources));
  object.set("bind", manifest.bind_registered ? "registered" : "first-preflight");
  for (const auto& [key, value] : {std::pair<const char*, const Json*>{"traces", &manifest.traces},
                                   {"graph_capture", &manifest.graph_capture},
                                   {"gate", &manifest.gate}}) {
    if (value->is_object()) object.set(key, *value);
  }
  return object;
}

std::string digest(const record::Manifest& manifest) {
  return base::sha256_hex(expand(manifest).canonical());
}

}  // namespace abba::manifest
