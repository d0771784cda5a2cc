// The embedded engine as a worker (protocol abba.worker/1, on the worker kit): loads one checkpoint
// per files entry on first use, keeps every prepared workload ready, times the boundary `model`
// (token ids to logits on the host) with `encoder` inside it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/engine_settings.h"
#include "experiments/laya/workload_input.h"
#include "harness/worker_kit/abba_worker.h"

namespace abba::laya {

// The files entry of workloads that name no other checkpoint.
inline constexpr const char* kDefaultCheckpoint = "checkpoint";

// Whether what a proof at load found contradicts what the level declares: bits were promised and
// differed. Such a level is refused, never run under its name.
bool is_disproved(std::string_view factor, std::string_view level, ops::ExactnessKind proved);

class LayaWorker : public abba_worker::Worker {
 public:
  LayaWorker();
  ~LayaWorker() override;

  abba_worker::Description describe() override;
  void load(const abba_worker::LoadRequest& request, abba_worker::LoadReply& effective) override;
  abba_worker::Prepared prepare(const abba_worker::Workload& workload) override;
  void select(const abba_worker::Workload& workload) override;
  void request() override;
  bool spins_on_device() override { return settings_.backend == "cuda"; }
  std::vector<abba_worker::Tensor> outputs(const std::vector<std::string>& stages,
                                           bool values) override;
  // Of the CPU's caches, and on a GPU of its L2 too, which is then what the check looks at.
  void flush_caches() override;
  abba_worker::FlushCheck check_flush() override;

 protected:
  // Of a files entry, which is loaded at the first call.
  model::Network& loaded_network(const std::string& checkpoint);
  const abba_worker::Json& proofs_of(const std::string& checkpoint);

 private:
  struct LoadedNetwork;
  struct PreparedBatch;
  struct PreparedWorkload;

  [[nodiscard]] abba_worker::Json proved_exactness(std::int64_t hidden) const;
  LoadedNetwork& network(const std::string& checkpoint);
  std::unique_ptr<PreparedWorkload> make_workload(const abba_worker::Workload& workload);
  static std::int64_t count_launches(const PreparedWorkload& prepared);
  void run_batch(PreparedBatch& batch);
  [[nodiscard]] std::vector<float> hidden_rows(const std::vector<PreparedBatch>& batches) const;
  [[nodiscard]] abba_worker::Tensor published_rows(const std::vector<PreparedBatch>& batches) const;

  EngineSettings settings_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::unique_ptr<LoadedNetwork>> networks_;
  std::map<std::string, std::unique_ptr<PreparedWorkload>> workloads_;
  PreparedWorkload* selected_ = nullptr;
  DeviceFlush device_flush_;  // made when a slot first asks for cold caches on a GPU
  int last_variant_ = 0;
};

}  // namespace abba::laya
