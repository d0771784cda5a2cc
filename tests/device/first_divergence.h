// Where two runs of one network part: the first stage, in the order of the pass, with a value whose
// bits differ, and in it the first token row. Pure; the runs are recordings on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/network.h"

namespace abba::device {

// The values of one stage as floats, [rows, columns]; act widened, which keeps it apart.
struct StageValues {
  std::string name;  // "encoder.3.attention"
  bool is_bf16 = false;
  bool by_token = true;  // rows are token rows [B * L], else [B, ...] rows of a batch row
  std::int64_t columns = 0;
  std::vector<float> values;
};
using Recording = std::vector<StageValues>;

struct Divergence {
  std::string stage;
  std::int64_t batch_row = 0;
  std::int64_t token = 0;  // position inside the batch row
  std::int64_t column = 0;
  float first = 0.0F;
  float second = 0.0F;
  std::int64_t ulp = 0;        // steps of the stage's type between them; -1 if one is a NaN
  std::int64_t differing = 0;  // values of the stage that differ, padding included
  bool is_padding = false;     // every differing value of the stage lies in the padding
};

// Nothing if all bits agree. Differences in the padding are reported only if there are no others
// anywhere: nobody reads it. Both recordings must have the same stages (ABBA_CHECK).
std::optional<Divergence> first_divergence(const Recording& first, const Recording& second,
                                           const model::Batch& batch);
// "encoder.3.mlp row 0 token 17 column 5: 1.25 against 1.2578125, 1 step of bf16 ...".
std::string text_of(const Divergence& divergence);

// Records every stage of a pass.
class Recorder : public model::Tap {
 public:
  explicit Recorder(const model::Batch& batch) : batch_(batch) {}
  void see(model::Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) override;
  Recording recording;

 private:
  const model::Batch& batch_;
};

}  // namespace abba::device
