#include "harness/trace/collect/collector.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/trace/collect/convert.h"
#include "harness/trace/collect/trace_writer.h"

namespace abba::trace {
namespace {

constexpr std::chrono::milliseconds kClockPeriod(20);
constexpr std::size_t kBufferAlignment = 8;
constexpr std::size_t kSpareBuffers = 4;
constexpr const char* kMode =
    "kernels, copies, memory sets, runtime and driver calls, ranges; graphs by node";

struct WantedKind {
  CUpti_ActivityKind kind;
  const char* name;
};
constexpr WantedKind kWanted[] = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
                                  {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
                                  {CUPTI_ACTIVITY_KIND_MEMSET, "memory sets"},
                                  {CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls"},
                                  {CUPTI_ACTIVITY_KIND_DRIVER, "driver calls"},
                                  {CUPTI_ACTIVITY_KIND_MARKER, "ranges"}};

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void say(const std::string& sentence) {
  std::fprintf(stderr, "abba-trace: %s\n", sentence.c_str());
}

class Collector {
 public:
  Collector(const std::string& path, const CuptiApi& api)
      : api_(api), writer_(path), converter_(api_, writer_), process_(getpid()) {}

  // What went wrong, or nothing. Callbacks may come from here on.
  std::string begin(CUpti_BuffersCallbackRequestFunc requested,
                    CUpti_BuffersCallbackCompleteFunc completed) {
    if (!writer_.failure().empty()) {
      return writer_.failure();
    }
    describe();
    for (std::size_t i = 0; i < kSpareBuffers; ++i) {
      spare_.push_back(new_buffer());
    }
    api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult result = api_.register_callbacks(requested, completed);
    if (result != CUPTI_SUCCESS) {
      return "CUPTI takes no buffers: " + result_text(api_, result);
    }
    for (const WantedKind& wanted : kWanted) {
      result = api_.enable(wanted.kind);
      if (result == CUPTI_SUCCESS) {
        continue;
      }
      const std::string why = std::string("CUPTI gives no records of ") + wanted.name + ": " +
                              result_text(api_, result);
      if (wanted.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        return why;
      }
      say(why);
      const std::lock_guard<std::mutex> lock(mutex_);  // buffers of the other kinds may come by now
      writer_.info(kInfoLacking, why);
    }
    start_clock_thread();
    return {};
  }

  void fail(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    say(why + "; the process goes on untraced");
    writer_.info(kInfoStatus, why);
  }

  void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spare_.empty()) {
      spare_.push_back(new_buffer());
    }
    *buffer = spare_.back();  // null: CUPTI drops the records and counts them
    spare_.pop_back();
    *size = *buffer == nullptr ? 0 : kTraceBufferBytes;
    *max_records = 0;
  }

  void complete(std::uint8_t* buffer, std::size_t valid_bytes) {
    if (buffer == nullptr) {
      return;
    }
    std::vector<const CUpti_Activity*> records;
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 && api_.get_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      records.push_back(record);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < records.size() && !ended_; ++i) {
      converter_.add(*records[i]);
    }
    spare_.push_back(buffer);
    writer_.flush();
  }

  void finish() {
    if (getpid() != process_) {
      return;  // a forked child has neither the records nor the clock's thread
    }
    if (clock_thread_.joinable()) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        stop_ = true;
      }
      wake_.notify_all();
      clock_thread_.join();
    }
    std::size_t dropped = 0;
    CUptiResult flushed = CUPTI_SUCCESS;
    if (!failed_) {
      flushed = api_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      api_.get_dropped(nullptr, 0, &dropped);
      pair_once();
    }
    end(flushed, dropped);
  }

 private:
  static std::uint8_t* new_buffer() {
    return static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kTraceBufferBytes));
  }

  void describe() {
    std::uint32_t version = 0;
    api_.get_version(&version);
    writer_.info(kInfoStatus, "ok");
    writer_.info(kInfoMode, kMode);
    writer_.info(kInfoCupti, std::to_string(version));
    writer_.info(kInfoBuffer, std::to_string(kTraceBufferBytes));
  }

  void end(CUptiResult flushed, std::size_t dropped) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) {
      return;
    }
    if (flushed != CUPTI_SUCCESS) {
      const std::string why = "the last records were not flushed: " + result_text(api_, flushed);
      writer_.info(kInfoStatus, why);
      say(why);
    }
    writer_.end({dropped, 0, converter_.strange()});
    ended_ = true;
    if (!writer_.failure().empty()) {
      say(writer_.failure());
    }
  }

  // A signal is for the traced program's own threads.
  void start_clock_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    clock_thread_ = std::thread([this] { pair_clocks(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Both clocks at one moment: of some tries the one that took the least time. Not under the lock:
  // CUPTI may hold one of its own while it waits for ours in a callback.
  void pair_once() {
    ClockRecord best = {};
    std::int64_t shortest = -1;
    for (int i = 0; i < 5; ++i) {
      std::uint64_t trace_ns = 0;
      const std::int64_t before = steady_ns();
      const bool read = api_.get_timestamp(&trace_ns) == CUPTI_SUCCESS;
      const std::int64_t took = steady_ns() - before;
      if (read && (shortest < 0 || took < shortest)) {
        shortest = took;
        best = {static_cast<std::int64_t>(trace_ns), before + took / 2};
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (shortest >= 0 && !ended_) {
      writer_.clock(best);
    }
  }

  // The first pair too: begin() runs inside of the driver's initialization, where nothing may wait.
  void pair_clocks() {
    for (bool stop = false; !stop;) {
      pair_once();
      std::unique_lock<std::mutex> lock(mutex_);
      stop = wake_.wait_for(lock, kClockPeriod, [this] { return stop_; });
    }
  }

  CuptiApi api_;
  TraceWriter writer_;
  Converter converter_;
  pid_t process_;
  std::mutex mutex_;  // of everything below, and of writer and converter
  std::condition_variable wake_;
  bool stop_ = false;
  bool failed_ = false;
  bool ended_ = false;
  std::vector<std::uint8_t*> spare_;
  std::thread clock_thread_;
};

// CUPTI's callbacks carry no pointer of ours, and one may come after every destructor has run: the
// collector of the process is kept here and never destroyed.
Collector* the_collector = nullptr;

void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  the_collector->request(buffer, size, max_records);
}

void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes) {
  try {
    the_collector->complete(buffer, valid_bytes);
  } catch (const std::exception& error) {
    say(std::string("records were lost: ") + error.what());
  }
}

}  // namespace

void begin_trace_with(const std::string& path, const CuptiApi& api) {
  if (the_collector != nullptr) {
    return;
  }
  try {
    the_collector = new Collector(path, api);
    const std::string why = the_collector->begin(on_request, on_complete);
    if (!why.empty()) {
      the_collector->fail(why);
    }
  } catch (const std::exception& error) {
    say(std::string("tracing could not begin: ") + error.what());
  }
}

void begin_trace(const std::string& path, const std::string& cupti) {
  CuptiApi api;
  const std::string why = load_cupti(cupti, api);
  if (why.empty()) {
    begin_trace_with(path, api);
    return;
  }
  say(why + "; the process goes on untraced");
  try {
    TraceWriter writer(path);
    writer.info(kInfoStatus, why);
    writer.end({});
  } catch (const std::exception& error) {
    say(std::string("tracing could not begin: ") + error.what());
  }
}

void finish_trace() {
  if (the_collector == nullptr) {
    return;
  }
  try {
    the_collector->finish();
  } catch (const std::exception& error) {
    say(std::string("the trace could not be ended: ") + error.what());
  }
}

}  // namespace abba::trace
