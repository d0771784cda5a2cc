#include "harness/trace/collect/trace_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace abba::trace {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

template <typename Record>
std::string_view bytes_of(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, std::uint64_t max_bytes)
    : path_(path), max_bytes_(max_bytes) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) {
    failure_ = path + ": cannot be made: " + std::strerror(errno);
    return;
  }
  FileHeader header = {};
  std::memcpy(header.magic, kTraceMagic, sizeof header.magic);
  header.version = kTraceVersion;
  header.process = static_cast<std::uint32_t>(getpid());
  pending_ = bytes_of(header);
  written_ = sizeof header;
}

TraceWriter::~TraceWriter() {
  if (file_ >= 0) {
    flush();
    close(file_);
  }
}

void TraceWriter::info(std::string_view key, std::string_view value) {
  const InfoRecord head = {static_cast<std::uint32_t>(key.size())};
  append(RecordType::kInfo, bytes_of(head), key, value.substr(0, kPieceBytes));
}

void TraceWriter::clock(const ClockRecord& pair) {
  append(RecordType::kClock, bytes_of(pair));
}

std::uint32_t TraceWriter::name(std::string_view text) {
  text = text.substr(0, kTraceNameBytes);
  const auto [known, is_new] =
      names_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size() + 1));
  if (is_new) {
    const NameRecord head = {known->second};
    append(RecordType::kName, bytes_of(head), text);
  }
  return known->second;
}

bool TraceWriter::fits(std::size_t bytes) {
  const bool fit = written_ + sizeof(RecordHeader) + bytes <= max_bytes_;
  cut_ += fit ? 0 : 1;
  return fit;
}

void TraceWriter::append(RecordType type, std::string_view head, std::string_view tail,
                         std::string_view end) {
  if (file_ < 0) {
    return;
  }
  const auto size = static_cast<std::uint32_t>(head.size() + tail.size() + end.size());
  const RecordHeader header = {static_cast<std::uint32_t>(type), size};
  pending_.append(bytes_of(header)).append(head).append(tail).append(end);
  written_ += sizeof header + size;
  if (pending_.size() >= kPieceBytes) {
    flush();
  }
}

void TraceWriter::flush() {
  std::string_view rest = pending_;
  while (file_ >= 0 && !rest.empty()) {
    const ssize_t count = write(file_, rest.data(), rest.size());
    if (count > 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      failure_ = path_ + ": cannot be written: " + std::strerror(errno);
      close(file_);
      file_ = -1;
    }
  }
  pending_.clear();
}

void TraceWriter::end(EndRecord end) {
  end.cut = cut_;
  append(RecordType::kEnd, bytes_of(end));
  flush();
  if (file_ >= 0 && close(file_) != 0) {
    failure_ = path_ + ": cannot be closed: " + std::strerror(errno);
  }
  file_ = -1;
}

}  // namespace abba::trace
