#include "harness/workers/stderr_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

#include "engine/base/utf8.h"

namespace abba::workers {

Process::StderrReader::StderrReader(int fd, std::function<void(std::string_view)> log)
    : fd_(fd), stop_event_(eventfd(0, EFD_CLOEXEC)), log_(std::move(log)) {
  fcntl(fd_, F_SETFL, O_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

Process::StderrReader::~StderrReader() {
  stop();
  close(fd_);
  close(stop_event_);
}

std::vector<std::string> Process::StderrReader::tail() const {
  const std::lock_guard lock(mutex_);
  return {tail_.begin(), tail_.end()};
}

void Process::StderrReader::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_event_, &one, sizeof(one));
  thread_.join();
}

void Process::StderrReader::run() {
  std::array<char, 65536> part;
  std::size_t left_after_stop = std::size_t{1} << 20U;  // a pipe holds less; a flood goes on
  for (;;) {
    std::array<pollfd, 2> watched = {pollfd{fd_, POLLIN, 0}, pollfd{stop_event_, POLLIN, 0}};
    poll(watched.data(), watched.size(), -1);
    const ssize_t size = read(fd_, part.data(), part.size());
    const bool stopping = watched[1].revents != 0;
    if (size > 0) {
      take({part.data(), static_cast<std::size_t>(size)});
      if (!stopping) continue;
      if (left_after_stop <= static_cast<std::size_t>(size)) break;
      left_after_stop -= static_cast<std::size_t>(size);
    } else if (size == 0 || stopping) {
      break;
    }
  }
  if (!line_.empty()) finish_line();
}

void Process::StderrReader::take(std::string_view bytes) {
  for (const char character : bytes) {
    if (character == '\n') {
      finish_line();
    } else if (line_.size() < kLineBytes) {
      line_ += character;
    }
  }
}

void Process::StderrReader::finish_line() {
  line_ = base::clean_utf8(line_);  // any program may write any bytes
  if (log_ && logged_ <= kLoggedLines) {
    log_(logged_ < kLoggedLines ? std::string_view(line_) : "(further lines are not logged)");
    ++logged_;
  }
  const std::lock_guard lock(mutex_);
  tail_.push_back(std::exchange(line_, std::string()));
  if (tail_.size() > kTailLines) tail_.pop_front();
}

}  // namespace abba::workers
