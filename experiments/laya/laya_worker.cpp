#include "experiments/laya/laya_worker.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "engine/base/error.h"
#include "engine/base/source_stamp.h"
#include "engine/cpu/isa.h"
#include "experiments/laya/output_stages.h"

namespace abba::laya {

using abba_worker::Json;
using abba_worker::Refused;
using abba_worker::Span;
using abba_worker::Tensor;

namespace {

constexpr const char* kModel = "model";
constexpr const char* kEncoder = "encoder";

// Expected level of one row: sum of i * p_i, p the softmax of its logits over the score
// temperature.
double expected_level(const float* logits, std::int32_t count, double temperature) {
  const double top = *std::max_element(logits, logits + count);
  double total = 0;
  double weighted = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const double p = std::exp((logits[i] - top) / temperature);
    total += p;
    weighted += i * p;
  }
  return weighted / total;
}

// Of an entry that no workload of this load may ever use, too.
void require_files(const std::map<std::string, std::string>& files) {
  for (const auto& [name, path] : files) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      throw Refused("bad_input", "files." + name + ": \"" + path +
                                     "\" does not exist: name a file or folder that does");
    }
  }
}

abba_worker::Factor factor_of(const ops::VariantTable& table) {
  abba_worker::Factor factor;
  factor.name = table.factor;
  factor.default_level = ops::level_of(ops::Choices{}, table.factor);
  for (const ops::Variant& variant : table.variants) {
    factor.levels.push_back({std::string(variant.name),
                             std::string(ops::name_of(variant.exactness.kind)),
                             std::string(variant.exactness.to)});
  }
  return factor;
}

}  // namespace

bool is_disproved(std::string_view factor, std::string_view level, ops::ExactnessKind proved) {
  for (const ops::Variant& variant : ops::variant_table(factor).variants) {
    if (variant.name == level) {
      return variant.exactness.kind == ops::ExactnessKind::kBitwise &&
             proved != ops::ExactnessKind::kBitwise;
    }
  }
  return true;  // a level that no table declares
}

struct LayaWorker::LoadedNetwork {
  LoadedNetwork(const std::string& dir, const EngineSettings& settings)
      : checkpoint(dir),
        backend(make_backend(settings)),
        network(checkpoint.config, checkpoint.file, *backend) {}

  checkpoint::Checkpoint checkpoint;  // outlives the backend, which reads its tables in place
  std::unique_ptr<ops::Backend> backend;
  model::Network network;
  Json exactness;  // proved for this network's sizes when it was loaded
};

struct LayaWorker::PreparedBatch {
  const model::Batch* batch;
  model::LaunchPlan* plan;
  model::Decision decision;
  model::Network* network;
};

struct LayaWorker::PreparedWorkload {
  std::vector<std::unique_ptr<WorkloadInput>> inputs;  // one per variant
  std::vector<std::vector<PreparedBatch>> batches;     // [variant][batch]
  std::string checkpoint;                              // the files entry of the network
  LoadedNetwork* loaded = nullptr;
  bool one_batch = false;  // then the encoder boundary is one span
};

LayaWorker::LayaWorker() = default;
LayaWorker::~LayaWorker() = default;

abba_worker::Description LayaWorker::describe() {
  abba_worker::Description description;
  description.name = "abba-laya";
  description.version = ABBA_VERSION;
  description.source_stamp = base::source_stamp();
  description.boundaries = {{kModel}, {kEncoder, kModel}};
  description.stages = {kConsumed, kLogits, kActions, kRanking, kPublished};
  for (const ops::VariantTable& table : ops::variant_tables()) {
    description.factors.push_back(factor_of(table));
  }
  description.workload_form.set(
      "input",
      "{\"fixture\": NAME}, {\"shape\": [rows, tokens], \"seed\": n} or {\"hook\": {...}}");
  description.workload_form.set("example", Json::parse(R"({"shape": [1, 48], "seed": 1})"));
  const cpu::Description machine = cpu::describe();
  description.facts.set("isa", machine.isa);
  description.facts.set("product", machine.product);
  description.facts.set("library", machine.library);
  return description;
}

void LayaWorker::load(const abba_worker::LoadRequest& request, abba_worker::LoadReply& effective) {
  selected_ = nullptr;
  workloads_.clear();
  networks_.clear();
  device_flush_ = {};
  files_ = request.files;
  require_files(files_);
  settings_ = read_settings(base::parse_json(request.settings.dump(), "settings"),
                            read_choices(request.factors));
  check_factors(request.named, settings_.backend);
  effective.settings = Json::parse(settings_json(settings_).dump());
  effective.factors = choices_map(settings_.cpu.choices, settings_.backend);
  LoadedNetwork* loaded =
      files_.count(kDefaultCheckpoint) != 0 ? &network(kDefaultCheckpoint) : nullptr;
  Json device = Json::parse(device_json(settings_).dump());
  if (loaded != nullptr) {
    device.set("exactness", loaded->exactness);
    const base::Json report = report_json(*loaded->backend);
    if (!report.is_null()) device.set("report", Json::parse(report.dump()));
  }
  effective.device = device;
}

// What each chosen level's declared class is worth here, run on random data: one entry a factor.
Json LayaWorker::proved_exactness(std::int64_t hidden) const {
  Json list = Json::array();
  for (const ProvedLevel& level : prove_exactness(settings_, hidden)) {
    if (is_disproved(level.factor, level.level, level.proved)) {
      throw Refused("exactness", std::string(level.factor) + " = " + std::string(level.level) +
                                     " is declared bitwise to " + std::string(level.to) +
                                     ", but on this machine " + level.detail);
    }
    Json entry;
    entry.set("factor", std::string(level.factor));
    entry.set("level", std::string(level.level));
    entry.set("to", level.to);
    entry.set("proved", std::string(ops::name_of(level.proved)));
    entry.set("detail", level.detail);
    list.push_back(std::move(entry));
  }
  return list;
}

LayaWorker::LoadedNetwork& LayaWorker::network(const std::string& name) {
  auto& loaded = networks_[name];
  if (!loaded) {
    const auto file = files_.find(name);
    if (file == files_.end()) {
      networks_.erase(name);
      throw Refused("bad_input", "no files entry is named \"" + name +
                                     "\": declare the checkpoint's folder under \"files\"");
    }
    loaded = std::make_unique<LoadedNetwork>(file->second, settings_);
    loaded->exactness = proved_exactness(loaded->checkpoint.config.hidden_size);
  }
  return *loaded;
}

model::Network& LayaWorker::loaded_network(const std::string& checkpoint) {
  return network(checkpoint).network;
}

const Json& LayaWorker::proofs_of(const std::string& checkpoint) {
  return network(checkpoint).exactness;
}

std::unique_ptr<LayaWorker::PreparedWorkload> LayaWorker::make_workload(
    const abba_worker::Workload& workload) {
  const base::Json json = base::parse_json(workload.input.dump(), "input");
  const std::string fixtures = files_.count("fixtures") != 0 ? files_["fixtures"] : "";
  const base::Json* named = json.find("checkpoint");
  auto prepared = std::make_unique<PreparedWorkload>();
  prepared->checkpoint =
      named != nullptr && named->is_string() ? named->as_string() : kDefaultCheckpoint;
  prepared->loaded = &network(prepared->checkpoint);
  model::Network& net = prepared->loaded->network;
  for (int variant = 0; variant < std::max(1, workload.rotate); ++variant) {
    // Variant 0 of a workload without rotation is the input as it is written.
    const std::uint64_t seed =
        workload.rotate > 0 ? workload.seed + 1 + static_cast<unsigned>(variant) : 0;
    auto input = std::make_unique<WorkloadInput>(
        read_workload_input(json, fixtures, net.config().pad_token_id, seed));
    std::vector<PreparedBatch> batches;
    for (const model::Batch& batch : input->batches) {
      model::check_batch(batch, net.config());
      model::LaunchPlan& plan = net.prepare(batch.shape);
      batches.push_back({&batch, &plan, net.make_decision(plan), &net});
    }
    prepared->batches.push_back(std::move(batches));
    prepared->inputs.push_back(std::move(input));
  }
  prepared->one_batch = prepared->batches.front().size() == 1;
  return prepared;
}

abba_worker::Prepared LayaWorker::prepare(const abba_worker::Workload& workload) {
  auto prepared = make_workload(workload);
  if (!prepared->one_batch && !workload.boundaries.empty() &&
      workload.boundaries.front() == kEncoder) {
    throw Refused("bad_input",
                  "a workload of several batches can be timed at boundary \"model\" only");
  }
  abba_worker::Prepared reply;
  const WorkloadInput& input = *prepared->inputs.front();
  reply.items = static_cast<double>(input.row_count);
  reply.flops = 0;
  reply.bytes = 0;
  Json shapes = Json::array();
  std::string notes;
  for (const PreparedBatch& batch : prepared->batches.front()) {
    reply.flops += batch.plan->encode_work.flops + batch.plan->decide_work.flops;
    reply.bytes += batch.plan->encode_work.bytes + batch.plan->decide_work.bytes;
    Json shape = Json::array();
    shape.push_back(batch.plan->shape.rows);
    shape.push_back(batch.plan->shape.tokens);
    shapes.push_back(std::move(shape));
    notes += batch.plan->note;
  }
  reply.facts.set("rows", input.row_count);
  reply.facts.set("tokens", input.token_count);
  reply.facts.set("padded_shapes", std::move(shapes));
  if (!notes.empty()) {
    reply.facts.set("fallback", notes);
  }
  if (const std::int64_t launches = count_launches(*prepared); launches > 0) {
    reply.facts.set("launches", launches);
    reply.facts.set("device", Json::parse(report_json(*prepared->loaded->backend).dump()));
  }
  if (prepared->checkpoint != kDefaultCheckpoint) {  // that one's proof came with `load`
    reply.facts.set("exactness", prepared->loaded->exactness);
  }
  selected_ = prepared.get();
  last_variant_ = 0;
  workloads_[workload.id] = std::move(prepared);
  return reply;
}

// Kernels that the encoder boundary of the first variant starts, counted by running it once; that
// also loads what a device loads at first use. 0 for the CPU, which is not run.
std::int64_t LayaWorker::count_launches(const PreparedWorkload& prepared) {
  const ops::Backend& backend = *prepared.loaded->backend;
  if (backend.name() == "cpu") return 0;
  const std::int64_t before = backend.launch_count();
  for (const PreparedBatch& batch : prepared.batches.front()) {
    batch.network->encode(*batch.plan, *batch.batch);
  }
  return backend.launch_count() - before;
}

void LayaWorker::select(const abba_worker::Workload& workload) {
  selected_ = workloads_.at(workload.id).get();
  last_variant_ = 0;
}

void LayaWorker::run_batch(PreparedBatch& batch) {
  {
    const Span encoder(recorder(), kEncoder);
    {
      const Span upload(recorder(), "upload");
      batch.network->upload(*batch.plan, *batch.batch);
    }
    batch.network->run_encoder(*batch.plan);
  }
  const Span head(recorder(), "head");
  batch.network->decide(*batch.plan, batch.decision);
}

void LayaWorker::request() {
  last_variant_ = variant();
  if (device_spin_ns() > 0 && !selected_->loaded->backend->spin_before_wait(device_spin_ns())) {
    throw Refused("bad_inject", "the device's spin kernel cannot be loaded");
  }
  const Span whole(recorder(), kModel);
  for (PreparedBatch& batch : selected_->batches[static_cast<std::size_t>(last_variant_)]) {
    run_batch(batch);
  }
}

void LayaWorker::flush_caches() {
  Worker::flush_caches();
  if (device_flush_.flush) device_flush_.flush();
}

abba_worker::FlushCheck LayaWorker::check_flush() {
  if (!device_flush_.flush) device_flush_ = device_flush(settings_);
  if (!device_flush_.flush) return Worker::check_flush();
  return abba_worker::flush_check(
      "L2 of the GPU", device_flush_.flushed_bytes, [this] { return device_flush_.walk_ns(); },
      [this] { flush_caches(); });
}

// What a client would read of the rows.
Tensor LayaWorker::published_rows(const std::vector<PreparedBatch>& batches) const {
  const checkpoint::ModelConfig& config = selected_->loaded->network.config();
  const text::Temperatures temperatures = text::Temperatures::of(config);
  const auto actions = static_cast<std::size_t>(config.action_count);
  std::vector<float> numbers;
  for (const PreparedBatch& batch : batches) {
    const auto options = static_cast<std::size_t>(batch.plan->shape.options);
    for (std::size_t b = 0; b < batch.batch->counts.size(); ++b) {
      const std::span<const float> logits(batch.decision.logits);
      const std::span<const float> action_logits(batch.decision.actions);
      append_published(
          batch.batch->types[b],
          logits.subspan(b * options, static_cast<std::size_t>(batch.batch->counts[b])),
          action_logits.subspan(b * actions, actions), temperatures, numbers);
    }
  }
  return stage_tensor(kPublished, numbers);
}

// What the heads read, of every batch: row 0 and the markers of each row. A plan holds its last
// batch only, so batches that share one are run again first.
std::vector<float> LayaWorker::hidden_rows(const std::vector<PreparedBatch>& batches) const {
  std::vector<float> all;
  for (const PreparedBatch& batch : batches) {
    const bool shared =
        std::count_if(batches.begin(), batches.end(),
                      [&](const PreparedBatch& other) { return other.plan == batch.plan; }) > 1;
    if (shared) {
      batch.network->encode(*batch.plan, *batch.batch);
    }
    const model::Shape& shape = batch.plan->shape;
    const std::int64_t width = batch.network->config().hidden_size;
    std::vector<float> rows(static_cast<std::size_t>(shape.rows * (1 + shape.options) * width));
    batch.network->read_hidden(*batch.plan, *batch.batch, rows);
    for (std::int64_t b = 0; b < shape.rows; ++b) {  // the valid ones: unused option slots left out
      const auto begin = rows.begin() + b * (1 + shape.options) * width;
      all.insert(all.end(), begin,
                 begin + (1 + batch.batch->counts[static_cast<std::size_t>(b)]) * width);
    }
  }
  return all;
}

std::vector<Tensor> LayaWorker::outputs(const std::vector<std::string>& stages, bool /*values*/) {
  const auto& batches = selected_->batches[static_cast<std::size_t>(last_variant_)];
  const checkpoint::ModelConfig& config = selected_->loaded->network.config();
  std::vector<float> logits;
  std::vector<float> actions;
  std::vector<double> scores;
  for (const PreparedBatch& batch : batches) {
    for (std::int64_t b = 0; b < batch.plan->shape.rows; ++b) {
      const float* row = batch.decision.logits.data() + b * batch.plan->shape.options;
      const std::int32_t count = batch.batch->counts[static_cast<std::size_t>(b)];
      logits.insert(logits.end(), row, row + count);
      scores.push_back(expected_level(row, count, config.temperature[1]));
    }
    actions.insert(actions.end(), batch.decision.actions.begin(), batch.decision.actions.end());
  }
  std::vector<Tensor> tensors;
  if (wanted(stages, kConsumed)) {
    tensors.push_back(stage_tensor(kConsumed, hidden_rows(batches), config.hidden_size));
  }
  if (wanted(stages, kLogits)) tensors.push_back(stage_tensor(kLogits, logits));
  if (wanted(stages, kActions)) {
    tensors.push_back(stage_tensor(kActions, actions, config.action_count));
  }
  if (wanted(stages, kRanking)) tensors.push_back(ranking_tensor(scores));
  if (wanted(stages, kPublished)) tensors.push_back(published_rows(batches));
  return tensors;
}

}  // namespace abba::laya
