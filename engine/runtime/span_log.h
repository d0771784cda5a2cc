// Where the time of one request went: named, nested spans, taken with the caller's clock. A log
// belongs to its caller and to one thread at a time; a request that is given none records none. It
// allocates when it is made and not afterwards; what does not fit is counted as dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace abba::runtime {

// Names of the spans of a request, in the order of their ends. A request that is cut into several
// batches has several of each from kModel to kReadback.
inline constexpr const char* kEngine = "engine";      // the request, start to end
inline constexpr const char* kTokenize = "tokenize";  // questions checked, texts to rows of ids
inline constexpr const char* kModel = "model";        // ids on the host to logits on the host
inline constexpr const char* kEncoder = "encoder";    // ids on the host to the decision layers' end
inline constexpr const char* kPack = "pack";          // rows to one padded batch
inline constexpr const char* kUpload = "upload";      // checked and copied to the backend
inline constexpr const char* kEncode = "encode";      // encoder and decision layers, waited for
inline constexpr const char* kHead = "head";          // scorer and action head, results read
inline constexpr const char* kScore = "score";        // the two heads (started, on a device)
inline constexpr const char* kReadback = "readback";  // waiting for them and copying to the host
inline constexpr const char* kDecode = "decode";      // logits to typed answers

struct SpanRecord {
  const char* name;
  int parent;  // index of the span around it, -1 for none
  std::int64_t start_ns;
  std::int64_t end_ns;
};

using ClockNs = std::int64_t (*)();  // nanoseconds of any steady clock

class SpanLog {
 public:
  explicit SpanLog(ClockNs clock, std::size_t most = 512);

  void clear();
  int open(const char* name);  // -1 if there is no room
  void close(int index);
  [[nodiscard]] const std::vector<SpanRecord>& records() const { return records_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  ClockNs clock_;
  std::size_t most_;
  std::vector<SpanRecord> records_;
  std::size_t dropped_ = 0;
  int open_ = -1;
};

// A span as long as its scope. `log` may be nullptr.
class ScopedSpan {
 public:
  ScopedSpan(SpanLog* log, const char* name)
      : log_(log), index_(log == nullptr ? -1 : log->open(name)) {}
  ~ScopedSpan() {
    if (index_ >= 0) log_->close(index_);
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  SpanLog* log_;
  int index_;
};

}  // namespace abba::runtime
