#include "experiments/laya/text_worker.h"

#include <limits>

#include "engine/base/error.h"
#include "engine/runtime/batching.h"
#include "experiments/laya/output_stages.h"

namespace abba::laya {

using abba_worker::Json;
using abba_worker::Refused;
using abba_worker::Tensor;

namespace {

constexpr const char* kModelBoundary = runtime::kModel;
constexpr const char* kEncoderBoundary = runtime::kEncoder;

// The rows of a response in the batches that the runtime cut them into.
std::vector<model::Batch> batches_of(const runtime::Response& response,
                                     const checkpoint::ModelConfig& config) {
  std::vector<model::Row> rows;
  std::vector<std::int64_t> lengths;
  for (const runtime::AnsweredQuestion& answered : response.answered) {
    rows.push_back(
        {answered.row.ids, static_cast<std::int32_t>(answered.row.type), answered.row.markers});
    lengths.push_back(static_cast<std::int64_t>(answered.row.ids.size()));
  }
  std::vector<model::Batch> batches;
  for (std::size_t first = 0; first < rows.size();) {
    const std::size_t count =
        runtime::next_batch_rows(std::span(lengths).subspan(first), config.max_positions);
    const std::span<const model::Row> part(rows.data() + first, count);
    batches.push_back(
        model::make_batch(part, config.pad_token_id, runtime::padded_shape(part, config)));
    first += count;
  }
  return batches;
}

// What the heads read of each row, run again outside of any clock: row 0 and the markers.
std::vector<float> consumed_rows(const runtime::Response& response, model::Network& network) {
  const std::int64_t width = network.config().hidden_size;
  std::vector<float> all;
  for (const model::Batch& batch : batches_of(response, network.config())) {
    model::LaunchPlan& plan = network.prepare(batch.shape);
    network.encode(plan, batch);
    const std::int64_t slots = 1 + batch.shape.options;
    std::vector<float> rows(static_cast<std::size_t>(batch.shape.rows * slots * width));
    network.read_hidden(plan, batch, rows);
    for (std::int64_t b = 0; b < batch.shape.rows; ++b) {
      const auto begin = rows.begin() + b * slots * width;
      all.insert(all.end(), begin, begin + (1 + batch.counts[static_cast<std::size_t>(b)]) * width);
    }
  }
  return all;
}

double expected_option(const runtime::AnsweredQuestion& answered) {
  double value = 0;
  for (std::size_t i = 0; i < answered.answer.exact.size(); ++i) {
    value += static_cast<double>(i) * double{answered.answer.exact[i]};
  }
  return value;
}

}  // namespace

abba_worker::Description TextWorker::describe() {
  abba_worker::Description description = LayaWorker::describe();
  description.boundaries = {{kModelBoundary, kEngineBoundary},  // the default
                            {kEncoderBoundary, kModelBoundary},
                            {kEngineBoundary, kHttpBoundary},
                            {kHttpBoundary}};
  description.workload_form.set(
      "input", description.workload_form["input"].text() +
                   ", at boundary model or encoder; {\"request\": NAME} or {\"request\": "
                   "{\"state\", \"questions\"}}, at boundary http or engine");
  return description;
}

void TextWorker::load(const abba_worker::LoadRequest& request, abba_worker::LoadReply& effective) {
  selected_ = nullptr;
  texts_.clear();
  models_.clear();  // before the networks they use
  files_ = request.files;
  LayaWorker::load(request, effective);
}

TextWorker::TextModel& TextWorker::text_model(const std::string& checkpoint) {
  const auto found = models_.find(checkpoint);
  if (found != models_.end()) return found->second;
  model::Network& network = loaded_network(checkpoint);
  TextModel made{checkpoint, nullptr, nullptr};
  // Workloads of token rows keep plans of the same network: none is given up.
  made.runtime = std::make_unique<runtime::Runtime>(
      network, text::Tokenizer::read(files_.at(checkpoint) + "/tokenizer"),
      runtime::LanguageTemperatures{}, std::numeric_limits<std::int64_t>::max());
  return models_.emplace(checkpoint, std::move(made)).first->second;
}

abba_worker::Prepared TextWorker::prepare_text(const abba_worker::Workload& workload,
                                               const base::Json& input) {
  if (workload.rotate > 0) {
    throw Refused("bad_input", "a text request has no variants: leave \"rotate\" out");
  }
  const base::Json* named = input.find("checkpoint");
  const std::string checkpoint =
      named != nullptr && named->is_string() ? named->as_string() : kDefaultCheckpoint;
  const std::string requests = files_.count("requests") != 0 ? files_["requests"] : "";
  TextModel& model = text_model(checkpoint);
  const auto& asked = workload.boundaries;
  if (!asked.empty() && asked.front() == kHttpBoundary && !model.loopback) {
    model.loopback = std::make_unique<LoopbackService>(*model.runtime);
  }
  Prepared prepared{&model, std::make_unique<TextWorkload>(
                                *model.runtime, read_request_body(input, requests), "request")};
  model::Network& network = loaded_network(checkpoint);
  // One request, for the facts; the kit asks for another before it calls the workload ready.
  prepared.workload->request(kEngineBoundary, nullptr, recorder());
  abba_worker::Prepared reply;
  const runtime::Response& response = prepared.workload->response();
  reply.items = static_cast<double>(response.answered.size());
  reply.flops = 0;
  reply.bytes = 0;
  Json shapes = Json::array();
  for (const model::Batch& batch : batches_of(response, network.config())) {
    const model::LaunchPlan& plan = network.prepare(batch.shape);
    reply.flops += plan.encode_work.flops + plan.decide_work.flops;
    reply.bytes += plan.encode_work.bytes + plan.decide_work.bytes;
    Json shape = Json::array();
    shape.push_back(batch.shape.rows);
    shape.push_back(batch.shape.tokens);
    shapes.push_back(std::move(shape));
  }
  reply.facts.set("rows", static_cast<std::int64_t>(response.answered.size()));
  reply.facts.set("tokens", static_cast<std::int64_t>(response.input_tokens()));
  reply.facts.set("padded_shapes", std::move(shapes));
  if (checkpoint != kDefaultCheckpoint) reply.facts.set("exactness", proofs_of(checkpoint));
  selected_ = &(texts_[workload.id] = std::move(prepared));
  return reply;
}

abba_worker::Prepared TextWorker::prepare(const abba_worker::Workload& workload) {
  const base::Json input = base::parse_json(workload.input.dump(), "input");
  if (input.find("request") != nullptr) return prepare_text(workload, input);
  texts_.erase(workload.id);
  selected_ = nullptr;
  return LayaWorker::prepare(workload);
}

void TextWorker::select(const abba_worker::Workload& workload) {
  const auto text = texts_.find(workload.id);
  selected_ = text == texts_.end() ? nullptr : &text->second;
  if (selected_ == nullptr) LayaWorker::select(workload);
}

std::string TextWorker::boundary() const {
  if (!boundaries().empty()) return boundaries().front();
  return selected_ == nullptr ? kModelBoundary : kEngineBoundary;
}

void TextWorker::request() {
  const std::string timed = boundary();
  if (selected_ != nullptr) {
    if (device_spin_ns() > 0) {
      throw Refused("bad_inject", "a text request cannot spin on the device; give token rows");
    }
    return selected_->workload->request(timed, selected_->model->loopback.get(), recorder());
  }
  if (timed == kHttpBoundary || timed == kEngineBoundary) {
    throw Refused("bad_input", "token rows are timed at \"model\" or \"encoder\", not at \"" +
                                   timed + "\"; give the workload a \"request\"");
  }
  LayaWorker::request();
}

std::vector<Tensor> TextWorker::outputs(const std::vector<std::string>& stages, bool values) {
  if (selected_ == nullptr) return LayaWorker::outputs(stages, values);
  const runtime::Response& response = selected_->workload->response();
  std::vector<float> logits;
  std::vector<float> actions;
  std::vector<float> answers;
  std::vector<double> scores;
  for (const runtime::AnsweredQuestion& answered : response.answered) {
    logits.insert(logits.end(), answered.logits.begin(), answered.logits.end());
    actions.insert(actions.end(), answered.action_logits.begin(), answered.action_logits.end());
    append_published(answered.question.type, answered.answer, answers);
    scores.push_back(expected_option(answered));
  }
  model::Network& network = loaded_network(selected_->model->checkpoint);
  std::vector<Tensor> tensors;
  if (wanted(stages, kConsumed)) {
    tensors.push_back(
        stage_tensor(kConsumed, consumed_rows(response, network), network.config().hidden_size));
  }
  if (wanted(stages, kLogits)) tensors.push_back(stage_tensor(kLogits, logits));
  if (wanted(stages, kActions)) {
    tensors.push_back(stage_tensor(kActions, actions, network.config().action_count));
  }
  if (wanted(stages, kRanking)) tensors.push_back(ranking_tensor(scores));
  if (wanted(stages, kPublished)) tensors.push_back(stage_tensor(kPublished, answers));
  return tensors;
}

}  // namespace abba::laya
