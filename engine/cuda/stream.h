// Owners of a stream and of an event: one CUDA handle each, movable, destructors never throw. A
// stream is always made explicitly and non-blocking; the legacy stream is never used, so nothing
// here waits for work it was not told about. Members that can fail throw base::Error.
#pragma once

#include <utility>

// CUDA's own opaque structs: cudaStream_t is CUstream_st*, cudaEvent_t is CUevent_st*.
struct CUstream_st;
struct CUevent_st;

namespace abba::cuda {

class Stream {
 public:
  Stream();
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Stream();

  [[nodiscard]] CUstream_st* get() const { return handle_; }
  // Waits for everything given to the stream; a failed kernel shows here at the latest.
  void synchronize() const;

 private:
  CUstream_st* handle_ = nullptr;
};

class Event {
 public:
  enum class Timing { kOff, kOn };
  explicit Event(Timing timing = Timing::kOff);
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Event();

  [[nodiscard]] CUevent_st* get() const { return handle_; }
  void record(const Stream& stream) const;
  void synchronize() const;
  // Milliseconds from `start` to this event; both with timing, both done.
  [[nodiscard]] float elapsed_ms(const Event& start) const;

 private:
  CUevent_st* handle_ = nullptr;
};

}  // namespace abba::cuda
