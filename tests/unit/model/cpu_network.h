// A network on the CPU backend and one run of it, for tests: everything a request gives, as plain
// values.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/backend.h"
#include "engine/model/network.h"

namespace abba::model::testing {

struct Outcome {
  std::vector<float> logits;   // [B, K]
  std::vector<float> actions;  // [B, actions]
  std::vector<float> hidden;   // [B, 1 + K, D]
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// The widest path of the machine.
inline std::unique_ptr<ops::Backend> cpu_backend(ops::Precision precision,
                                                 const ops::Choices& choices = {},
                                                 int threads = 1) {
  cpu::Settings settings;
  settings.precision = precision;
  settings.choices = choices;
  settings.threads = threads;
  return cpu::make_backend(settings);
}

inline Outcome run(Network& network, const Batch& batch) {
  LaunchPlan& plan = network.prepare(batch.shape);
  Decision decision = network.make_decision(plan);
  network.encode(plan, batch);
  network.decide(plan, decision);
  Outcome outcome{decision.logits, decision.actions, {}};
  outcome.hidden.resize(static_cast<std::size_t>(batch.shape.rows * (1 + batch.shape.options) *
                                                 network.config().hidden_size));
  network.read_hidden(plan, batch, outcome.hidden);
  return outcome;
}

}  // namespace abba::model::testing
