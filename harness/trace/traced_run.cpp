#include "harness/trace/traced_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/median.h"

namespace abba::trace {
namespace {

using record::Phase;

void add_durations(const record::Slot& slot, std::vector<double>& durations) {
  for (const record::Sample& sample : slot.samples) {
    if (!sample.warmup && sample.status == record::SampleStatus::kOk) {
      durations.push_back(static_cast<double>(sample.duration_ns));
    }
  }
}

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : base::median(std::move(values));
}

// By "A/WORKLOAD", of everything that was measured.
std::map<std::string, double> untraced_medians(const record::RunRecord& run) {
  std::map<std::string, std::vector<double>> durations;
  for (const record::Pass& pass : run.passes) {
    if (pass.phase != Phase::kMeasured || pass.superseded) {
      continue;
    }
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        if (!block.failed) {
          add_durations(slot, durations[slot.arm + "/" + block.workload]);
        }
      }
    }
  }
  std::map<std::string, double> medians;
  for (auto& [key, values] : durations) {
    medians[key] = median_or_zero(std::move(values));
  }
  return medians;
}

std::int64_t declared_launches(const record::RunRecord& run, const std::string& key) {
  const auto prepared = run.prepared.find(key);
  const base::Json* launches =
      prepared == run.prepared.end() ? nullptr : prepared->second.facts.find("launches");
  return launches != nullptr && launches->is_int() ? launches->as_int() : -1;
}

using Readings = std::map<std::pair<std::int64_t, std::string>, record::EnvironmentReading>;

// Of traces, by slot and key.
Readings readings_of(const record::RunRecord& run) {
  Readings readings;
  for (const auto& reading : run.environment) {
    if (reading.key.rfind("trace.", 0) == 0) {
      readings[{reading.slot, reading.key}] = reading;
    }
  }
  return readings;
}

TracedSlot traced_slot(const record::Block& block, const record::Slot& slot,
                       const Readings& readings) {
  const auto value = [&](const char* key) {
    const auto found = readings.find({slot.id, key});
    return found == readings.end() ? 0 : found->second.value;
  };
  const auto text = [&](const char* key) {
    const auto found = readings.find({slot.id, key});
    return found == readings.end() ? std::string() : found->second.text;
  };
  TracedSlot traced;
  traced.slot = &slot;
  traced.workload = block.workload;
  traced.boundary = block.boundary;
  const double requests = std::clamp(value(record::kTraceRequests), 0.0, 1e6);
  traced.windows = windows_of(slot, static_cast<std::size_t>(requests));
  traced.summary = summarize(slot.trace, traced.windows);
  std::vector<double> durations;
  add_durations(slot, durations);
  traced.traced_ns = median_or_zero(std::move(durations));
  traced.status = text(record::kTraceStatus);
  traced.mode = text(record::kTraceMode);
  traced.cupti = value(record::kTraceCupti);
  traced.dropped = value(record::kTraceDropped);
  traced.cut = value(record::kTraceCut);
  traced.strange = value(record::kTraceStrange);
  return traced;
}

bool is_chosen(const SlotChoice& choice, const record::Block& block, const record::Slot& slot) {
  return (choice.arm.empty() || choice.arm == slot.arm) &&
         (choice.workload.empty() || choice.workload == block.workload);
}

}  // namespace

std::vector<TracedSlot> traced_slots(const record::RunRecord& run, const SlotChoice& choice) {
  const Readings readings = readings_of(run);
  const auto untraced = untraced_medians(run);
  std::vector<TracedSlot> slots;
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        if (pass.phase != Phase::kTrace || pass.superseded || !is_chosen(choice, block, slot)) {
          continue;
        }
        TracedSlot traced = traced_slot(block, slot, readings);
        const std::string key = slot.arm + "/" + block.workload;
        const auto known = untraced.find(key);
        traced.untraced_ns = known == untraced.end() ? 0 : known->second;
        traced.declared_launches = declared_launches(run, key);
        slots.push_back(std::move(traced));
      }
    }
  }
  const auto place = [&](const TracedSlot& traced) {
    const auto& all = run.manifest.workloads;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& w) { return w.id == traced.workload; });
    return std::pair(found - all.begin(), traced.slot->arm);
  };
  std::stable_sort(slots.begin(), slots.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return slots;
}

}  // namespace abba::trace
