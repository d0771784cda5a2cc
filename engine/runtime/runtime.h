// A request in, answers out: the one entry to the engine for programs that know text and nothing of
// tensors. It tokenizes, packs rows into batches, runs the network and decodes, with the answers
// the original would give.
//   LoadedModel model(checkpoint_dir, cpu::make_backend(settings));
//   model.runtime.warm_up();
//   Response response = model.runtime.answer(request, &spans);
// One thread at a time. Memory is bounded: launch plans beyond kMostPlanTokens are given up, the
// one used longest ago first.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "engine/ops/backend.h"
#include "engine/runtime/request.h"
#include "engine/runtime/span_log.h"
#include "engine/text/tokenizer.h"

namespace abba::runtime {

// Temperatures instead of the checkpoint's for requests in a language, by lower-case primary
// subtag.
using LanguageTemperatures = std::map<std::string, text::Temperatures>;

// {"de": {"temperature": [1.2, 1.0, 1.1], "temperature_by_options": {"choice:2": 1.4}}, ...}.
// Throws Error(kBadInput, where, ...) for another form.
LanguageTemperatures read_language_temperatures(const base::Json& json, const std::string& where);

class Runtime {
 public:
  static constexpr std::int64_t kMostPlanTokens = 32768;  // padded tokens of all plans kept

  // `network` must outlive the runtime. Who else uses it and keeps its plans must allow enough
  // `most_plan_tokens` that none is given up. Throws Error(kBadInput) if the tokenizer has ids for
  // which the network has no embedding.
  Runtime(model::Network& network, text::Tokenizer tokenizer, LanguageTemperatures by_language = {},
          std::int64_t most_plan_tokens = kMostPlanTokens);

  // Throws Error(kBadInput) for a question that cannot be answered, naming it and what to do;
  // Error(kBroken) for results that are no finite numbers. Afterwards it answers the next request
  // as if that one had not been.
  Response answer(const Request& request, SpanLog* spans = nullptr);
  // Answers one question of each type, so that the first request finds everything in place.
  void warm_up();

  [[nodiscard]] const text::Tokenizer& tokenizer() const { return tokenizer_; }
  [[nodiscard]] const checkpoint::ModelConfig& config() const { return network_.config(); }
  // Padded tokens of the launch plans that are kept.
  [[nodiscard]] std::int64_t plan_tokens() const { return plan_tokens_; }

 private:
  void tokenize(const Request& request, Response& response) const;
  void run_batch(std::span<AnsweredQuestion> questions, SpanLog* spans);
  void decode(const Request& request, Response& response) const;
  [[nodiscard]] const text::Temperatures& temperatures_of(const std::string& language) const;
  model::LaunchPlan& plan_of(const model::Shape& shape);

  model::Network& network_;
  text::Tokenizer tokenizer_;
  text::Temperatures temperatures_;
  LanguageTemperatures by_language_;
  std::int64_t most_plan_tokens_;
  std::list<model::Shape> used_;  // shapes of the plans kept, the last one used first
  std::int64_t plan_tokens_ = 0;
};

// A checkpoint folder opened whole: weights, tokenizer and network on one backend.
struct LoadedModel {
  // Throws Error(kBadInput) naming the file that is missing or wrong.
  LoadedModel(const std::string& checkpoint_dir, std::unique_ptr<ops::Backend> on,
              LanguageTemperatures by_language = {});

  checkpoint::Checkpoint checkpoint;  // outlives the backend, which may read its tables in place
  std::unique_ptr<ops::Backend> backend;
  model::Network network;
  Runtime runtime;
};

}  // namespace abba::runtime
