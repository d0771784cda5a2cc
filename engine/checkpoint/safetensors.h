// A safetensors file, mapped read-only. Everything in its header is validated before any byte of a
// tensor is reachable: length, JSON, dtypes, shapes, offsets that tile the data without overlap,
// gap or rest. SafetensorsFile owns the map; the views it gives must not outlive it. A file that
// another process shortens while it is mapped is beyond this class (SIGBUS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor/view.h"

namespace abba::checkpoint {

struct TensorInfo {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
  std::uint64_t offset_bytes = 0;  // from the start of the data section
  std::uint64_t size_bytes = 0;
};

// What the header says. `mistakes` holds one sentence each; with any, `tensors` must not be used.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // ascending offset
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> mistakes;
};

// Validates header text (the JSON after the 8 length bytes) against `data_bytes` bytes of data,
// whose first byte lies `data_start` bytes into the file. Never throws for what the text says.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_start,
                                           std::uint64_t data_bytes);

class SafetensorsFile {
 public:
  // Throws Error(kBadInput) with the file's name and one sentence (the first mistake and how many
  // more).
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  // Every mistake of a file; empty if it can be opened.
  static std::vector<std::string> mistakes_of(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return map_bytes_; }
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return metadata_;
  }
  // nullptr if the file has no such tensor.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  // The tensor in the map. Throws Error(kBadInput) naming file and tensor if it is not there.
  [[nodiscard]] tensor::ConstView view(std::string_view name) const;
  [[nodiscard]] tensor::ConstView view(const TensorInfo& info) const;
  // Gives the tensor's pages back to the kernel: resident memory falls, contents are read again
  // from the file when touched. Call it after a tensor was converted.
  void drop_pages(const TensorInfo& info) const;

 private:
  struct Unchecked {};
  SafetensorsFile(const std::string& path, Unchecked, std::vector<std::string>& mistakes);
  void map_file(std::vector<std::string>& mistakes);

  std::string path_;
  const std::byte* map_ = nullptr;
  std::uint64_t map_bytes_ = 0;
  std::uint64_t data_start_ = 0;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace abba::checkpoint
