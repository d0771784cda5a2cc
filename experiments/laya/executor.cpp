#include "experiments/laya/executor.h"

#include <exception>
#include <utility>

namespace abba::laya {

Executor::Executor(std::size_t most_in_flight)
    : most_in_flight_(most_in_flight), thread_([this] { loop(); }) {}

Executor::~Executor() {
  finish();
}

Executor::Submission Executor::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || !failure_.empty()) return Submission::kStopped;
    if (waiting_.size() + (running_ ? 1U : 0U) >= most_in_flight_) return Submission::kBusy;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return Submission::kTaken;
}

void Executor::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string Executor::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::size_t Executor::in_flight() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + (running_ ? 1U : 0U);
}

void Executor::loop() {
  for (Job job; next(job); job = {}) run(job);
}

bool Executor::next(Job& job) {
  std::unique_lock lock(mutex_);
  running_ = false;
  changed_.wait(lock, [this] { return finished_ || !waiting_.empty(); });
  if (waiting_.empty()) return false;
  job = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = true;
  return true;
}

void Executor::run(const Job& job) {
  if (!failure().empty()) return job.dismiss(Dismissal::kStopped);
  if (std::chrono::steady_clock::now() > job.deadline) return job.dismiss(Dismissal::kLate);
  try {
    job.run();
  } catch (const std::exception& error) {
    stop(error.what());
  } catch (...) {
    stop("something was thrown that is no std::exception");
  }
}

void Executor::stop(const std::string& why) {
  const std::lock_guard lock(mutex_);
  failure_ = why.empty() ? "an exception without a text" : why;
}

}  // namespace abba::laya
