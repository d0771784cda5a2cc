#include <algorithm>
#include <filesystem>

#include "engine/base/sha256.h"
#include "engine/checkpoint/verify.h"

namespace abba::checkpoint {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

void add_line(std::string& text, const std::string& label, const std::string& value) {
  text += padded(label, 16) + value + "\n";
}

std::string number_text(double value) {
  return base::Json(value).canonical();
}

void add_config(std::string& text, const ModelConfig& config) {
  const auto full =
      std::count(config.layer_types.begin(), config.layer_types.end(), LayerType::kFull);
  add_line(text, "hidden size",
           std::to_string(config.hidden_size) + ", " + std::to_string(config.attention_heads) +
               " heads of 64");
  add_line(text, "layers",
           std::to_string(config.layer_count) + " (" + std::to_string(full) + " full, the others " +
               std::to_string(config.half_window) + " to either side), " +
               std::to_string(config.head_layer_count) + " decision layers");
  add_line(text, "GeGLU width", std::to_string(config.intermediate_size));
  add_line(text, "vocabulary", std::to_string(config.vocab_size));
  add_line(text, "RoPE theta",
           number_text(config.rope_theta_full) + " full, " +
               number_text(config.rope_theta_sliding) + " sliding");
  add_line(text, "max_len",
           std::to_string(config.max_len) + ", head " + std::to_string(config.head_max_len));
}

}  // namespace

Inspection inspect_checkpoint(const std::string& checkpoint_dir) {
  Inspection result;
  result.config = read_config(checkpoint_dir);
  result.family = family_of(result.config);
  const SafetensorsFile file(model_path(checkpoint_dir));
  result.tensors = file.tensors();
  result.file_bytes = file.file_bytes();
  for (const TensorInfo& info : result.tensors) {
    auto total = std::find_if(result.by_dtype.begin(), result.by_dtype.end(),
                              [&](const DTypeTotal& each) { return each.dtype == info.dtype; });
    if (total == result.by_dtype.end()) {
      total = result.by_dtype.insert(total, DTypeTotal{.dtype = info.dtype});
    }
    const auto count = static_cast<std::uint64_t>(info.shape.element_count());
    ++total->tensor_count;
    total->parameter_count += count;
    total->size_bytes += info.size_bytes;
    if (info.name != "temperature") result.parameter_count += count;  // a buffer
  }
  result.sha256 = base::sha256_file(file.path());
  result.has_tokenizer = std::filesystem::exists(checkpoint_dir + "/tokenizer/tokenizer.json");
  return result;
}

std::string inspection_text(const Inspection& inspection) {
  std::string text;
  add_line(text, "family", inspection.family);
  add_line(text, "parameters", std::to_string(inspection.parameter_count));
  add_line(text, "tensors", std::to_string(inspection.tensors.size()));
  for (const DTypeTotal& total : inspection.by_dtype) {
    add_line(text, "  " + std::string(tensor::name_of(total.dtype)),
             std::to_string(total.tensor_count) + " tensors, " +
                 std::to_string(total.parameter_count) + " parameters, " +
                 std::to_string(total.size_bytes) + " bytes");
  }
  add_line(text, "file bytes", std::to_string(inspection.file_bytes));
  add_line(text, "SHA-256", inspection.sha256);
  add_config(text, inspection.config);
  add_line(text, "tokenizer", inspection.has_tokenizer ? "yes" : "none");
  text += "\n";
  std::size_t width = 4;
  for (const TensorInfo& info : inspection.tensors) width = std::max(width, info.name.size());
  for (const TensorInfo& info : inspection.tensors) {
    text += padded(info.name, width + 2) + padded(std::string(tensor::name_of(info.dtype)), 6) +
            padded(info.shape.text(), 16) + std::to_string(info.size_bytes) + "\n";
  }
  return text;
}

}  // namespace abba::checkpoint
