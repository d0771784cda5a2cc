#include "engine/runtime/span_log.h"

namespace abba::runtime {

SpanLog::SpanLog(ClockNs clock, std::size_t most) : clock_(clock), most_(most) {
  records_.reserve(most_);
}

void SpanLog::clear() {
  records_.clear();
  dropped_ = 0;
  open_ = -1;
}

int SpanLog::open(const char* name) {
  if (records_.size() == most_) {
    ++dropped_;
    return -1;
  }
  const int index = static_cast<int>(records_.size());
  records_.push_back({name, open_, 0, 0});
  open_ = index;
  records_.back().start_ns = clock_();
  return index;
}

void SpanLog::close(int index) {
  SpanRecord& record = records_[static_cast<std::size_t>(index)];
  record.end_ns = clock_();
  open_ = record.parent;
}

}  // namespace abba::runtime
