#include "engine/runtime/runtime.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/runtime/batching.h"

namespace abba::runtime {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

model::Row model_row(const text::PromptRow& row) {
  return {row.ids, static_cast<std::int32_t>(row.type), row.markers};
}

// "pt-BR" to "pt".
std::string primary_subtag(const std::string& language) {
  std::string subtag = language.substr(0, language.find('-'));
  for (char& c : subtag) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return subtag;
}

void keep_logits(const model::Decision& decision, const model::Shape& shape, std::int64_t actions,
                 std::span<AnsweredQuestion> questions) {
  for (std::size_t b = 0; b < questions.size(); ++b) {
    const float* logits = decision.logits.data() + b * at(shape.options);
    const float* action_logits = decision.actions.data() + b * at(actions);
    questions[b].logits.assign(logits, logits + questions[b].row.markers.size());
    questions[b].action_logits.assign(action_logits, action_logits + actions);
  }
}

// One question of each type: what the first request of a program should not have to wait for.
Request warm_up_request() {
  Request request;
  request.state = text::PyValue::of_string("I was charged twice. Please refund the duplicate.");
  request.questions = text::parse_python_json(
      R"({"team": {"type": "choice", "instructions": "Which team?",
                   "criteria": {"billing": "charges and refunds", "technical": null}},
          "urgency": {"type": "score", "instructions": "How urgent?",
                      "criteria": ["can wait", "soon", "now"]},
          "refund": {"type": "noul", "instructions": "Does the customer ask for a refund?"}})",
      "warm-up");
  return request;
}

}  // namespace

Runtime::Runtime(model::Network& network, text::Tokenizer tokenizer,
                 LanguageTemperatures by_language, std::int64_t most_plan_tokens)
    : network_(network),
      tokenizer_(std::move(tokenizer)),
      temperatures_(text::Temperatures::of(network.config())),
      by_language_(std::move(by_language)),
      most_plan_tokens_(most_plan_tokens) {
  if (tokenizer_.id_limit() > network_.config().vocab_size) {
    throw base::Error(base::ErrorCode::kBadInput, "tokenizer",
                      "has ids up to " + std::to_string(tokenizer_.id_limit() - 1) +
                          ", but the checkpoint embeds " +
                          std::to_string(network_.config().vocab_size) +
                          "; use the tokenizer that belongs to the checkpoint");
  }
}

Response Runtime::answer(const Request& request, SpanLog* spans) {
  const ScopedSpan whole(spans, kEngine);
  Response response;
  {
    const ScopedSpan span(spans, kTokenize);
    tokenize(request, response);
  }
  std::vector<std::int64_t> lengths;
  for (const AnsweredQuestion& question : response.answered) {
    lengths.push_back(static_cast<std::int64_t>(question.row.ids.size()));
  }
  std::span<AnsweredQuestion> rest(response.answered);
  std::span<const std::int64_t> rest_lengths(lengths);
  while (!rest.empty()) {
    const std::size_t rows = next_batch_rows(rest_lengths, config().max_positions);
    run_batch(rest.first(rows), spans);
    rest = rest.subspan(rows);
    rest_lengths = rest_lengths.subspan(rows);
  }
  const ScopedSpan span(spans, kDecode);
  decode(request, response);
  return response;
}

void Runtime::tokenize(const Request& request, Response& response) const {
  std::vector<text::Question> questions = text::parse_questions(request.questions);
  if (questions.empty()) return;
  text::PromptBudget budget = text::PromptBudget::of(config());
  budget.max_len = request.max_len.value_or(budget.max_len);
  budget.head_max_len = request.head_max_len.value_or(budget.head_max_len);
  const text::EncodedState state = text::encode_state(tokenizer_, request.state);
  for (text::Question& question : questions) {
    text::PromptRow row = text::build_row(tokenizer_, state, question, budget);
    response.answered.push_back({std::move(question), std::move(row), {}, {}, {}});
  }
}

void Runtime::run_batch(std::span<AnsweredQuestion> questions, SpanLog* spans) {
  const ScopedSpan whole(spans, kModel);
  std::optional<ScopedSpan> encoder(std::in_place, spans, kEncoder);
  model::Batch batch;
  model::LaunchPlan* plan = nullptr;
  {
    const ScopedSpan span(spans, kPack);
    std::vector<model::Row> rows;
    for (const AnsweredQuestion& question : questions) rows.push_back(model_row(question.row));
    const model::Shape shape = padded_shape(rows, config());
    plan = &plan_of(shape);
    batch = model::make_batch(rows, config().pad_token_id, shape);
  }
  {
    const ScopedSpan span(spans, kUpload);
    network_.upload(*plan, batch);
  }
  {
    const ScopedSpan span(spans, kEncode);
    network_.run_encoder(*plan);
  }
  encoder.reset();
  const ScopedSpan head(spans, kHead);
  model::Decision decision = network_.make_decision(*plan);
  {
    const ScopedSpan span(spans, kScore);
    network_.score(*plan);
  }
  const ScopedSpan span(spans, kReadback);
  network_.read_decision(*plan, decision);
  keep_logits(decision, plan->shape, config().action_count, questions);
}

void Runtime::decode(const Request& request, Response& response) const {
  const text::Temperatures& temperatures = temperatures_of(request.language);
  for (AnsweredQuestion& question : response.answered) {
    question.answer = text::decode_answer(question.question, question.logits,
                                          question.action_logits, temperatures);
  }
}

const text::Temperatures& Runtime::temperatures_of(const std::string& language) const {
  if (language.empty()) return temperatures_;
  const auto found = by_language_.find(primary_subtag(language));
  return found == by_language_.end() ? temperatures_ : found->second;
}

// Room is made before the plan is: a shape that is larger than everything allowed stands alone.
model::LaunchPlan& Runtime::plan_of(const model::Shape& shape) {
  const auto found = std::find(used_.begin(), used_.end(), shape);
  if (found != used_.end()) {
    used_.splice(used_.begin(), used_, found);
    return network_.prepare(shape);
  }
  const std::int64_t tokens = shape.rows * shape.tokens;
  while (!used_.empty() && plan_tokens_ + tokens > most_plan_tokens_) {
    const model::Shape last = used_.back();
    used_.pop_back();
    plan_tokens_ -= last.rows * last.tokens;
    network_.forget(last);
  }
  model::LaunchPlan& plan = network_.prepare(shape);
  used_.push_front(shape);
  plan_tokens_ += tokens;
  return plan;
}

void Runtime::warm_up() {
  const Request request = warm_up_request();
  answer(request);
  for (const auto& [id, definition] : request.questions.members) {
    Request single = request;
    single.questions = text::PyValue::dict();
    single.questions.add(id, definition);
    answer(single);
  }
}

LoadedModel::LoadedModel(const std::string& checkpoint_dir, std::unique_ptr<ops::Backend> on,
                         LanguageTemperatures by_language)
    : checkpoint(checkpoint_dir),
      backend(std::move(on)),
      network(checkpoint.config, checkpoint.file, *backend),
      runtime(network, text::Tokenizer::read(checkpoint_dir + "/tokenizer"),
              std::move(by_language)) {}

}  // namespace abba::runtime
