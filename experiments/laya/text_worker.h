// The engine's worker with text requests: what LayaWorker does with token rows, and workloads
// {"request": ...} timed at the boundaries `http` and `engine`, with `model` and `encoder` inside.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/laya/laya_worker.h"
#include "experiments/laya/text_workload.h"

namespace abba::laya {

class TextWorker final : public LayaWorker {
 public:
  abba_worker::Description describe() override;
  void load(const abba_worker::LoadRequest& request, abba_worker::LoadReply& effective) override;
  abba_worker::Prepared prepare(const abba_worker::Workload& workload) override;
  void select(const abba_worker::Workload& workload) override;
  void request() override;
  std::vector<abba_worker::Tensor> outputs(const std::vector<std::string>& stages,
                                           bool values) override;

 private:
  // What answers text for one checkpoint; the server is made for the first workload over HTTP.
  struct TextModel {
    std::string checkpoint;
    std::unique_ptr<runtime::Runtime> runtime;
    std::unique_ptr<LoopbackService> loopback;
  };
  struct Prepared {
    TextModel* model;
    std::unique_ptr<TextWorkload> workload;
  };

  TextModel& text_model(const std::string& checkpoint);
  abba_worker::Prepared prepare_text(const abba_worker::Workload& workload,
                                     const base::Json& input);
  [[nodiscard]] std::string boundary() const;

  std::map<std::string, std::string> files_;
  std::map<std::string, TextModel> models_;
  std::map<std::string, Prepared> texts_;
  Prepared* selected_ = nullptr;  // nullptr: a workload of token rows is
};

}  // namespace abba::laya
