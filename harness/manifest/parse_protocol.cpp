// The protocol part: presets first, then what the manifest overrides.
#include <algorithm>

#include "harness/manifest/parts.h"

namespace abba::manifest {
namespace {

using record::Preset;
using record::Protocol;
using record::SlotRule;

constexpr double kUnboundedMs = 3'600'000;  // one hour: a bound that a fixed count never meets

SlotRule fixed_count(std::int64_t warmup, std::int64_t requests) {
  SlotRule slot;
  slot.warmup_requests = warmup;
  slot.warmup_ms = 0;
  slot.min_requests = requests;
  slot.max_requests = requests;
  slot.min_ms = 0;
  slot.max_ms = kUnboundedMs;
  return slot;
}

Protocol preset_defaults(Preset preset) {
  Protocol protocol;
  protocol.preset = preset;
  switch (preset) {
    case Preset::kTwoPass:
      protocol.passes = 2;
      protocol.workers = record::WorkerReuse::kReuse;
      protocol.blocks = 1;
      protocol.order = record::Order::kAbBa;
      protocol.slot = fixed_count(10, 50);
      break;
    case Preset::kStandard:
      break;  // what record::Protocol holds
    case Preset::kQuick:
      protocol.passes = 6;
      protocol.blocks = 2;
      break;
  }
  return protocol;
}

// Standard plans look at half and at the end, as long as a look has the six passes a verdict needs.
std::vector<int> default_looks(const Protocol& protocol) {
  if (protocol.preset == Preset::kStandard && protocol.passes >= 12) {
    return {protocol.passes / 2, protocol.passes};
  }
  return {protocol.passes};
}

void read_slot(const Section& protocol, SlotRule& slot) {
  const Section section(protocol.find("slot"), protocol.at("slot"), "slot", protocol.mistakes());
  if (section.find("requests") != nullptr) {
    std::int64_t requests = slot.min_requests;
    section.whole("requests", 1, 1'000'000, requests);
    slot = fixed_count(slot.warmup_requests, requests);
    for (const std::string_view other : {"min_requests", "max_requests", "min_ms", "max_ms"}) {
      if (section.find(other) != nullptr) {
        section.mistake(other, "inconsistent", "\"" + std::string(other) + "\" beside \"requests\"",
                        "either the fixed count \"requests\" or the bounds");
      }
    }
  }
  section.whole("warmup", 0, 1'000'000, slot.warmup_requests);
  section.number("warmup_ms", 0, kUnboundedMs, slot.warmup_ms);
  section.whole("min_requests", 1, 1'000'000, slot.min_requests);
  if (section.find("max_requests") == nullptr) {
    slot.max_requests = std::max(slot.max_requests, slot.min_requests);
  }
  section.whole("max_requests", 1, 1'000'000, slot.max_requests);
  section.number("min_ms", 0, kUnboundedMs, slot.min_ms);
  if (section.find("max_ms") == nullptr) slot.max_ms = std::max(slot.max_ms, slot.min_ms);
  section.number("max_ms", 1, kUnboundedMs, slot.max_ms);
  if (slot.max_requests < slot.min_requests) {
    section.mistake("max_requests", "inconsistent", std::to_string(slot.max_requests),
                    "at least min_requests, " + std::to_string(slot.min_requests));
  }
  if (slot.max_ms < slot.min_ms) {
    section.mistake("max_ms", "inconsistent", base::Json(slot.max_ms).canonical(),
                    "at least min_ms, " + base::Json(slot.min_ms).canonical());
  }
}

void read_looks(const Section& section, Protocol& protocol) {
  protocol.looks = default_looks(protocol);
  const base::Json* value = section.find("looks");
  if (value == nullptr) return;
  const std::string wanted = "pass counts in ascending order, the last one " +
                             std::to_string(protocol.passes) + " (the number of passes)";
  if (!value->is_array() || value->as_array().empty() || value->as_array().size() > 100) {
    section.mistake("looks", "wrong-type", shown(*value), wanted);
    return;
  }
  std::vector<int> looks;
  for (const base::Json& item : value->as_array()) {
    std::int64_t look = 0;
    if (!whole_number(item, look) || look < 1 || look > protocol.passes ||
        (!looks.empty() && look <= looks.back())) {
      section.mistake("looks", "inconsistent", shown(*value), wanted);
      return;
    }
    looks.push_back(static_cast<int>(look));
  }
  if (looks.back() != protocol.passes) {
    section.mistake("looks", "inconsistent", shown(*value), wanted);
    return;
  }
  protocol.looks = looks;
}

void read_seed(const Section& section, Protocol& protocol) {
  std::int64_t seed = static_cast<std::int64_t>(protocol.seed);
  section.whole("seed", 0, std::int64_t{1} << 53U, seed);
  protocol.seed = static_cast<std::uint64_t>(seed);
}

// Absent where it says what the plan does anyway, as in manifests from before the key existed.
void read_workload_order(const Section& section, Protocol& protocol) {
  const record::WorkloadOrder usual = record::default_workload_order(protocol);
  record::WorkloadOrder order = usual;
  section.choice("workload_order", order);
  if (order != usual) protocol.workload_order = order;
}

void read_arrival(const Section& section, Protocol& protocol) {
  section.choice("arrival", protocol.arrival);
  section.number("interval_ms", 0.001, 3'600'000, protocol.interval_ms);
  const bool paced = protocol.arrival == record::Arrival::kPaced;
  if (paced != (section.find("interval_ms") != nullptr)) {
    section.mistake("interval_ms", paced ? "missing" : "inconsistent",
                    paced ? "paced arrival without an interval" : "an interval without pacing",
                    "interval_ms exactly if arrival is \"paced\"");
  }
}

void read_timeouts(const Section& limits, record::Timeouts& timeouts) {
  constexpr double kShortestS = 0.01;
  constexpr double kLongestS = 86'400;
  const Section section(limits.find("timeouts"), limits.at("timeouts"), "timeouts",
                        limits.mistakes());
  section.number("hello_s", kShortestS, kLongestS, timeouts.hello_s);
  section.number("load_s", kShortestS, kLongestS, timeouts.load_s);
  section.number("prepare_s", kShortestS, kLongestS, timeouts.prepare_s);
  section.number("slot_s", kShortestS, kLongestS, timeouts.slot_s);
  section.number("outputs_s", kShortestS, kLongestS, timeouts.outputs_s);
  section.number("graph_capture_s", kShortestS, kLongestS, timeouts.graph_capture_s);
  section.number("shutdown_s", kShortestS, kLongestS, timeouts.shutdown_s);
}

}  // namespace

void read_protocol(const Section& top, record::Manifest& manifest) {
  const Section section(top.find("protocol"), top.at("protocol"), "protocol", top.mistakes());
  Preset preset = Preset::kStandard;
  section.choice("preset", preset);
  Protocol& protocol = manifest.protocol;
  protocol = preset_defaults(preset);
  section.flag("feasibility", protocol.feasibility);
  section.whole("passes", 1, 1000, protocol.passes);
  section.whole("blocks", 1, 1000, protocol.blocks);
  section.choice("workers", protocol.workers);
  section.choice("order", protocol.order);
  read_workload_order(section, protocol);
  section.choice("placement", protocol.placement);
  const std::string* cache = section.choice_word("cache", {"warm", "flush-l2"});
  if (cache != nullptr) protocol.cache = *cache;
  section.text("readiness", TextRule::kLine, protocol.readiness);
  section.choice("load", protocol.load);
  section.choice("on_taint", protocol.on_taint);
  section.number("idle_gap_ms", 0, 60'000, protocol.idle_gap_ms);
  read_seed(section, protocol);
  read_arrival(section, protocol);
  read_looks(section, protocol);
  read_slot(section, protocol.slot);
  const Section limits(section.find("limits"), section.at("limits"), "limits", top.mistakes());
  limits.number("max_wall_s", 1, 30 * 86'400, protocol.limits.max_wall_s);
  limits.whole("max_requests", 1, 1'000'000'000, protocol.limits.max_requests);
  limits.whole("max_runs", 0, 1'000'000, protocol.limits.max_runs);
  read_timeouts(limits, protocol.limits.timeouts);
}

}  // namespace abba::manifest
