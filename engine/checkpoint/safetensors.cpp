#include "engine/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "engine/base/error.h"

namespace abba::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

// 206 tensors need 20 KiB; a header beyond this is no checkpoint but an attempt to fill memory.
constexpr std::uint64_t kMaxHeaderBytes = 16U << 20U;
constexpr std::uint64_t kLengthBytes = 8;

// Maps a whole regular file; the descriptor is not needed afterwards. Errors become sentences.
const std::byte* map_whole(const std::string& path, std::uint64_t& size_bytes,
                           std::vector<std::string>& mistakes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    mistakes.push_back("cannot be opened: " + base::errno_text(errno));
    return nullptr;
  }
  struct stat status = {};
  const std::byte* map = nullptr;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    mistakes.emplace_back("is not a regular file");
  } else if (static_cast<std::uint64_t>(status.st_size) < kLengthBytes) {
    mistakes.emplace_back("is too short for a safetensors file: it has not even 8 bytes");
  } else {
    size_bytes = static_cast<std::uint64_t>(status.st_size);
    void* address = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      mistakes.push_back("cannot be mapped: " + base::errno_text(errno));
    } else {
      map = static_cast<const std::byte*>(address);
    }
  }
  ::close(descriptor);
  return map;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path, Unchecked /*unused*/,
                                 std::vector<std::string>& mistakes)
    : path_(path) {
  map_file(mistakes);
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  std::vector<std::string> mistakes;
  map_file(mistakes);
  if (mistakes.empty()) return;
  if (map_ != nullptr) ::munmap(const_cast<std::byte*>(map_), map_bytes_);
  std::string message = mistakes.front();
  if (mistakes.size() > 1) {
    message += " (and " + std::to_string(mistakes.size() - 1) + " more; verify lists them)";
  }
  throw base::Error(base::ErrorCode::kBadInput, path, message);
}

SafetensorsFile::~SafetensorsFile() {
  if (map_ != nullptr) ::munmap(const_cast<std::byte*>(map_), map_bytes_);
}

std::vector<std::string> SafetensorsFile::mistakes_of(const std::string& path) {
  std::vector<std::string> mistakes;
  const SafetensorsFile file(path, Unchecked{}, mistakes);
  return mistakes;
}

void SafetensorsFile::map_file(std::vector<std::string>& mistakes) {
  map_ = map_whole(path_, map_bytes_, mistakes);
  if (map_ == nullptr) return;
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, map_, kLengthBytes);
  if (header_bytes > map_bytes_ - kLengthBytes) {
    mistakes.push_back("says its header has " + std::to_string(header_bytes) + " bytes, but only " +
                       std::to_string(map_bytes_ - kLengthBytes) +
                       " follow: it is truncated or no safetensors file");
    return;
  }
  if (header_bytes > kMaxHeaderBytes) {
    mistakes.push_back("has a header of " + std::to_string(header_bytes) +
                       " bytes; at most 16 MiB are accepted");
    return;
  }
  data_start_ = kLengthBytes + header_bytes;
  const std::string_view text(reinterpret_cast<const char*>(map_ + kLengthBytes), header_bytes);
  SafetensorsHeader header = parse_safetensors_header(text, data_start_, map_bytes_ - data_start_);
  for (std::string& mistake : header.mistakes) mistakes.push_back(std::move(mistake));
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto entry = index_.find(name);
  return entry == index_.end() ? nullptr : &tensors_[entry->second];
}

tensor::ConstView SafetensorsFile::view(std::string_view name) const {
  const TensorInfo* info = find(name);
  if (info == nullptr) {
    throw base::Error(base::ErrorCode::kBadInput, path_,
                      "has no tensor \"" + std::string(name) + "\"");
  }
  return view(*info);
}

tensor::ConstView SafetensorsFile::view(const TensorInfo& info) const {
  ABBA_CHECK(info.offset_bytes + info.size_bytes <= map_bytes_ - data_start_);
  return {map_ + data_start_ + info.offset_bytes, info.dtype, info.shape};
}

void SafetensorsFile::drop_pages(const TensorInfo& info) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = (data_start_ + info.offset_bytes) / page * page;
  const std::uint64_t end = data_start_ + info.offset_bytes + info.size_bytes;
  ABBA_CHECK(end <= map_bytes_);
  // Advice only: pages shared with a neighbour are read again, a refusal costs memory and nothing
  // else.
  ::madvise(const_cast<std::byte*>(map_ + begin), end - begin, MADV_DONTNEED);
}

}  // namespace abba::checkpoint
