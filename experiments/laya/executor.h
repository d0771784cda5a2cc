// The one thread that owns an engine, and the bounded queue in front of it. Any thread may submit;
// nobody blocks. What escapes from a job stops the executor for good: the engine behind it is not
// trusted again, the jobs that wait are dismissed and later ones are not taken.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace abba::laya {

class Executor {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Dismissal { kLate, kStopped };
  enum class Submission { kTaken, kBusy, kStopped };

  // Exactly one of the two is called, once, on the executor's thread.
  struct Job {
    std::function<void()> run;
    std::function<void(Dismissal)> dismiss;
    TimePoint deadline;  // not run if it is still waiting then
  };

  // Starts the thread. At most `most_in_flight` jobs wait or run.
  explicit Executor(std::size_t most_in_flight);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Submission submit(Job job);
  // Runs what waits, takes nothing more, and ends the thread.
  void finish();

  // What stopped it, or empty.
  [[nodiscard]] std::string failure() const;
  [[nodiscard]] std::size_t in_flight() const;

 private:
  void loop();
  bool next(Job& job);
  void run(const Job& job);
  void stop(const std::string& why);

  const std::size_t most_in_flight_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  bool running_ = false;
  bool finished_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace abba::laya
