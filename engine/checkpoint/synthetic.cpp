#include "engine/checkpoint/synthetic.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/checkpoint/builtin_tokenizer.h"
#include "engine/checkpoint/recipe.h"
#include "engine/checkpoint/safetensors_writer.h"

namespace abba::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr std::int64_t kPieceElements = std::int64_t{1} << 20U;

// A directory that becomes `target` by a rename, or disappears.
class PartialDirectory {
 public:
  explicit PartialDirectory(const std::string& target) : target_(target) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "out/" is "out"
    partial_ = target_.string() + ".partial." + std::to_string(::getpid());
    std::error_code error;
    if (fs::exists(target_, error) &&
        !(fs::is_directory(target_, error) && fs::is_empty(target_, error))) {
      throw Error(ErrorCode::kBadInput, target,
                  "exists and is not an empty directory; name another output or remove it first");
    }
    if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), error);
    if (error || !fs::create_directory(partial_, error)) {
      throw Error(ErrorCode::kBroken, partial_.string(),
                  "cannot be created: " + (error ? error.message() : "it exists already"));
    }
  }
  ~PartialDirectory() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
  }
  PartialDirectory(const PartialDirectory&) = delete;
  PartialDirectory& operator=(const PartialDirectory&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (partial_ / name).string();
  }
  void make(const std::string& name) const {
    std::error_code error;
    fs::create_directories(partial_ / name, error);
    if (error)
      throw Error(ErrorCode::kBroken, *this / name, "cannot be created: " + error.message());
  }
  void commit() {
    std::error_code error;
    fs::rename(partial_, target_, error);
    if (error)
      throw Error(ErrorCode::kBroken, target_.string(), "cannot be named: " + error.message());
    partial_.clear();
  }

 private:
  fs::path target_;
  fs::path partial_;
};

// Elements [first, first + count) of a tensor: what one thread makes at a time.
struct Piece {
  std::size_t tensor;
  std::int64_t first;
  std::int64_t count;
};

// Runs `body(piece)` for all pieces on `thread_count` threads; the first exception is thrown here.
template <typename Body>
void for_each_piece(const std::vector<Piece>& pieces, int thread_count, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < pieces.size(); i = next++) body(pieces[i]);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = pieces.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < thread_count; ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

// The file's layout: the one F32 tensor first, so that every element is aligned, then F16.
std::vector<TensorInfo> layout(const std::vector<TensorSpec>& specs) {
  std::vector<TensorInfo> tensors;
  for (const TensorSpec& spec : specs) {
    const bool is_temperature = spec.name == "temperature";
    TensorInfo info{.name = spec.name,
                    .dtype = is_temperature ? tensor::DType::kF32 : tensor::DType::kF16,
                    .shape = spec.shape};
    tensors.insert(is_temperature ? tensors.begin() : tensors.end(), std::move(info));
  }
  return tensors;
}

void write_model(const ModelConfig& config, const SyntheticOptions& options,
                 const std::string& path) {
  SafetensorsWriter writer(path, layout(tensor_inventory(config)), {{"format", "pt"}});
  const std::vector<TensorInfo>& tensors = writer.tensors();
  std::array<float, 3> temperature = {};
  for (std::size_t i = 0; i < 3; ++i) temperature[i] = static_cast<float>(config.temperature[i]);
  writer.write(0, 0, temperature.data(), sizeof temperature);

  std::vector<TensorRecipe> recipes;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    recipes.push_back(recipe_of({tensors[i].name, tensors[i].shape}, config));
    const std::int64_t count = i == 0 ? 0 : tensors[i].shape.element_count();
    for (std::int64_t first = 0; first < count; first += kPieceElements) {
      pieces.push_back({i, first, std::min(kPieceElements, count - first)});
    }
  }
  for_each_piece(pieces, std::clamp(options.thread_count, 1, 64), [&](const Piece& piece) {
    const TensorInfo& info = tensors[piece.tensor];
    std::vector<base::F16> values(static_cast<std::size_t>(piece.count));
    fill(recipes[piece.tensor], tensor_key(options.seed, info.name), info.shape, piece.first,
         piece.count, values.data());
    writer.write(piece.tensor, static_cast<std::uint64_t>(piece.first) * sizeof(base::F16),
                 values.data(), values.size() * sizeof(base::F16));
  });
  writer.finish();
}

void write_tokenizer(const std::string& choice, const PartialDirectory& directory) {
  if (choice == "none") return;
  directory.make("tokenizer");
  for (const std::string name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::string text;
    if (choice == "builtin") {
      text = name == "tokenizer.json" ? builtin_tokenizer_json() : builtin_tokenizer_config_json();
    } else {
      text = base::read_file(choice + "/" + name);
    }
    base::write_file_atomically(directory / ("tokenizer/" + name), text);
  }
}

}  // namespace

void make_synthetic(const ModelConfig& config, const SyntheticOptions& options) {
  PartialDirectory directory(options.out_dir);
  // The tokenizer first: a wrong directory is then refused before a gigabyte is written.
  write_tokenizer(options.tokenizer, directory);
  directory.make("encoder");
  base::write_file_atomically(directory / "encoder/config.json",
                              encoder_json(config).dump_pretty());
  base::write_file_atomically(directory / "rl_agent_config.json", agent_json(config).dump_pretty());
  write_model(config, options, directory / "model.safetensors");
  directory.commit();
}

}  // namespace abba::checkpoint
