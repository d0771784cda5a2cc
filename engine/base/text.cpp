#include "engine/base/text.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"

namespace abba::base {
namespace {

// Closes and removes the temporary unless commit() was reached.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target)
      : target_(target), path_(target + ".tmp" + std::to_string(::getpid())) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0) {
      fail("cannot be created");
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(path_.c_str());
    }
  }
  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) {
        fail("cannot be written");
      }
      bytes.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    if (::fsync(descriptor_) != 0) {
      fail("cannot be written");
    }
  }
  void commit() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
      fail("cannot be put in its place");
    }
    ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kBroken, target_, what + ": " + errno_text(errno));
  }
  std::string target_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

std::string read_file(const std::string& path, std::size_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::kBadInput, path, "is a directory, a file is needed");
  }
  // Opening a pipe that lies in a folder waits for a writer that may never come; one that a shell
  // handed over (/dev/stdin, /dev/fd/63) has its writer.
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool is_pipe =
      kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::socket;
  if (is_pipe && path.rfind("/dev/", 0) != 0 && path.rfind("/proc/", 0) != 0) {
    throw Error(ErrorCode::kBadInput, path, "is a pipe or socket, a file is needed");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    throw Error(ErrorCode::kBadInput, path, "cannot be opened: " + errno_text(errno));
  }
  std::string bytes;
  char buffer[1U << 16U];
  for (;;) {
    const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get());
    bytes.append(buffer, count);
    if (bytes.size() > max_bytes) {
      throw Error(ErrorCode::kBadInput, path,
                  "is larger than the " + std::to_string(max_bytes) + " bytes accepted here");
    }
    if (count < sizeof buffer) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(ErrorCode::kBadInput, path, "cannot be read: " + errno_text(errno));
  }
  return bytes;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  TemporaryFile file(path);
  file.write(bytes);
  file.commit();
}

void append_line(const std::string& path, std::string_view line) {
  ABBA_CHECK(line.ends_with('\n'));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    (void)::flock(descriptor, LOCK_EX);
  }
  struct stat before {};
  const bool sized = descriptor >= 0 && ::fstat(descriptor, &before) == 0;
  const ssize_t count = sized ? ::write(descriptor, line.data(), line.size()) : -1;
  const bool written = count == static_cast<ssize_t>(line.size());
  const int reason = count >= 0 && !written ? ENOSPC : errno;
  if (count > 0 && !written) {
    (void)!::ftruncate(descriptor, before.st_size);
  }
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  if (!written) {
    throw Error(ErrorCode::kBroken, path, "cannot be appended to: " + errno_text(reason));
  }
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) {
      return parts;
    }
    start = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? std::string_view() : separator;
    text += parts[i];
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string utc_text(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return buffer;
}

}  // namespace abba::base
