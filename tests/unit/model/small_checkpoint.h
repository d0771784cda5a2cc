// A random checkpoint of any config in a folder of its own that goes away with it: one file of
// weights, each tensor in the type asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/half.h"
#include "engine/base/prng.h"
#include "engine/checkpoint/inventory.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "tests/unit/temporary_folder.h"

namespace abba::model::testing {

// Hidden 128, two heads, a window of 3 so that short rows feel it, two encoder layers of each kind.
inline checkpoint::ModelConfig small_config() {
  checkpoint::ModelConfig config = checkpoint::family_config("tiny");
  config.intermediate_size = 96;
  config.vocab_size = 60;
  config.pad_token_id = 0;
  config.half_window = 3;
  config.max_positions = 256;  // rotation tables are made for all of them
  config.layer_count = 4;
  using checkpoint::LayerType;
  config.layer_types = {LayerType::kFull, LayerType::kSliding, LayerType::kSliding,
                        LayerType::kFull};
  return config;
}

using DTypeOfTensor = std::function<tensor::DType(const std::string& name)>;

inline tensor::DType all_f32(const std::string&) {
  return tensor::DType::kF32;
}

class SmallCheckpoint {
 public:
  // `names` may change the inventory before it is written (to break it).
  explicit SmallCheckpoint(
      const checkpoint::ModelConfig& config, const DTypeOfTensor& dtype_of = all_f32,
      const std::function<void(std::vector<checkpoint::TensorSpec>&)>& change = nullptr) {
    std::vector<checkpoint::TensorSpec> specs = checkpoint::tensor_inventory(config);
    if (change) change(specs);
    std::vector<checkpoint::TensorInfo> infos;
    for (const bool wide : {true, false}) {  // element sizes must not grow
      for (const auto& spec : specs) {
        const tensor::DType dtype = dtype_of(spec.name);
        if ((dtype == tensor::DType::kF32) == wide) infos.push_back({spec.name, dtype, spec.shape});
      }
    }
    const std::string path = folder_.file("model.safetensors");
    checkpoint::SafetensorsWriter writer(path, infos, {});
    for (std::size_t i = 0; i < infos.size(); ++i) write_tensor(writer, i, infos[i]);
    writer.finish();
    file_ = std::make_unique<checkpoint::SafetensorsFile>(path);
  }
  [[nodiscard]] const checkpoint::SafetensorsFile& file() const { return *file_; }

 private:
  // Gains near 1, biases and everything else near 0, large enough that each tensor matters.
  static void write_tensor(checkpoint::SafetensorsWriter& writer, std::size_t index,
                           const checkpoint::TensorInfo& info) {
    base::Random random(1000 + index);
    const bool is_norm =
        info.name.find("norm") != std::string::npos || info.name == "scorer.0.weight";
    const bool is_gain = is_norm && info.name.find("bias") == std::string::npos;
    std::vector<float> values(static_cast<std::size_t>(info.shape.element_count()));
    for (float& value : values) {
      value = static_cast<float>((is_gain ? 1.0 : 0.0) + 0.12 * random.normal());
    }
    if (info.dtype == tensor::DType::kF32) {
      return writer.write(index, 0, values.data(), values.size() * 4);
    }
    std::vector<base::F16> half(values.size());
    std::vector<base::Bf16> brain(values.size());
    base::convert(values.data(), half.data(), half.size());
    base::convert(values.data(), brain.data(), brain.size());
    const void* bytes = info.dtype == tensor::DType::kF16 ? static_cast<const void*>(half.data())
                                                          : static_cast<const void*>(brain.data());
    writer.write(index, 0, bytes, values.size() * 2);
  }

  TemporaryFolder folder_;
  std::unique_ptr<checkpoint::SafetensorsFile> file_;
};

}  // namespace abba::model::testing
