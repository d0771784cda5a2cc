#include "harness/stats/measured.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/stats/estimators.h"

namespace abba::stats {
namespace {

bool whole(const record::RunRecord& run, const record::Pass& pass) {
  for (const record::Workload& workload : run.manifest.workloads) {
    const auto sound =
        std::count_if(pass.blocks.begin(), pass.blocks.end(), [&](const record::Block& block) {
          return block.workload == workload.id && !block.failed && !block.slots.empty();
        });
    if (sound == 0 || sound < planned_blocks(run, pass.index, workload.id)) {
      return false;
    }
  }
  return !run.manifest.workloads.empty();
}

// A clock that went back while the slot ran. Programs that give no starts leave them all zero.
bool clock_stepped(const record::Slot& slot) {
  for (std::size_t i = 1; i < slot.samples.size(); ++i) {
    const record::Sample& before = slot.samples[i - 1];
    const record::Sample& after = slot.samples[i];
    if ((after.seq > before.seq) != (after.start_ns >= before.start_ns) &&
        after.start_ns != before.start_ns) {
      return true;
    }
  }
  return slot.end_ns < slot.start_ns;
}

// seq -> value of the wanted metric or inner boundary; the outermost time lies in the sample.
std::map<std::int64_t, double> inner_values(const record::Slot& slot, const Measure& measure) {
  std::map<std::int64_t, double> values;
  if (measure.metric != "latency") {
    for (const record::Value& value : slot.values) {
      if (value.metric == measure.metric) {
        values[value.seq] = value.value;
      }
    }
    return values;
  }
  for (const record::Span& span : slot.spans) {
    if (span.seq >= 0 && span.name == measure.boundary) {
      values[span.seq] += static_cast<double>(span.duration_ns);
    }
  }
  return values;
}

}  // namespace

Measure primary_measure(const record::RunRecord& run) {
  Measure measure{run.manifest.success.metric, run.manifest.success.boundary, false};
  if (measure.metric.empty()) {
    measure.metric = "latency";
  }
  for (const auto& [arm, hello] : run.hello) {
    for (const record::MetricDecl& metric : hello.metrics) {
      if (metric.name == measure.metric && measure.metric != "latency") {
        measure.higher_is_better = metric.direction == record::Direction::kHigherIsBetter;
      }
    }
  }
  return measure;
}

int planned_blocks(const record::RunRecord& run, int index, const std::string& workload) {
  for (const record::PlannedPass& pass : run.plan.passes) {
    if (pass.phase == record::Phase::kMeasured && pass.index == index) {
      return static_cast<int>(
          std::count_if(pass.blocks.begin(), pass.blocks.end(),
                        [&](const auto& block) { return block.workload == workload; }));
    }
  }
  return run.manifest.protocol.blocks;
}

std::vector<const record::Pass*> counted_passes(const record::RunRecord& run) {
  std::vector<const record::Pass*> passes;
  for (const record::Pass& pass : run.passes) {
    if (pass.phase == record::Phase::kMeasured && !pass.superseded && whole(run, pass)) {
      passes.push_back(&pass);
    }
  }
  std::stable_sort(passes.begin(), passes.end(),
                   [](const auto* a, const auto* b) { return a->index < b->index; });
  return passes;
}

std::vector<const record::Block*> clean_blocks(const record::Pass& pass,
                                               const std::string& workload) {
  std::vector<const record::Block*> blocks;
  for (const record::Block& block : pass.blocks) {
    if (block.workload == workload && !block.failed && block.taint.empty()) {
      blocks.push_back(&block);
    }
  }
  return blocks;
}

bool interleaved(const record::RunRecord& run, const record::Block& block) {
  return run.manifest.protocol.order == record::Order::kInterleaved ||
         (block.slots.size() == 2 && block.slot_order.size() > 2);
}

SlotValues slot_values(const record::Slot& slot, const record::Block& block,
                       const Measure& measure) {
  const bool outermost = measure.metric == "latency" &&
                         (measure.boundary.empty() || measure.boundary == block.boundary);
  const auto inner = outermost ? std::map<std::int64_t, double>{} : inner_values(slot, measure);
  SlotValues result;
  std::vector<std::int64_t> seqs;
  seqs.reserve(slot.samples.size());
  result.values.reserve(slot.samples.size());
  for (const record::Sample& sample : slot.samples) {
    seqs.push_back(sample.seq);
    if (sample.warmup) {
      continue;
    }
    ++result.requests;
    if (sample.status != record::SampleStatus::kOk) {
      ++result.failures;
      continue;
    }
    double value = static_cast<double>(sample.duration_ns);
    if (!outermost) {
      const auto found = inner.find(sample.seq);
      if (found == inner.end()) {
        continue;  // inner spans are stored for the first requests of a slot only
      }
      value = found->second;
    }
    if (!std::isfinite(value) || value <= 0) {
      ++result.unusable;
      continue;
    }
    result.values.push_back(value);
    result.starts_ns.push_back(sample.start_ns);
    result.seqs.push_back(sample.seq);
  }
  result.clock_stepped = clock_stepped(slot);
  std::sort(seqs.begin(), seqs.end());
  result.duplicate_seq = std::adjacent_find(seqs.begin(), seqs.end()) != seqs.end();
  return result;
}

double slot_summary(const std::vector<double>& values, const Measure& measure) {
  return measure.higher_is_better ? std::log(mean(values)) : median_log(values);
}

}  // namespace abba::stats
