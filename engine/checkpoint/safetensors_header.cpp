#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/checkpoint/safetensors.h"

namespace abba::checkpoint {
namespace {

using base::Json;
using tensor::DType;
using tensor::Shape;

bool is_control(char character) {
  return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
}

// A tensor's name as it may stand in a message: hostile names are cut and lose control characters.
std::string quoted(const std::string& name) {
  std::string text = name.substr(0, 120);
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return "tensor \"" + text + (name.size() > 120 ? "…\"" : "\"");
}

// Names are printed, compared and lined up in tables; ours have about 40 bytes.
constexpr std::size_t kMaxNameBytes = 256;

// Reads one tensor's entry; what it cannot accept becomes a sentence in `mistakes` and nullopt.
class EntryReader {
 public:
  EntryReader(const std::string& name, const Json& entry, std::vector<std::string>& mistakes)
      : name_(name), entry_(entry), mistakes_(mistakes) {}

  std::optional<TensorInfo> read(std::uint64_t data_start, std::uint64_t data_bytes) {
    if (name_.size() > kMaxNameBytes) {
      return fail("has a name of " + std::to_string(name_.size()) + " bytes; at most " +
                  std::to_string(kMaxNameBytes) + " are accepted");
    }
    if (std::any_of(name_.begin(), name_.end(), is_control)) {
      return fail("has a control character in its name");
    }
    if (!entry_.is_object())
      return fail("is " + std::string(entry_.kind_name()) + ", not an object");
    for (const auto& [key, value] : entry_.as_object()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        return fail("has an unknown member \"" + key.substr(0, 40) + "\"");
      }
    }
    TensorInfo info;
    info.name = name_;
    std::uint64_t end = 0;
    if (!read_dtype(info) || !read_shape(info) || !read_offsets(info, end)) return std::nullopt;
    if (end > data_bytes) {
      return fail("ends at byte " + std::to_string(end) + " of the data, but the file has only " +
                  std::to_string(data_bytes) + ": it is truncated or its header is wrong");
    }
    if (info.size_bytes != expected_bytes(info)) {
      return fail("has " + std::to_string(info.size_bytes) + " bytes where its dtype and shape " +
                  info.shape.text() + " need " + std::to_string(expected_bytes(info)));
    }
    if ((data_start + info.offset_bytes) % tensor::size_bytes_of(info.dtype) != 0) {
      return fail("does not start at a multiple of its element size");
    }
    return info;
  }

 private:
  std::nullopt_t fail(const std::string& sentence) {
    mistakes_.push_back(quoted(name_) + " " + sentence);
    return std::nullopt;
  }

  static std::uint64_t expected_bytes(const TensorInfo& info) {
    return static_cast<std::uint64_t>(info.shape.element_count()) *
           tensor::size_bytes_of(info.dtype);
  }

  bool read_dtype(TensorInfo& info) {
    const Json* member = entry_.find("dtype");
    if (member == nullptr || !member->is_string()) {
      fail("has no \"dtype\" text");
      return false;
    }
    const auto dtype = tensor::dtype_from_name(member->as_string());
    if (!dtype) {
      fail("has the unknown dtype \"" + member->as_string().substr(0, 40) +
           "\"; known are F32, BF16, F16, I32, I64, U8");
      return false;
    }
    info.dtype = *dtype;
    return true;
  }

  bool read_shape(TensorInfo& info) {
    const Json* member = entry_.find("shape");
    if (member == nullptr || !member->is_array()) {
      fail("has no \"shape\" array");
      return false;
    }
    if (member->as_array().size() > Shape::kMaxRank) {
      fail("has " + std::to_string(member->as_array().size()) + " axes; at most 4 are accepted");
      return false;
    }
    std::vector<std::int64_t> extents;
    std::int64_t product = static_cast<std::int64_t>(tensor::size_bytes_of(info.dtype));
    for (const Json& extent : member->as_array()) {
      if (!extent.is_int() || extent.as_int() < 0) {
        fail("has a shape whose extents are not all whole numbers from 0 to 2^63 - 1");
        return false;
      }
      extents.push_back(extent.as_int());
      // A zero would hide an overflow of the other extents, so it does not enter the product.
      const std::int64_t factor = std::max<std::int64_t>(1, extents.back());
      if (__builtin_mul_overflow(product, factor, &product)) {
        fail("has a shape whose size in bytes overflows 63 bits");
        return false;
      }
    }
    info.shape = Shape(std::span<const std::int64_t>(extents));
    return true;
  }

  bool read_offsets(TensorInfo& info, std::uint64_t& end) {
    const Json* member = entry_.find("data_offsets");
    const bool pair = member != nullptr && member->is_array() && member->as_array().size() == 2;
    if (!pair || !member->as_array()[0].is_int() || !member->as_array()[1].is_int() ||
        member->as_array()[0].as_int() < 0 ||
        member->as_array()[1].as_int() < member->as_array()[0].as_int()) {
      fail("has no \"data_offsets\" [begin, end] of whole numbers with 0 <= begin <= end");
      return false;
    }
    info.offset_bytes = member->as_array()[0].as_uint();
    end = member->as_array()[1].as_uint();
    info.size_bytes = end - info.offset_bytes;
    return true;
  }

  const std::string& name_;
  const Json& entry_;
  std::vector<std::string>& mistakes_;
};

void read_metadata(const Json& json, SafetensorsHeader& header) {
  if (!json.is_object()) {
    header.mistakes.emplace_back("\"__metadata__\" is not an object");
    return;
  }
  for (const auto& [key, value] : json.as_object()) {
    if (value.is_string()) {
      header.metadata.emplace_back(key, value.as_string());
    } else {
      header.mistakes.push_back("\"__metadata__\" holds something other than text at \"" +
                                key.substr(0, 40) + "\"");
    }
  }
}

// The tensors, in order of their offsets, must tile the data: no overlap, no gap, nothing left.
void check_tiling(SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  const std::string* previous = nullptr;
  for (const TensorInfo& info : header.tensors) {
    if (info.offset_bytes < covered) {
      header.mistakes.push_back(quoted(info.name) + " overlaps " + quoted(*previous) +
                                " in the data");
    } else if (info.offset_bytes > covered) {
      header.mistakes.push_back(quoted(info.name) + " leaves a gap of " +
                                std::to_string(info.offset_bytes - covered) +
                                " bytes of the data before it");
    }
    covered = std::max(covered, info.offset_bytes + info.size_bytes);
    previous = &info.name;
  }
  if (covered < data_bytes) {
    const std::string last = previous == nullptr ? "the header" : "the last " + quoted(*previous);
    header.mistakes.push_back(std::to_string(data_bytes - covered) + " bytes follow " + last +
                              " and belong to no tensor");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_start,
                                           std::uint64_t data_bytes) {
  SafetensorsHeader header;
  Json json;
  try {
    json = base::parse_json(text, "", {.max_bytes = text.size(), .max_depth = 8});
  } catch (const base::Error& error) {
    header.mistakes.push_back("the header is no valid JSON: " + error.message());
    return header;
  }
  if (!json.is_object()) {
    header.mistakes.push_back("the header is " + std::string(json.kind_name()) +
                              ", not an object of tensors");
    return header;
  }
  for (const auto& [name, entry] : json.as_object()) {
    if (name == "__metadata__") {
      read_metadata(entry, header);
      continue;
    }
    auto info = EntryReader(name, entry, header.mistakes).read(data_start, data_bytes);
    if (info) header.tensors.push_back(std::move(*info));
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset_bytes, a.size_bytes) < std::pair(b.offset_bytes, b.size_bytes);
  });
  // A refused tensor would show as a gap as well, so the tiling is judged only when all were read.
  if (header.mistakes.empty()) check_tiling(header, data_bytes);
  return header;
}

}  // namespace abba::checkpoint
