// The trace pass: what each arm does on its GPU, recorded by a tracer that is injected into a fresh
// worker. Some requests of each workload, whose times are slowed by the tracer and enter no
// statistic; their rows are stored with the block, once the worker has ended and its file is whole.
// A worker that cannot be traced, or does nothing on a GPU, is a note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/temporary_folder.h"
#include "harness/run/later_passes.h"
#include "harness/trace/trace_file.h"
#include "harness/trace/tracer.h"

namespace abba::run {

class TraceWork : public LaterWork {
 public:
  explicit TraceWork(const trace::Tracer& tracer) : tracer_(tracer) {}

  [[nodiscard]] std::string lack(const record::WorkerHello& hello) const override;
  [[nodiscard]] std::map<std::string, std::string> environment(const std::string& arm) override;
  void run(Session& session, const LaterArm& arm, const record::PlannedBlock& block) override;
  void ended(Session& session, const std::string& arm, std::int64_t worker_id) override;

 private:
  void take_file(Session& session, const std::string& arm);
  void store(Session& session, const trace::TraceFile& file, record::Block& block);

  const trace::Tracer& tracer_;
  std::optional<base::TemporaryFolder> folder_;
  std::string file_;                   // of the worker that is alive
  StoredPass* pass_ = nullptr;         // that the blocks below belong to
  std::vector<record::Block> blocks_;  // measured, their rows not read yet
};

}  // namespace abba::run
