#include "engine/checkpoint/verify.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::checkpoint {
namespace {

// The missing tensor that an unexpected one was probably meant to be: same shape, nearest name
// within six edits; nullptr if there is none.
const TensorSpec* renamed_from(const TensorInfo& extra, const std::vector<TensorSpec>& missing) {
  constexpr std::size_t kMaxEdits = 6;
  // Longer names than any of ours are no slip of the pen, and comparing them costs their length.
  if (extra.name.size() > 128) return nullptr;
  const TensorSpec* best = nullptr;
  std::size_t best_edits = kMaxEdits + 1;
  for (const TensorSpec& spec : missing) {
    if (!(spec.shape == extra.shape)) continue;
    const std::size_t edits = base::edit_distance(extra.name, spec.name, kMaxEdits);
    if (edits < best_edits) {
      best_edits = edits;
      best = &spec;
    }
  }
  return best;
}

bool is_weight_dtype(tensor::DType dtype) {
  return dtype == tensor::DType::kF16 || dtype == tensor::DType::kBf16 ||
         dtype == tensor::DType::kF32;
}

std::string first_of(const std::vector<std::string>& mistakes) {
  std::string text = mistakes.front();
  if (mistakes.size() > 1) {
    text += " (and " + std::to_string(mistakes.size() - 1) + " more; verify lists them)";
  }
  return text;
}

std::string verified(const std::string& checkpoint_dir) {
  const std::vector<std::string> mistakes = verify_checkpoint(checkpoint_dir);
  if (!mistakes.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, "", first_of(mistakes));
  }
  return checkpoint_dir;
}

}  // namespace

std::vector<std::string> verify_tensors(const SafetensorsFile& file, const ModelConfig& config) {
  std::vector<std::string> mistakes;
  const auto add = [&](const std::string& name, const std::string& sentence) {
    mistakes.push_back(file.path() + ": tensor \"" + name + "\" " + sentence);
  };
  std::vector<TensorSpec> missing;
  std::map<std::string, tensor::Shape> wanted;
  for (TensorSpec& spec : tensor_inventory(config)) {
    wanted.emplace(spec.name, spec.shape);
    const TensorInfo* info = file.find(spec.name);
    if (info == nullptr) {
      missing.push_back(std::move(spec));
    } else if (!(info->shape == spec.shape)) {
      add(spec.name,
          "has shape " + info->shape.text() + ", the config asks for " + spec.shape.text());
    } else if (!is_weight_dtype(info->dtype)) {
      add(spec.name, "has dtype " + std::string(tensor::name_of(info->dtype)) +
                         "; weights are F16, BF16 or F32");
    }
  }
  for (const TensorInfo& info : file.tensors()) {
    if (wanted.contains(info.name)) continue;
    const TensorSpec* meant = renamed_from(info, missing);
    if (meant == nullptr) {
      add(info.name.substr(0, 120), "does not belong to this model");
      continue;
    }
    add(info.name,
        "is not in this model; \"" + meant->name + "\" of the same shape is missing: renamed?");
    missing.erase(missing.begin() + (meant - missing.data()));
  }
  for (const TensorSpec& spec : missing) add(spec.name, "is missing, shape " + spec.shape.text());
  return mistakes;
}

std::vector<std::string> verify_checkpoint(const std::string& checkpoint_dir) {
  const std::string path = model_path(checkpoint_dir);
  std::vector<std::string> mistakes;
  ModelConfig config;
  try {
    config = read_config(checkpoint_dir);
  } catch (const base::Error& error) {
    mistakes.emplace_back(error.what());
  }
  const std::vector<std::string> file_mistakes = SafetensorsFile::mistakes_of(path);
  for (const std::string& mistake : file_mistakes) mistakes.push_back(path + ": " + mistake);
  if (mistakes.empty()) return verify_tensors(SafetensorsFile(path), config);
  return mistakes;
}

Checkpoint::Checkpoint(const std::string& checkpoint_dir)
    : config(read_config(verified(checkpoint_dir))), file(model_path(checkpoint_dir)) {}

}  // namespace abba::checkpoint
