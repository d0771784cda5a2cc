// Private to process.cpp: the thread that empties a child's standard error.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/workers/process.h"

namespace abba::workers {

// Owns the reading end. Keeps the last lines, cut at a length; passes a bounded number on to `log`.
class Process::StderrReader {
 public:
  StderrReader(int fd, std::function<void(std::string_view)> log);
  ~StderrReader();
  StderrReader(const StderrReader&) = delete;
  StderrReader& operator=(const StderrReader&) = delete;

  [[nodiscard]] std::vector<std::string> tail() const;
  // Takes what is still in the pipe, then ends the thread, even if a grandchild holds the pipe
  // open.
  void stop();

 private:
  static constexpr std::size_t kTailLines = 100;
  static constexpr std::size_t kLineBytes = 2000;
  static constexpr std::size_t kLoggedLines = 10'000;

  void run();
  void take(std::string_view bytes);
  void finish_line();

  int fd_;
  int stop_event_;
  std::function<void(std::string_view)> log_;
  std::size_t logged_ = 0;
  std::string line_;
  mutable std::mutex mutex_;
  std::deque<std::string> tail_;
  std::thread thread_;
};

}  // namespace abba::workers
