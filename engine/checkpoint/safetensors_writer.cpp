#include "engine/checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace abba::checkpoint {
namespace {

using base::Json;

[[noreturn]] void refuse(const std::string& path, const std::string& doing, int error_number) {
  throw base::Error(base::ErrorCode::kBroken, path, doing + ": " + base::errno_text(error_number));
}

// The 8 length bytes and the JSON, padded with spaces so that the data starts at a multiple of 8.
std::string header_text(const std::vector<TensorInfo>& tensors,
                        const std::vector<std::pair<std::string, std::string>>& metadata) {
  Json json = Json::object();
  if (!metadata.empty()) {
    Json pairs = Json::object();
    for (const auto& [key, value] : metadata) pairs.set(key, value);
    json.set("__metadata__", std::move(pairs));
  }
  for (const TensorInfo& info : tensors) {
    Json shape = Json::array();
    for (int axis = 0; axis < info.shape.rank(); ++axis) shape.push_back(info.shape[axis]);
    Json offsets = Json::array();
    offsets.push_back(info.offset_bytes);
    offsets.push_back(info.offset_bytes + info.size_bytes);
    json.set(info.name, Json::object({{"dtype", tensor::name_of(info.dtype)},
                                      {"shape", std::move(shape)},
                                      {"data_offsets", std::move(offsets)}}));
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t size = text.size();
  std::string prefix(8, '\0');
  std::memcpy(prefix.data(), &size, 8);
  return prefix + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(
    std::string path, std::vector<TensorInfo> tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata)
    : path_(std::move(path)),
      temporary_(path_ + ".partial." + std::to_string(::getpid())),
      tensors_(std::move(tensors)) {
  for (TensorInfo& info : tensors_) {
    const std::uint64_t element_bytes = tensor::size_bytes_of(info.dtype);
    ABBA_CHECK(data_bytes_ % element_bytes == 0);
    info.offset_bytes = data_bytes_;
    info.size_bytes = static_cast<std::uint64_t>(info.shape.element_count()) * element_bytes;
    data_bytes_ += info.size_bytes;
  }
  if (std::filesystem::exists(path_)) {
    throw base::Error(base::ErrorCode::kBadInput, path_, "exists already; it is not overwritten");
  }
  const std::string header = header_text(tensors_, metadata);
  data_start_ = header.size();
  descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor_ < 0) refuse(path_, "cannot be created", errno);
  const int error =
      ::posix_fallocate(descriptor_, 0, static_cast<off_t>(data_start_ + data_bytes_));
  try {
    if (error != 0) refuse(path_, "cannot be given its size", error);
    write_at(0, header.data(), header.size());
  } catch (...) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void SafetensorsWriter::write(std::size_t tensor, std::uint64_t first, const void* data,
                              std::size_t size_bytes) {
  ABBA_CHECK(tensor < tensors_.size());
  const TensorInfo& info = tensors_[tensor];
  ABBA_CHECK(first <= info.size_bytes && size_bytes <= info.size_bytes - first);
  write_at(data_start_ + info.offset_bytes + first, data, size_bytes);
  written_bytes_ += size_bytes;
}

void SafetensorsWriter::write_at(std::uint64_t offset, const void* data, std::size_t size_bytes) {
  const auto* bytes = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const ssize_t done = ::pwrite(descriptor_, bytes, size_bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse(path_, "cannot be written", errno);
    bytes += done;
    offset += static_cast<std::uint64_t>(done);
    size_bytes -= static_cast<std::size_t>(done);
  }
}

void SafetensorsWriter::finish() {
  ABBA_CHECK(descriptor_ >= 0 && written_bytes_ == data_bytes_);
  if (::fsync(descriptor_) != 0) refuse(path_, "cannot be synced", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, "cannot be named", errno);
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace abba::checkpoint
