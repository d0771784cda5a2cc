// The synthetic checkpoint `tiny`, seed 1, made once per test program in a folder that goes with
// it.
#pragma once

#include <memory>
#include <string>

#include "engine/checkpoint/synthetic.h"
#include "engine/checkpoint/verify.h"
#include "tests/unit/model/small_checkpoint.h"
#include "tests/unit/temporary_folder.h"

namespace abba::model::testing {

class TinyCheckpoint {
 public:
  static const TinyCheckpoint& instance() {
    static const TinyCheckpoint tiny;
    return tiny;
  }
  [[nodiscard]] const checkpoint::ModelConfig& config() const { return checkpoint_->config; }
  [[nodiscard]] const checkpoint::SafetensorsFile& file() const { return checkpoint_->file; }

 private:
  TinyCheckpoint() {
    checkpoint::SyntheticOptions options;
    options.seed = 1;
    options.out_dir = folder_.file("tiny");
    options.tokenizer = "none";
    checkpoint::make_synthetic(checkpoint::family_config("tiny"), options);
    checkpoint_ = std::make_unique<checkpoint::Checkpoint>(options.out_dir);
  }
  TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
};

}  // namespace abba::model::testing
