// abba_worker.h: makes a C++17 program an arm of an abba experiment. One file, standard library
// only; copy it anywhere. Derive from Worker, implement prepare() and request(), and end main with
//   return abba_worker::run(worker, argc, argv);
// The kit owns the rest of protocol abba.worker/1 (README.md beside this file): standard input and
// output, the timed loop and its clock (steady_clock, nanoseconds), warm-ups, sample arrays,
// counted allocations, digests, known effects for calibration. Standard output is the protocol's
// alone: what a worker prints there goes to standard error instead. To have allocations in the
// timed loop counted, define ABBA_WORKER_COUNT_ALLOCATIONS before the include in exactly one
// translation unit; it replaces the global operators new and delete.
#ifndef ABBA_WORKER_H_
#define ABBA_WORKER_H_

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace abba_worker {

// ---- JSON: what settings, inputs and facts are ------------------------------------------------

// Objects keep insertion order. Readers never fail: a missing or differently typed value gives the
// fallback, so a worker checks what it needs with the is_* questions.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  enum class Kind { kNull, kBool, kInteger, kDouble, kText, kArray, kObject };

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : kind_(Kind::kBool), integer_(value ? 1 : 0) {}
  template <typename Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  Json(Integer value) : kind_(Kind::kInteger), integer_(static_cast<std::int64_t>(value)) {}
  Json(double value) : kind_(Kind::kDouble), double_(value) {}
  Json(const char* value) : kind_(Kind::kText), text_(value) {}
  Json(std::string value) : kind_(Kind::kText), text_(std::move(value)) {}
  Json(Array value) : kind_(Kind::kArray), array_(std::move(value)) {}
  Json(Object value) : kind_(Kind::kObject), object_(std::move(value)) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_integer() const { return kind_ == Kind::kInteger; }
  bool is_number() const { return is_integer() || kind_ == Kind::kDouble; }
  bool is_string() const { return kind_ == Kind::kText; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  bool boolean(bool fallback = false) const {
    return kind_ == Kind::kBool ? integer_ != 0 : fallback;
  }
  std::int64_t integer(std::int64_t fallback = 0) const {
    return is_integer() ? integer_ : fallback;
  }
  double number(double fallback = 0) const {
    return is_integer() ? static_cast<double>(integer_) : is_number() ? double_ : fallback;
  }
  std::string text(const std::string& fallback = "") const {
    return is_string() ? text_ : fallback;
  }
  const Array& items() const { return array_; }        // empty unless an array
  const Object& members() const { return object_; }    // empty unless an object
  const Json& operator[](std::string_view key) const;  // null if there is none
  Json& set(std::string_view key, Json value);         // null becomes an object first
  void push_back(Json value);                          // null becomes an array first

  std::string dump() const;  // one line
  // Throws std::runtime_error; depth at most 64.
  static Json parse(std::string_view text);

 private:
  Kind kind_ = Kind::kNull;
  std::int64_t integer_ = 0;
  double double_ = 0;
  std::string text_;
  Array array_;
  Object object_;
};

// ---- What a worker says about itself ----------------------------------------------------------

struct Level {
  std::string name;
  std::string exactness = "bitwise";  // "bitwise", "same-order", "tolerance"
  std::string exact_to = "";          // the level it is exact to, or empty
};

struct Factor {
  std::string name;
  std::vector<Level> levels;
  std::string default_level = "";  // empty = the first
  bool hot = false;  // request() reads level(), so it can be switched between two slots
};

struct Boundary {
  std::string name;
  std::string parent = "";  // empty = outermost
  std::string unit = "ns";
  std::string clock = "steady_clock";
};

struct Metric {
  std::string name;
  std::string unit;
  bool higher_is_better = false;
};

struct Description {
  std::string name = "worker";
  std::string version = "0";
  std::vector<Factor> factors = {};
  std::vector<std::string> stages = {};              // of outputs; not empty = capability "outputs"
  std::vector<Boundary> boundaries = {{"request"}};  // the first one is the default
  std::vector<Metric> metrics = {};
  Json workload_form = {};        // {"input": in words, "example": an input that prepare() accepts}
  std::string source_stamp = "";  // source tree and dirty-patch hash, or empty
  std::vector<std::string> files_to_hash = {};  // besides executable and mapped libraries
  std::vector<std::string> capabilities = {};   // further ones
  bool flushes = true;    // flush_caches() empties what request() works on (capability "flush")
  Json facts = {};        // anything else worth recording
  bool captures = false;  // graph_capture() answers (capability "graph_capture")
};

struct LoadRequest {
  Json settings;
  std::map<std::string, std::string> files;    // name -> absolute path
  std::map<std::string, std::string> factors;  // every declared factor, defaults filled in
  std::string device;
  std::set<std::string> named;  // of the factors, those that were asked for by name
};

// What is in effect afterwards. The kit fills it from the request first; change what differs.
struct LoadReply {
  Json settings;
  std::map<std::string, std::string> factors;
  Json device;
  Json memory;                             // {"resident_bytes": n}; the kit reads it if null
  std::map<std::string, double> setup_ns;  // "modules", ...; the kit adds "load"
};

struct Workload {
  std::string id;
  Json input;              // opaque to the harness
  int rotate = 0;          // seeded variants of the input wanted; use variant() in request()
  std::uint64_t seed = 0;  // of the variants
  std::vector<std::string> boundaries;  // to time, outermost first; empty = the default
};

struct Prepared {
  double items = -1, bytes = -1, flops = -1;  // work of one request; negative = not declared
  Json facts = {};
};

// What one shape costs until it runs as a captured graph. Times of steady_clock with the device
// idle at both ends; -1 = not known, or there is none: a shape that runs without a graph leaves out
// everything from capture_ns on.
struct CaptureCosts {
  std::string shape;                  // in the worker's words
  std::int64_t first_run_ns = -1;     // its first request in this process
  std::int64_t warm_runs = -1;        // further requests before the capture ...
  std::int64_t warm_ns = -1;          // ... and what they took together
  std::int64_t capture_ns = -1;       // recording the work into a graph
  std::int64_t instantiate_ns = -1;   // making it executable
  std::int64_t upload_ns = -1;        // to the device
  std::int64_t first_replay_ns = -1;  // the first request that the graph answers
  std::int64_t nodes = -1;            // of the graph
  std::int64_t bytes = -1;            // of device memory that it holds
};

// One output. `data` (little-endian, row-major, valid rows only) is what is digested; `values` are
// the same elements widened to float, needed only when they are asked for.
struct Tensor {
  std::string stage;
  std::string dtype;  // "F32", "BF16", "F16", "F64", "I32", "I64", "U8"
  std::vector<std::int64_t> shape;
  std::string data;
  std::vector<float> values = {};
};
// A tensor of floats, digest and values alike.
Tensor make_tensor(std::string stage, std::vector<std::int64_t> shape, const float* values);
// Uniform in [-1, 1), the same everywhere for one seed: inputs, never zeros.
std::vector<float> random_floats(std::int64_t count, std::uint64_t seed);

// ---- The worker -------------------------------------------------------------------------------

// A refusal with a stable code ("unknown_level", "bad_input"); any std::exception will do too.
class Refused : public std::runtime_error {
 public:
  Refused(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

class Recorder;
class Session;

// What the self-check of a flush saw: one walk over the same small memory, in nanoseconds, right
// after another one and after a flush.
struct FlushCheck {
  std::string cache;  // which one, in words
  double bytes = 0;   // that a flush moves
  double warm_ns = 0, cold_ns = 0;
};

// `walk()`: nanoseconds of one walk over a small memory that only `flush_all()` puts out of the
// cache. Warm is the least of three walks after a first one.
template <typename Walk, typename Flush>
FlushCheck flush_check(const std::string& cache, double bytes, Walk walk, Flush flush_all) {
  walk();
  double warm = walk();
  for (int i = 0; i < 2; ++i) warm = std::min(warm, static_cast<double>(walk()));
  flush_all();
  return {cache, bytes, warm, walk()};
}

// Empties the caches of the CPU it runs on by streaming through twice the last level's size.
class HostCaches {
 public:
  HostCaches();
  void flush();
  // `flush_all`: the worker's own flush, which is what is checked.
  template <typename Flush>
  FlushCheck check(Flush flush_all) {
    return flush_check(
        "last-level cache of the CPU", static_cast<double>(stream_.size()),
        [this] { return walk(); }, flush_all);
  }
  static std::int64_t last_level_bytes();

 private:
  double walk();  // each line of the probe once, in an order no prefetcher guesses; nanoseconds
  std::vector<char> stream_;
  std::vector<std::uint32_t> next_;  // of each line of the probe, the one walked to next
  std::uint32_t at_ = 0;
  char touched_ = 0;
};

class Worker {
 public:
  virtual ~Worker() = default;

  // Sets up one workload. Throw std::exception (best: Refused) to refuse it.
  virtual Prepared prepare(const Workload& workload) = 0;
  // One request of the selected workload, start to end: the timed call. Throw to fail the request.
  // If it opens a Span named as the outermost boundary asked for, that span is the sample;
  // otherwise the whole call is, which only a boundary declared without parent allows.
  virtual void request() = 0;

  virtual Description describe() { return {}; }  // touches no device
  // May come several times; every workload is prepared again afterwards.
  virtual void load(const LoadRequest&, LoadReply&) {}
  // Whether request() honours device_spin_ns(), with what is loaded now. Asked after load() when a
  // calibration wants effects on a device; a worker without one refuses them.
  virtual bool spins_on_device() { return false; }
  // After a hot factor got another level between two slots, outside of any request's time. Default:
  // nothing, since request() reads level().
  virtual void switched() {}
  // Between two requests, outside of their time, where a slot asks for cold caches. A worker whose
  // request runs on a device overrides both and flushes that device's cache too.
  virtual void flush_caches() { host_caches().flush(); }
  virtual FlushCheck check_flush() {
    return host_caches().check([this] { flush_caches(); });
  }
  // The ledger of the selected workload, an entry for each shape, captured anew: the harness asks a
  // process that it takes no timed sample from. Afterwards request() gives the same results as
  // before. Declare it with Description::captures.
  virtual std::vector<CaptureCosts> graph_capture() {
    throw Refused("unsupported", "this worker captures no graph");
  }
  // Before a slot or outputs of a workload other than the last one. Default: prepare() again. A
  // worker that keeps several workloads ready overrides it.
  virtual void select(const Workload& workload) { prepare(workload); }
  // Of the last request. `values` asks for Tensor::values. Empty `stages` = all. The digest of a
  // slot is made of outputs({}, false). Default: what was exposed.
  virtual std::vector<Tensor> outputs(const std::vector<std::string>& /*stages*/, bool /*values*/) {
    std::vector<Tensor> tensors;
    for (const auto& [stage, view] : exposed_) {
      tensors.push_back(make_tensor(stage, view.first, view.second));
    }
    return tensors;
  }
  // For prepare(): the floats that each request() leaves there are the output `stage`. The memory
  // stays the worker's.
  void expose(const std::string& stage, std::vector<std::int64_t> shape, const float* values) {
    exposed_[stage] = {std::move(shape), values};
  }
  // The level in effect of a declared factor.
  const std::string& level(const std::string& factor) const { return levels_.at(factor); }

  // For request(): which of the `rotate` variants is due (0 without rotation), the boundaries
  // asked for (outermost first), where spans go, and values of declared metrics.
  int variant() const { return variant_; }
  // For graph_capture(): what the request took that first made the selected workload ready in this
  // process, whatever was loaded; -1 before.
  std::int64_t first_request_ns() const { return first_request_ns_; }
  const std::vector<std::string>& boundaries() const { return boundaries_; }
  Recorder& recorder() { return *recorder_; }
  void value(const char* metric, double value);
  // Nanoseconds that this request must keep the device busy for, before it waits for the device for
  // the last time; 0 = nothing is injected.
  std::int64_t device_spin_ns() const { return device_spin_ns_; }
  HostCaches& host_caches() {  // made when first needed: it is large
    if (host_caches_ == nullptr) host_caches_ = std::make_unique<HostCaches>();
    return *host_caches_;
  }

 private:
  friend class Session;
  std::int64_t device_spin_ns_ = 0;
  std::int64_t first_request_ns_ = -1;
  std::unique_ptr<HostCaches> host_caches_;
  int variant_ = 0;
  std::vector<std::string> boundaries_;
  std::map<std::string, std::string> levels_;
  std::map<std::string, std::pair<std::vector<std::int64_t>, const float*>> exposed_;
  Recorder* recorder_ = nullptr;
};

// Times a part of a request until its scope ends: Span span(recorder(), "pack"). The parent is the
// span open around it. Only on the thread that runs request(). Free of allocation; outside of a
// slot it records nothing.
class Span {
 public:
  Span(Recorder& recorder, const char* name);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder& recorder_;
  int index_;
};

// Serves the protocol until shutdown or the end of standard input; --describe prints hello and
// ends. Returns the exit code.
int run(Worker& worker, int argc, char** argv);
template <typename WorkerType>
int run(int argc, char** argv) {
  WorkerType worker;
  return run(worker, argc, argv);
}
#define ABBA_WORKER_MAIN(WorkerType)                 \
  int main(int argc, char** argv) {                  \
    return abba_worker::run<WorkerType>(argc, argv); \
  }

// ===============================================================================================
// Implementation
// ===============================================================================================

constexpr const char* kProtocol = "abba.worker/1";
constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20U;
constexpr std::int64_t kMaxRequests = 1'000'000;  // a slot, warm-ups included
constexpr std::size_t kMaxWorkloads = 256;

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void spin_until(std::int64_t deadline_ns) {
  while (now_ns() < deadline_ns) {
  }
}

// ---- Cold caches ------------------------------------------------------------------------------

// As the kernel says, or 64 MiB where it says nothing; never more than 512 MiB.
inline std::int64_t HostCaches::last_level_bytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string path =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size";
    long long kib = 0;
    if (std::FILE* file = std::fopen(path.c_str(), "r")) {
      if (std::fscanf(file, "%lldK", &kib) == 1)
        largest = std::max<std::int64_t>(largest, kib << 10);
      std::fclose(file);
    }
  }
  constexpr std::int64_t kMiB = 1 << 20;
  return largest == 0 ? 64 * kMiB : std::min<std::int64_t>(largest, 512 * kMiB);
}

inline HostCaches::HostCaches() : stream_(static_cast<std::size_t>(2 * last_level_bytes()), 1) {
  constexpr std::uint32_t kLines = 2048;  // of 64 bytes: 128 KiB, which a second level holds
  constexpr std::uint32_t kWords = 16;    // in a line
  std::vector<std::uint32_t> order(kLines);
  for (std::uint32_t i = 0; i < kLines; ++i) order[i] = i;
  std::uint32_t state = 12345;
  for (std::uint32_t i = kLines - 1; i > 0; --i) {
    state = state * 1664525U + 1013904223U;
    std::swap(order[i], order[(state >> 8U) % (i + 1)]);
  }
  next_.resize(kLines * kWords);
  for (std::uint32_t i = 0; i < kLines; ++i) {
    next_[order[i] * kWords] = order[(i + 1) % kLines] * kWords;
  }
}

// Writes: a line that was only read may be kept elsewhere as another's.
inline void HostCaches::flush() {
  for (std::size_t i = 0; i < stream_.size(); i += 64) {
    stream_[i] = static_cast<char>(stream_[i] + 1);
  }
  touched_ = static_cast<char>(touched_ + stream_[stream_.size() / 2]);
}

inline double HostCaches::walk() {
  const std::int64_t start = now_ns();
  std::uint32_t at = at_;
  do {
    at = next_[at];
  } while (at != at_);
  const std::int64_t end = now_ns();
  at_ = at;
  return static_cast<double>(end - start);
}

// ---- JSON -------------------------------------------------------------------------------------

inline const Json& Json::operator[](std::string_view key) const {
  static const Json kNull;
  for (const Member& member : members()) {
    if (member.first == key) return member.second;
  }
  return kNull;
}

inline Json& Json::set(std::string_view key, Json value) {
  if (!is_object()) *this = object();
  for (Member& member : object_) {
    if (member.first == key) return member.second = std::move(value);
  }
  object_.emplace_back(std::string(key), std::move(value));
  return object_.back().second;
}

inline void Json::push_back(Json value) {
  if (!is_array()) *this = array();
  array_.push_back(std::move(value));
}

namespace detail {

inline void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

inline void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {  // JSON has no such number
    out += "null";
    return;
  }
  std::array<char, 40> buffer{};
  for (int digits = 15; digits <= 17; ++digits) {  // the first that reads back the same
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
    if (std::strtod(buffer.data(), nullptr) == value) break;
  }
  out += buffer.data();
}

inline void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (byte < 0x20) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", byte);
      out += buffer.data();
    } else {
      out += character;
    }
  }
  out += '"';
}

inline void append_json(std::string& out, const Json& json) {
  const char* separator = "";
  switch (json.kind()) {
    case Json::Kind::kNull:
      out += "null";
      return;
    case Json::Kind::kBool:
      out += json.boolean() ? "true" : "false";
      return;
    case Json::Kind::kInteger:
      return append_integer(out, json.integer());
    case Json::Kind::kDouble:
      return append_number(out, json.number());
    case Json::Kind::kText:
      return append_text(out, json.text());
    case Json::Kind::kArray:
      out += '[';
      for (const Json& item : json.items()) {
        out += separator;
        append_json(out, item);
        separator = ",";
      }
      out += ']';
      return;
    case Json::Kind::kObject:
      out += '{';
      for (const Json::Member& member : json.members()) {
        out += separator;
        append_text(out, member.first);
        out += ':';
        append_json(out, member.second);
        separator = ",";
      }
      out += '}';
      return;
  }
}

// Recursive descent with a bounded depth; refuses what RFC 8259 does not allow.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json parse() {
    Json value = parse_value(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the end of the value");
    return value;
  }

 private:
  static constexpr int kMaxDepth = 64;

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("not valid JSON at byte " + std::to_string(at_) + ": " + what);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json parse_value(int depth) {
    if (depth > kMaxDepth) fail("nested too deeply");
    skip_space();
    switch (peek()) {
      case '{':
        return parse_object(depth);
      case '[':
        return parse_array(depth);
      case '"':
        return Json(parse_string());
      case 't':
        if (take("true")) return Json(true);
        break;
      case 'f':
        if (take("false")) return Json(false);
        break;
      case 'n':
        if (take("null")) return Json();
        break;
      default:
        return parse_number();
    }
    fail("unknown word");
  }

  Json parse_object(int depth) {
    Json object = Json::object();
    ++at_;
    skip_space();
    if (take("}")) return object;
    do {
      skip_space();
      if (peek() != '"') fail("a key was expected");
      const std::string key = parse_string();
      const auto same = [&](const Json::Member& member) { return member.first == key; };
      if (std::any_of(object.members().begin(), object.members().end(), same)) {
        fail("the key \"" + key.substr(0, 40) + "\" appears twice");
      }
      skip_space();
      if (!take(":")) fail("':' was expected");
      object.set(key, parse_value(depth + 1));
      skip_space();
    } while (take(","));
    if (!take("}")) fail("'}' was expected");
    return object;
  }

  Json parse_array(int depth) {
    Json array = Json::array();
    ++at_;
    skip_space();
    if (take("]")) return array;
    do {
      array.push_back(parse_value(depth + 1));
      skip_space();
    } while (take(","));
    if (!take("]")) fail("']' was expected");
    return array;
  }

  std::string parse_string() {
    std::string out;
    for (++at_; peek() != '"'; ++at_) {
      const char character = peek();
      if (at_ >= text_.size() || static_cast<unsigned char>(character) < 0x20) {
        fail("a string does not end");
      }
      if (character == '\\') {
        parse_escape(out);
      } else {
        out += character;
      }
    }
    ++at_;
    return out;
  }

  void parse_escape(std::string& out) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    ++at_;
    const std::size_t index = peek() == '\0' ? std::string_view::npos : kFrom.find(peek());
    if (index != std::string_view::npos) {
      out += kTo[index];
      return;
    }
    if (peek() != 'u') fail("unknown escape");
    std::uint32_t code = parse_hex4();
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
      ++at_;
      if (!take("\\") || peek() != 'u') fail("half of a surrogate pair");
      const std::uint32_t low = parse_hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
      code = 0x10000U + ((code - 0xd800U) << 10U) + (low - 0xdc00U);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail("half of a surrogate pair");
    }
    append_utf8(out, code);
  }

  std::uint32_t parse_hex4() {  // at 'u'; ends on the last digit
    if (at_ + 4 >= text_.size()) fail("unknown escape");
    std::uint32_t code = 0;
    const char* first = text_.data() + at_ + 1;
    const auto result = std::from_chars(first, first + 4, code, 16);
    if (result.ec != std::errc() || result.ptr != first + 4) fail("unknown escape");
    at_ += 4;
    return code;
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr std::array<std::uint32_t, 4> kLead = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(kLead[static_cast<std::size_t>(extra)] |
                             code >> (6U * static_cast<unsigned>(extra)));
    for (int i = extra - 1; i >= 0; --i) {
      out += static_cast<char>(0x80U | (code >> (6U * static_cast<unsigned>(i)) & 0x3fU));
    }
  }

  void take_digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == first) fail("a value was expected");
  }

  Json parse_number() {
    const std::size_t first = at_;
    bool integral = true;
    take("-");
    if (!take("0")) take_digits();
    if (take(".")) {
      integral = false;
      take_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      integral = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      take_digits();
    }
    const std::string digits(text_.substr(first, at_ - first));
    std::int64_t value = 0;
    if (integral) {
      const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (result.ec == std::errc()) return Json(value);
    }
    const double number = std::strtod(digits.c_str(), nullptr);
    if (!std::isfinite(number)) fail("a number is out of range");
    return Json(number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

inline std::string Json::dump() const {
  std::string out;
  detail::append_json(out, *this);
  return out;
}

inline Json Json::parse(std::string_view text) {
  return detail::JsonParser(text).parse();
}

// ---- Digests ----------------------------------------------------------------------------------

// SHA-256 (FIPS 180-4).
class Sha256 {
 public:
  void update(const void* data, std::size_t size_bytes) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    total_bytes_ += size_bytes;
    while (size_bytes > 0) {
      const std::size_t part = std::min(size_bytes, block_.size() - fill_);
      std::memcpy(block_.data() + fill_, bytes, part);
      fill_ += part;
      bytes += part;
      size_bytes -= part;
      if (fill_ == block_.size()) {
        compress();
        fill_ = 0;
      }
    }
  }
  void update(std::string_view text) { update(text.data(), text.size()); }

  // 64 lower-case hexadecimal digits; do not update afterwards.
  std::string hex_digest() {
    const std::uint64_t bits = total_bytes_ * 8;
    update("\x80", 1);
    while (fill_ != 56) update("\0", 1);
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < 8; ++i) {
      length[i] = static_cast<unsigned char>(bits >> (56U - 8U * i));
    }
    update(length.data(), length.size());
    std::string hex;
    for (const std::uint32_t word : state_) {
      std::array<char, 12> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%08x", word);
      hex += buffer.data();
    }
    return hex;
  }

 private:
  static std::uint32_t rotate(std::uint32_t x, unsigned n) { return x >> n | x << (32U - n); }

  void compress() {
    static constexpr std::array<std::uint32_t, 64> kRound = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
      const unsigned char* b = block_.data() + 4 * i;
      w[i] = std::uint32_t{b[0]} << 24U | std::uint32_t{b[1]} << 16U | std::uint32_t{b[2]} << 8U |
             std::uint32_t{b[3]};
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3U;
      const std::uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10U;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::array<std::uint32_t, 8> v = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
      const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
      const std::uint32_t t1 = v[7] + s1 + choice + kRound[i] + w[i];
      const std::uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
      const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
      v = {t1 + s0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] += v[i];
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t fill_ = 0;
  std::uint64_t total_bytes_ = 0;
};

inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ",") + std::to_string(size);
  return text;
}

// What is digested of a tensor: "DTYPE\nd0,d1,...\n", then its bytes.
inline void add_to_digest(Sha256& sha, const Tensor& tensor) {
  sha.update(tensor.dtype + "\n" + shape_text(tensor.shape) + "\n");
  sha.update(tensor.data);
}

inline Tensor make_tensor(std::string stage, std::vector<std::int64_t> shape, const float* values) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const auto n = static_cast<std::size_t>(count);
  Tensor tensor{std::move(stage), "F32", std::move(shape), std::string(n * sizeof(float), '\0'),
                std::vector<float>(values, values + n)};
  if (n > 0) std::memcpy(tensor.data.data(), values, n * sizeof(float));
  return tensor;
}

inline std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(count > 0 ? static_cast<std::size_t>(count) : 0);
  std::uint64_t state = seed;
  for (float& value : values) {  // SplitMix64, its upper 24 bits
    std::uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27U) * 0x94d049bb133111ebU;
    value = static_cast<float>((z ^ z >> 31U) >> 40U) * 0x1p-23F - 1.0F;
  }
  return values;
}

inline std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (unsigned j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kDigits[group >> (18U - 6U * j) & 0x3fU];
    }
  }
  return out;
}

// ---- Allocations ------------------------------------------------------------------------------

namespace detail {

inline std::atomic<bool> counting_allocations{false};
inline std::atomic<std::int64_t> allocation_count{0};
inline bool allocations_are_counted = false;  // set where the operators are replaced

}  // namespace detail

// ---- Known effects ----------------------------------------------------------------------------

// Effects that a calibration asks `load` to inject, so that the harness can be seen to find them.
// A spin whose "where" is "device" is the worker's to do; its size comes from requests that the kit
// times when the workload is prepared. All but "hidden" lie inside the sample. "slots": [m, r]
// limits an effect to every m-th slot of the worker, "position": p to slots in that place of their
// block (the slot id's end, "/sP").
class Injection {
 public:
  static Injection parse(const Json& inject) {
    Injection result;
    if (inject.is_null()) return result;
    if (!inject.is_array()) {
      result.add(inject);
      return result;
    }
    for (const Json& effect : inject.items()) result.add(effect);
    return result;
  }

  void begin_slot(const std::string& slot_id) {
    fraction_ = device_fraction_ = delay_ns_ = drift_ns_ = hidden_ns_ = 0;
    for (const Effect& effect : effects_) {
      if (slots_ % effect.slot_modulus != effect.slot_remainder) continue;
      if (effect.position >= 0 && position_of(slot_id) != effect.position) continue;
      (effect.on_device ? device_fraction_ : fraction_) += effect.fraction;
      delay_ns_ += effect.delay_ns;
      drift_ns_ += effect.drift_ns;
      hidden_ns_ += effect.hidden_ns;
    }
    active_ = fraction_ > 0 || delay_ns_ > 0 || drift_ns_ > 0;
    ++slots_;
  }
  // Outside of the sample: what a worker hides by timing too little.
  void before_request() {
    ++requests_;
    if (hidden_ns_ > 0) spin_until(now_ns() + static_cast<std::int64_t>(hidden_ns_));
  }
  // At the end of a sample that began at `start_ns`. The reads of the clock that injecting itself
  // takes (one here, half of one until the deadline is noticed) are part of the effect.
  void inside_request(std::int64_t start_ns) const {
    if (!active_) return;
    const std::int64_t now = now_ns();
    const double extra_ns = fraction_ * static_cast<double>(now - start_ns) + delay_ns_ +
                            drift_ns_ * static_cast<double>(requests_) - 1.5 * clock_read_ns_;
    if (extra_ns > 0) spin_until(now + static_cast<std::int64_t>(extra_ns));
  }
  bool uses_device() const {
    return std::any_of(effects_.begin(), effects_.end(),
                       [](const Effect& effect) { return effect.on_device; });
  }
  double device_fraction() const { return device_fraction_; }  // of the slot that began
  // What one read of the clock takes, measured at load.
  void calibrate(double clock_read_ns) { clock_read_ns_ = clock_read_ns; }

 private:
  struct Effect {
    double fraction = 0, delay_ns = 0, drift_ns = 0, hidden_ns = 0;
    std::int64_t slot_modulus = 1, slot_remainder = 0;
    std::int64_t position = -1;  // any
    bool on_device = false;
  };

  // Of "17/s2" 2; -1 where the id says nothing.
  static std::int64_t position_of(const std::string& slot_id) {
    const std::size_t mark = slot_id.rfind("/s");
    if (mark == std::string::npos || mark + 2 >= slot_id.size()) return -1;
    std::int64_t position = -1;
    const char* end = slot_id.data() + slot_id.size();
    const auto read = std::from_chars(slot_id.data() + mark + 2, end, position);
    return read.ec == std::errc() && read.ptr == end ? position : -1;
  }

  static double amount(const Json& effect, const char* key, double most) {
    const double value = effect[key].number(-1);
    if (value >= 0 && value <= most) return value;
    throw Refused("bad_inject", std::string("inject: \"") + key + "\" must be a number from 0 to " +
                                    std::to_string(static_cast<std::int64_t>(most)));
  }
  void add(const Json& json) {
    Effect effect;
    const std::string kind = json["kind"].text();
    if (kind == "spin") {
      effect.fraction = amount(json, "fraction", 10);
    } else if (kind == "delay") {
      effect.delay_ns = amount(json, "ns", 1e10);
    } else if (kind == "drift") {
      effect.drift_ns = amount(json, "ns_per_request", 1e9);
    } else if (kind == "hidden") {
      effect.hidden_ns = amount(json, "ns", 1e10);
    } else {
      throw Refused("bad_inject",
                    "inject: unknown kind \"" + kind + "\"; known are spin, delay, drift, hidden");
    }
    if (json["slots"].is_array()) {
      if (json["slots"].items().size() != 2) throw Refused("bad_inject", "inject: \"slots\"");
      effect.slot_modulus = std::max<std::int64_t>(1, json["slots"].items()[0].integer(1));
      effect.slot_remainder = json["slots"].items()[1].integer(0);
    }
    if (!json["where"].is_null() && json["where"].text() != "host") {
      if (json["where"].text() != "device" || kind != "spin") {
        throw Refused("bad_inject", "inject: \"where\" is host, or device for a spin");
      }
      effect.on_device = true;
    }
    if (!json["position"].is_null()) {
      effect.position = static_cast<std::int64_t>(amount(json, "position", 1000));
    }
    effects_.push_back(effect);
  }

  std::vector<Effect> effects_;
  std::int64_t slots_ = 0, requests_ = 0;
  double fraction_ = 0, device_fraction_ = 0, delay_ns_ = 0, drift_ns_ = 0, hidden_ns_ = 0;
  double clock_read_ns_ = 0;
  bool active_ = false;
};

// ---- Spans and values of a slot ---------------------------------------------------------------

// Takes what requests record, in memory allocated before the timed loop. What does not fit is
// counted as dropped, never half recorded.
class Recorder {
 public:
  struct Record {
    std::int64_t seq;
    int name, parent;  // index of a name; parent -1 = the sample itself
    std::int64_t start_ns, end_ns;
  };
  struct Total {
    int name, parent;
    std::int64_t duration_ns, count;
  };

  // ---- for workers with a span mechanism of their own
  // A finished span; `parent` empty = directly below the outermost boundary. steady_clock.
  void add(const char* name, const char* parent, std::int64_t start_ns, std::int64_t end_ns) {
    if (!active_) return;
    const int parent_index = parent == nullptr || *parent == '\0' ? -1 : index_of(parent);
    push({0, index_of(name), parent_index, start_ns, end_ns});
  }

  // A value of the running request; the metric must have been declared.
  void value(const char* metric, double value) {
    if (!active_) return;
    for (std::size_t i = 0; i < metrics_->size(); ++i) {
      if ((*metrics_)[i].name != metric) continue;
      values_[i][static_cast<std::size_t>(seq_)] = value;
      return;
    }
    throw Refused("undeclared_metric", std::string("the metric was not declared: ") + metric);
  }

  // ---- for Span
  int open(const char* name) {
    if (!active_) return -1;
    const int index = push({0, index_of(name), open_, 0, 0});
    if (index < 0) return -1;
    Record& record = request_[static_cast<std::size_t>(index)];
    open_ = record.name;
    record.start_ns = now_ns();
    return index;
  }
  void close(int index) {
    if (index < 0 || !active_ || static_cast<std::size_t>(index) >= request_.size()) return;
    Record& record = request_[static_cast<std::size_t>(index)];
    if (record.name == kOutermost && injection_ != nullptr) {
      injection_->inside_request(record.start_ns);
    }
    record.end_ns = now_ns();
    open_ = record.parent;
  }

  // ---- for the session
  void begin_slot(const std::string& outermost, const std::vector<Metric>& metrics,
                  std::int64_t requests, std::int64_t max_stored_requests,
                  const Injection* injection) {
    names_.clear();
    names_.reserve(kMaxNames);
    index_of(outermost.c_str());  // becomes index kOutermost
    request_.clear();
    request_.reserve(kMaxPerRequest);
    stored_.clear();
    stored_.reserve(static_cast<std::size_t>(max_stored_requests) * kStoredPerRequest);
    totals_.clear();
    totals_.reserve(kMaxTotals);
    metrics_ = &metrics;
    values_.assign(metrics.size(), std::vector<double>(static_cast<std::size_t>(requests), kNone));
    stored_requests_left_ = max_stored_requests;
    dropped_ = 0;
    injection_ = injection;
    active_ = true;
  }
  void begin_request(std::int64_t seq) {
    seq_ = seq;
    request_.clear();
    open_ = -1;
  }
  // The span of the outermost boundary, or nullptr if this request recorded none.
  const Record* outermost_record() const {
    for (const Record& record : request_) {
      if (record.name == kOutermost) return &record;
    }
    return nullptr;
  }
  // Keeps the spans that lie inside the sample.
  void end_request(std::int64_t seq, std::int64_t start_ns, std::int64_t end_ns) {
    const bool store = stored_requests_left_ > 0;
    if (store) --stored_requests_left_;
    for (Record record : request_) {
      if (record.name == kOutermost || record.start_ns < start_ns || record.end_ns > end_ns ||
          record.end_ns < record.start_ns) {
        continue;
      }
      if (record.parent == kOutermost) record.parent = -1;
      record.seq = seq;
      add_to_total(record);
      if (!store) continue;
      if (stored_.size() < stored_.capacity()) {
        stored_.push_back(record);
      } else {
        ++dropped_;
      }
    }
  }
  void end_slot() { active_ = false; }

  const char* name(int index) const {
    return names_[static_cast<std::size_t>(index < 0 ? kOutermost : index)].data();
  }
  // [metric][request], NaN = none
  const std::vector<std::vector<double>>& values() const { return values_; }
  const std::vector<Record>& stored() const { return stored_; }
  const std::vector<Total>& totals() const { return totals_; }
  std::int64_t dropped() const { return dropped_; }
  bool active() const { return active_; }

 private:
  static constexpr std::size_t kMaxNames = 128, kMaxTotals = 256;
  static constexpr std::size_t kMaxPerRequest = 4096, kStoredPerRequest = 256;
  static constexpr int kOutermost = 0, kFull = -2;

  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  using Name = std::array<char, 64>;  // longer names are cut

  int index_of(const char* name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (std::strncmp(names_[i].data(), name, sizeof(Name) - 1) == 0) return static_cast<int>(i);
    }
    if (names_.size() == kMaxNames) return kFull;
    names_.push_back(Name{});
    std::strncpy(names_.back().data(), name, sizeof(Name) - 1);
    return static_cast<int>(names_.size()) - 1;
  }
  int push(const Record& record) {
    if (record.name == kFull || record.parent == kFull || request_.size() == kMaxPerRequest) {
      ++dropped_;
      return -1;
    }
    request_.push_back(record);
    return static_cast<int>(request_.size()) - 1;
  }
  void add_to_total(const Record& record) {
    for (Total& total : totals_) {
      if (total.name == record.name && total.parent == record.parent) {
        total.duration_ns += record.end_ns - record.start_ns;
        ++total.count;
        return;
      }
    }
    if (totals_.size() == kMaxTotals) {
      ++dropped_;
      return;
    }
    totals_.push_back({record.name, record.parent, record.end_ns - record.start_ns, 1});
  }

  std::vector<Name> names_;
  std::vector<Record> request_, stored_;
  std::vector<Total> totals_;
  const std::vector<Metric>* metrics_ = nullptr;
  std::vector<std::vector<double>> values_;
  std::int64_t seq_ = 0, stored_requests_left_ = 0, dropped_ = 0;
  int open_ = -1;
  bool active_ = false;
  const Injection* injection_ = nullptr;
};

inline Span::Span(Recorder& recorder, const char* name)
    : recorder_(recorder), index_(recorder.open(name)) {}
inline Span::~Span() {
  recorder_.close(index_);
}

inline void Worker::value(const char* metric, double value) {
  recorder_->value(metric, value);
}

// ---- The session ------------------------------------------------------------------------------

// One conversation: answer() turns a request line into an answer line (no newline). Usable without
// pipes, as the tests do.
class Session {
 public:
  explicit Session(Worker& worker) : worker_(worker), description_(worker.describe()) {
    worker_.recorder_ = &recorder_;
  }

  bool finished() const { return finished_; }

  std::string answer(std::string_view line) {
    try {
      std::string text = dispatch(line);
      if (text.size() < kMaxAnswerBytes) return text;
      return error("too_large", "the answer has " + std::to_string(text.size()) +
                                    " bytes; ask for fewer requests or stages");
    } catch (const Refused& refused) {
      return error(refused.code(), refused.what());
    } catch (const std::exception& failure) {
      return error("failed", failure.what());
    } catch (...) {
      return error("failed", "the worker threw something that is no std::exception");
    }
  }

  static std::string error(const std::string& code, const std::string& message) {
    Json inner;
    inner.set("code", code);
    inner.set("message", message);
    Json outer;
    outer.set("error", inner);
    return outer.dump();
  }

  std::string hello() const {
    const Description& d = description_;
    Json json;
    json.set("type", "hello");
    json.set("protocol", kProtocol);
    json.set("name", d.name);
    json.set("version", d.version);
    json.set("source_stamp", d.source_stamp);
    json.set("files_to_hash", strings(d.files_to_hash));
    json.set("workload_form", d.workload_form.is_null() ? Json::object() : d.workload_form);
    Json boundaries = Json::array();
    for (const Boundary& boundary : d.boundaries) {
      boundaries.push_back(Json::Object{{"name", boundary.name},
                                        {"unit", boundary.unit},
                                        {"clock", boundary.clock},
                                        {"parent", boundary.parent}});
    }
    json.set("boundaries", boundaries);
    Json metrics = Json::array();
    for (const Metric& metric : d.metrics) {
      metrics.push_back(Json::Object{
          {"name", metric.name},
          {"unit", metric.unit},
          {"direction", metric.higher_is_better ? "higher-is-better" : "lower-is-better"}});
    }
    json.set("metrics", metrics);
    json.set("factors", factors_json());
    std::vector<std::string> capabilities = {"load", "spans", "inject"};
    if (d.flushes) capabilities.emplace_back("flush");
    if (!d.stages.empty()) capabilities.emplace_back("outputs");
    if (d.captures) capabilities.emplace_back("graph_capture");
    capabilities.insert(capabilities.end(), d.capabilities.begin(), d.capabilities.end());
    json.set("capabilities", strings(capabilities));
    json.set("stages", strings(d.stages));
    json.set("facts", d.facts.is_null() ? Json::object() : d.facts);
    return json.dump();
  }

 private:
  static Json strings(const std::vector<std::string>& texts) {
    Json array = Json::array();
    for (const std::string& text : texts) array.push_back(text);
    return array;
  }
  static std::vector<std::string> strings(const Json& json, const char* what) {
    std::vector<std::string> texts;
    for (const Json& item : json.items()) {
      if (!item.is_string()) throw Refused("bad_message", std::string(what) + " must be strings");
      texts.push_back(item.text());
    }
    return texts;
  }

  Json factors_json() const {
    Json factors = Json::array();
    for (const Factor& factor : description_.factors) {
      Json levels = Json::array();
      for (const Level& level : factor.levels) {
        levels.push_back(Json::Object{
            {"name", level.name}, {"exactness", level.exactness}, {"exact_to", level.exact_to}});
      }
      factors.push_back(Json::Object{{"name", factor.name},
                                     {"levels", levels},
                                     {"default", default_level(factor)},
                                     {"hot", factor.hot}});
    }
    return factors;
  }
  static std::string default_level(const Factor& factor) {
    if (!factor.default_level.empty() || factor.levels.empty()) return factor.default_level;
    return factor.levels.front().name;
  }

  std::string dispatch(std::string_view line) {
    Json message;
    try {
      message = Json::parse(line);
    } catch (const std::exception& failure) {
      return error("bad_json", failure.what());
    }
    const std::string type = message["type"].text();
    if (type == "hello") return answer_hello(message);
    if (type == "load") return answer_load(message);
    if (type == "prepare") return answer_prepare(message);
    if (type == "slot") return answer_slot(message);
    if (type == "outputs") return answer_outputs(message);
    if (type == "graph_capture") return answer_graph_capture(message);
    if (type == "shutdown") {
      finished_ = true;
      return R"({"type":"shutdown"})";
    }
    return error("unknown_message", "unknown message type \"" + type.substr(0, 40) + "\"");
  }

  std::string answer_hello(const Json& message) const {
    for (const Json& version : message["versions"].items()) {
      if (version.text() == kProtocol) return hello();
    }
    return error("bad_version", std::string("this worker speaks only ") + kProtocol);
  }

  // ---- load
  std::map<std::string, std::string> checked_factors(const Json& asked) const {
    std::map<std::string, std::string> factors;
    for (const Factor& factor : description_.factors) factors[factor.name] = default_level(factor);
    for (const Json::Member& member : asked.members()) {
      const auto factor = std::find_if(description_.factors.begin(), description_.factors.end(),
                                       [&](const Factor& f) { return f.name == member.first; });
      if (factor == description_.factors.end()) {
        throw Refused("unknown_factor", "this worker has no factor \"" + member.first + "\"");
      }
      const std::string level = member.second.text();
      if (std::none_of(factor->levels.begin(), factor->levels.end(),
                       [&](const Level& l) { return l.name == level; })) {
        throw Refused("unknown_level",
                      "the factor \"" + member.first + "\" has no level \"" + level + "\"");
      }
      factors[member.first] = level;
    }
    return factors;
  }

  static Json resident_memory() {
    long long pages = 0;
    long long resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%lld %lld", &pages, &resident) != 2) resident = 0;
      std::fclose(file);
    }
    return Json::Object{
        {"resident_bytes", static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE)}};
  }
  // Of the quickest of ten rows of reads: the others may hold an interruption.
  static double clock_read_ns() {
    constexpr int kReads = 100;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (int row = 0; row < 10; ++row) {
      const std::int64_t start = now_ns();
      std::int64_t last = start;
      for (int i = 0; i < kReads; ++i) last = now_ns();
      best = std::min(best, last - start);
    }
    return static_cast<double>(best) / kReads;
  }

  std::string answer_load(const Json& message) {
    LoadRequest request;
    request.settings = message["settings"].is_object() ? message["settings"] : Json::object();
    for (const Json::Member& file : message["files"].members()) {
      request.files[file.first] = file.second.text();
    }
    request.factors = checked_factors(message["factors"]);
    request.device = message["device"].text("none");
    for (const Json::Member& member : message["factors"].members()) {
      request.named.insert(member.first);
    }
    Injection injection = Injection::parse(message["inject"]);
    LoadReply reply{request.settings, request.factors, Json(), Json(), {}};
    workloads_.clear();
    selected_.clear();
    loaded_ = false;
    worker_.exposed_.clear();
    worker_.levels_ = request.factors;
    const std::int64_t start = now_ns();
    worker_.load(request, reply);
    worker_.levels_ = reply.factors;
    reply.setup_ns["load"] = static_cast<double>(now_ns() - start);
    reply.setup_ns["clock_read"] = clock_read_ns();
    if (injection.uses_device() && !worker_.spins_on_device()) {
      throw Refused("bad_inject", "inject: this worker, as loaded, cannot spin on a device");
    }
    loaded_ = true;
    injection_ = std::move(injection);
    injection_.calibrate(reply.setup_ns["clock_read"]);
    Json factors = Json::object();
    for (const auto& [name, level] : reply.factors) factors.set(name, level);
    Json setup = Json::object();
    for (const auto& [name, ns] : reply.setup_ns) setup.set(name, ns);
    return Json(Json::Object{{"type", "load"},
                             {"settings", reply.settings},
                             {"factors", factors},
                             {"device", reply.device},
                             {"memory", reply.memory.is_null() ? resident_memory() : reply.memory},
                             {"setup_ns", setup},
                             {"inject", message["inject"]}})
        .dump();
  }
  // A harness need not send load to a worker it asks for nothing: the defaults hold then.
  void load_defaults() {
    if (!loaded_) answer_load(Json::object());
  }

  // ---- prepare
  std::vector<std::string> checked_boundaries(const Json& asked) const {
    std::vector<std::string> boundaries = strings(asked, "boundaries");
    for (const std::string& name : boundaries) find_boundary(name);
    if (boundaries.empty()) boundaries.push_back(description_.boundaries.at(0).name);
    return boundaries;
  }
  const Boundary& find_boundary(const std::string& name) const {
    for (const Boundary& boundary : description_.boundaries) {
      if (boundary.name == name) return boundary;
    }
    throw Refused("unknown_boundary", "this worker declares no boundary \"" + name + "\"");
  }

  std::string answer_prepare(const Json& message) {
    load_defaults();
    const Json& json = message["workload"];
    Workload workload;
    workload.id = json["id"].text();
    if (workload.id.empty()) throw Refused("bad_message", "prepare needs workload.id");
    workload.input = json["input"];
    workload.rotate = static_cast<int>(
        std::min<std::int64_t>(1 << 20, std::max<std::int64_t>(0, json["rotate"].integer(0))));
    workload.seed = static_cast<std::uint64_t>(json["seed"].integer(0));
    workload.boundaries = checked_boundaries(json["boundaries"]);
    if (workloads_.size() >= kMaxWorkloads && workloads_.count(workload.id) == 0) {
      throw Refused("too_many", "more than 256 workloads");
    }
    workloads_.erase(workload.id);
    selected_.clear();
    worker_.boundaries_ = workload.boundaries;
    worker_.variant_ = 0;
    const Prepared prepared = worker_.prepare(workload);
    const std::int64_t start = now_ns();
    worker_.request();  // readiness: one full request answered
    const std::int64_t first_request_ns = now_ns() - start;
    first_request_ns_.emplace(workload.id, first_request_ns);  // the first of them stays
    selected_ = workload.id;
    workloads_[workload.id] = workload;
    Json facts = prepared.facts.is_null() ? Json::object() : prepared.facts;
    if (injection_.uses_device()) facts.set("device_spin", calibrate_device(workload.id));
    return Json(Json::Object{{"type", "prepare"},
                             {"ready", true},
                             {"work", Json::Object{{"items", prepared.items},
                                                   {"bytes", prepared.bytes},
                                                   {"flops", prepared.flops}}},
                             {"facts", facts},
                             {"first_request_ns", first_request_ns}})
        .dump();
  }

  // What a request takes, and what a spin adds beyond its own length (a launch, the timer's step):
  // medians of requests without and with the shortest spin, taken in turn.
  struct DeviceCost {
    double request_ns = 0, overhead_ns = 0;
    std::int64_t spin_ns(double fraction) const {
      return fraction > 0 ? std::max<std::int64_t>(
                                1, static_cast<std::int64_t>(fraction * request_ns - overhead_ns))
                          : 0;
    }
  };
  Json calibrate_device(const std::string& workload) {
    constexpr std::size_t kPairs = 31;
    std::array<std::array<std::int64_t, kPairs>, 2> ns{};
    for (std::size_t i = 0; i < 2 * kPairs; ++i) {
      worker_.device_spin_ns_ = i % 2 == 0 ? 0 : 1;
      const std::int64_t start = now_ns();
      worker_.request();
      ns[i % 2][i / 2] = now_ns() - start;
    }
    worker_.device_spin_ns_ = 0;
    for (auto& row : ns) std::nth_element(row.begin(), row.begin() + kPairs / 2, row.end());
    const auto plain = static_cast<double>(ns[0][kPairs / 2]);
    const double overhead = std::max(0.0, static_cast<double>(ns[1][kPairs / 2]) - plain);
    device_costs_[workload] = {plain, overhead};
    return Json::Object{{"request_ns", plain}, {"overhead_ns", overhead}};
  }

  const Workload& select(const Json& message, const std::vector<std::string>& boundaries) {
    const std::string id = message["workload"].text();
    const auto workload = workloads_.find(id);
    if (workload == workloads_.end()) {
      throw Refused("unknown_workload", "the workload \"" + id + "\" was not prepared");
    }
    worker_.boundaries_ = boundaries.empty() ? workload->second.boundaries : boundaries;
    worker_.variant_ = 0;
    if (selected_ != id) {
      selected_.clear();
      worker_.select(workload->second);
      selected_ = id;
    }
    return workload->second;
  }

  // Hot factors for this slot or these outputs, all of them or, if one is refused, none; the levels
  // in effect, as the answer repeats them. The others keep what load gave them.
  Json switch_factors(const Json& asked) {
    load_defaults();
    checked_factors(asked);
    for (const Json::Member& member : asked.members()) {
      const auto factor = std::find_if(description_.factors.begin(), description_.factors.end(),
                                       [&](const Factor& f) { return f.name == member.first; });
      if (!factor->hot) {
        throw Refused("not_hot", "the factor \"" + member.first + "\" needs a load");
      }
    }
    bool changes = false;
    Json in_effect = Json::object();
    for (const Json::Member& member : asked.members()) {
      std::string& level = worker_.levels_[member.first];
      changes = changes || level != member.second.text();
      level = member.second.text();
      in_effect.set(member.first, level);
    }
    if (changes) worker_.switched();
    return in_effect;
  }

  // ---- slot
  struct Slot {
    std::string id, workload, outermost;
    bool whole_call_allowed = true;  // the outermost boundary has no parent
    std::int64_t warmup = 0, total = 0, max_spans = 0;
    double interval_ns = 0;
    int rotate = 0;
    bool digest = true, flush = false;
    Json factors, flush_check;  // what the answer repeats, or null
    std::vector<std::int64_t> start_ns, duration_ns;
    std::vector<std::int64_t> failed;
    std::string failure_text;
    std::int64_t allocations = -1;
  };

  Slot parse_slot(const Json& message) {
    Slot slot;
    slot.id = message["slot_id"].text();
    slot.warmup = message["warmup"].integer(0);
    const std::int64_t requests = message["requests"].integer(-1);
    if (slot.id.empty() || requests < 1 || requests > kMaxRequests || slot.warmup < 0 ||
        slot.warmup > kMaxRequests - requests) {
      throw Refused("bad_message",
                    "slot needs slot_id, warmup >= 0, requests >= 1, at most 1000000 together");
    }
    slot.total = slot.warmup + requests;
    slot.max_spans = std::clamp<std::int64_t>(message["max_spans"].integer(50), 0, 1000);
    slot.interval_ns = std::clamp(message["interval_ms"].number(0), 0.0, 3.6e6) * 1e6;
    slot.digest = message["digest"].boolean(true) && !description_.stages.empty();
    const bool own = !message["boundaries"].items().empty();
    const std::vector<std::string> asked =
        own ? checked_boundaries(message["boundaries"]) : std::vector<std::string>{};
    if (message["factors"].is_object()) slot.factors = switch_factors(message["factors"]);
    slot.flush = message["flush"].boolean(false);
    if (slot.flush && !description_.flushes) {
      throw Refused("unsupported", "this worker cannot flush caches");
    }
    const Workload& workload = select(message, asked);
    slot.workload = workload.id;
    slot.rotate = workload.rotate;
    slot.outermost = worker_.boundaries_.front();
    slot.whole_call_allowed = find_boundary(slot.outermost).parent.empty();
    slot.start_ns.assign(static_cast<std::size_t>(slot.total), 0);
    slot.duration_ns.assign(static_cast<std::size_t>(slot.total), 0);
    slot.failed.reserve(static_cast<std::size_t>(slot.total));
    return slot;
  }

  void wait_for_turn(const Slot& slot, std::int64_t loop_start_ns, std::int64_t seq) const {
    if (slot.interval_ns <= 0) return;
    constexpr std::int64_t kSpin = 100'000;  // sleep ends late by about this much
    const std::int64_t due =
        loop_start_ns + static_cast<std::int64_t>(slot.interval_ns * static_cast<double>(seq));
    const std::int64_t left = due - now_ns() - kSpin;
    if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
    spin_until(due);
  }

  void fail_request(Slot& slot, std::int64_t seq, const char* what) {
    if (slot.failed.empty()) slot.failure_text = what;
    if (slot.failed.empty() || slot.failed.back() != seq) slot.failed.push_back(seq);
  }

  // One request into entry `seq` of the arrays. The only code between the clock reads is the
  // worker's and, when asked for, the injected effect.
  void timed_request(Slot& slot, std::int64_t seq) {
    recorder_.begin_request(seq);
    const std::int64_t start = now_ns();
    try {
      worker_.request();
    } catch (const std::exception& failure) {
      fail_request(slot, seq, failure.what());
    } catch (...) {
      fail_request(slot, seq, "request() threw something that is no std::exception");
    }
    const Recorder::Record* outermost = recorder_.outermost_record();
    if (outermost == nullptr) injection_.inside_request(start);
    std::int64_t end = now_ns();
    std::int64_t begin = start;
    if (outermost != nullptr) {
      begin = outermost->start_ns;
      end = outermost->end_ns;
    } else if (!slot.whole_call_allowed) {
      fail_request(slot, seq, "request() opened no span of the outermost boundary asked for");
    }
    slot.start_ns[static_cast<std::size_t>(seq)] = begin;
    slot.duration_ns[static_cast<std::size_t>(seq)] = end - begin;
    if (seq >= slot.warmup) recorder_.end_request(seq, begin, end);
  }

  void timed_loop(Slot& slot) {
    const std::int64_t measured = slot.total - slot.warmup;
    if (slot.flush) {
      const FlushCheck check = worker_.check_flush();
      slot.flush_check = Json(Json::Object{{"cache", check.cache},
                                           {"bytes", check.bytes},
                                           {"warm_ns", check.warm_ns},
                                           {"cold_ns", check.cold_ns}});
    }
    recorder_.begin_slot(slot.outermost, description_.metrics, slot.total,
                         std::min(slot.max_spans, measured), &injection_);
    injection_.begin_slot(slot.id);
    worker_.device_spin_ns_ = device_costs_[slot.workload].spin_ns(injection_.device_fraction());
    const std::int64_t loop_start = now_ns();
    for (std::int64_t seq = 0; seq < slot.total; ++seq) {
      if (seq == slot.warmup) {
        detail::allocation_count = 0;
        detail::counting_allocations = true;
      }
      worker_.variant_ = slot.rotate > 0 ? static_cast<int>(seq % slot.rotate) : 0;
      if (slot.flush) worker_.flush_caches();
      wait_for_turn(slot, loop_start, seq);
      injection_.before_request();
      timed_request(slot, seq);
    }
    detail::counting_allocations = false;
    worker_.device_spin_ns_ = 0;
    if (detail::allocations_are_counted) slot.allocations = detail::allocation_count;
    recorder_.end_slot();
  }

  std::string answer_slot(const Json& message) {
    Slot slot = parse_slot(message);
    timed_loop(slot);
    const bool last_failed = !slot.failed.empty() && slot.failed.back() == slot.total - 1;
    std::string digest;
    if (slot.digest && !last_failed) {
      Sha256 sha;
      for (const Tensor& tensor : worker_.outputs({}, false)) add_to_digest(sha, tensor);
      digest = sha.hex_digest();
    }
    std::string out = R"({"type":"slot","slot_id":)";
    detail::append_text(out, slot.id);
    out += ",\"workload\":";
    detail::append_text(out, slot.workload);
    out += ",\"boundary\":";
    detail::append_text(out, slot.outermost);
    out += ",\"warmup\":" + std::to_string(slot.warmup);
    append_array(out, ",\"start_ns\":", slot.start_ns);
    append_array(out, ",\"duration_ns\":", slot.duration_ns);
    append_array(out, ",\"failed\":", slot.failed);
    out += ",\"failure_text\":";
    detail::append_text(out, slot.failure_text.substr(0, 1000));
    append_spans(out);
    append_values(out);
    for (const auto& [key, json] : {std::pair<const char*, const Json*>{"factors", &slot.factors},
                                    {"flush", &slot.flush_check}}) {
      if (!json->is_null()) out += ",\"" + std::string(key) + "\":" + json->dump();
    }
    out += ",\"allocations\":" + std::to_string(slot.allocations);
    out += ",\"digest\":\"" + digest + "\"}";
    return out;
  }

  static void append_array(std::string& out, const char* key, const std::vector<std::int64_t>& v) {
    out += key;
    const char* separator = "[";
    for (const std::int64_t value : v) {
      out += separator;
      detail::append_integer(out, value);
      separator = ",";
    }
    out += v.empty() ? "[]" : "]";
  }
  template <typename Records, typename Field>
  static void append_column(std::string& out, const char* key, const Records& records,
                            Field field) {
    out += key;
    out += '[';
    bool first = true;
    for (const auto& record : records) {
      if (!first) out += ',';
      first = false;
      field(record);
    }
    out += ']';
  }

  void append_spans(std::string& out) const {
    const auto name = [&](int index) { detail::append_text(out, recorder_.name(index)); };
    const auto integer = [&](std::int64_t value) { detail::append_integer(out, value); };
    using Record = Recorder::Record;
    const auto& stored = recorder_.stored();
    append_column(out, ",\"spans\":{\"seq\":", stored, [&](const Record& r) { integer(r.seq); });
    append_column(out, ",\"name\":", stored, [&](const Record& r) { name(r.name); });
    append_column(out, ",\"parent\":", stored, [&](const Record& r) { name(r.parent); });
    append_column(out, ",\"start_ns\":", stored, [&](const Record& r) { integer(r.start_ns); });
    append_column(out, ",\"duration_ns\":", stored,
                  [&](const Record& r) { integer(r.end_ns - r.start_ns); });
    using Total = Recorder::Total;
    const auto& totals = recorder_.totals();
    append_column(out, "},\"totals\":{\"name\":", totals, [&](const Total& t) { name(t.name); });
    append_column(out, ",\"parent\":", totals, [&](const Total& t) { name(t.parent); });
    append_column(out, ",\"duration_ns\":", totals,
                  [&](const Total& t) { integer(t.duration_ns); });
    append_column(out, ",\"count\":", totals, [&](const Total& t) { integer(t.count); });
    out += "},\"spans_dropped\":" + std::to_string(recorder_.dropped());
  }

  void append_values(std::string& out) const {
    out += ",\"values\":{";
    bool first = true;
    for (std::size_t i = 0; i < description_.metrics.size(); ++i) {
      const std::vector<double>& values = recorder_.values()[i];
      if (std::all_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
        continue;
      if (!first) out += ',';
      first = false;
      detail::append_text(out, description_.metrics[i].name);
      append_column(out, ":", values, [&](double v) { detail::append_number(out, v); });
    }
    out += '}';
  }

  // ---- outputs
  std::string answer_outputs(const Json& message) {
    if (description_.stages.empty()) {
      throw Refused("unsupported", "this worker declares no stages");
    }
    const std::vector<std::string> stages = strings(message["stages"], "stages");
    for (const std::string& stage : stages) {
      if (std::find(description_.stages.begin(), description_.stages.end(), stage) ==
          description_.stages.end()) {
        throw Refused("unknown_stage", "this worker has no stage \"" + stage + "\"");
      }
    }
    const bool with_values = message["values"].boolean(false);
    const Json factors =
        message["factors"].is_object() ? switch_factors(message["factors"]) : Json();
    select(message, {});
    worker_.request();
    Json tensors = Json::array();
    for (const Tensor& tensor : worker_.outputs(stages, with_values)) {
      if (!stages.empty() &&
          std::find(stages.begin(), stages.end(), tensor.stage) == stages.end()) {
        continue;
      }
      Json shape = Json::array();
      for (const std::int64_t size : tensor.shape) shape.push_back(size);
      Sha256 sha;
      add_to_digest(sha, tensor);
      Json json(Json::Object{{"stage", tensor.stage},
                             {"dtype", tensor.dtype},
                             {"shape", shape},
                             {"digest", sha.hex_digest()}});
      if (with_values) {
        json.set("values_f32", base64({reinterpret_cast<const char*>(tensor.values.data()),
                                       tensor.values.size() * sizeof(float)}));
      }
      tensors.push_back(std::move(json));
    }
    Json answer(Json::Object{{"type", "outputs"}, {"tensors", std::move(tensors)}});
    if (!factors.is_null()) answer.set("factors", factors);
    return answer.dump();
  }

  // ---- graph capture
  std::string answer_graph_capture(const Json& message) {
    if (!description_.captures) {
      throw Refused("unsupported", "this worker declares no graph capture");
    }
    select(message, {});
    worker_.first_request_ns_ = first_request_ns_.at(selected_);
    Json ledger = Json::array();
    for (const CaptureCosts& costs : worker_.graph_capture()) {
      Json entry(Json::Object{{"shape", costs.shape}});
      const std::pair<const char*, std::int64_t> known[] = {
          {"first_run_ns", costs.first_run_ns},
          {"warm_runs", costs.warm_runs},
          {"warm_ns", costs.warm_ns},
          {"capture_ns", costs.capture_ns},
          {"instantiate_ns", costs.instantiate_ns},
          {"upload_ns", costs.upload_ns},
          {"first_replay_ns", costs.first_replay_ns},
          {"nodes", costs.nodes},
          {"bytes", costs.bytes}};
      for (const auto& [name, value] : known) {
        if (value >= 0) entry.set(name, value);
      }
      ledger.push_back(std::move(entry));
    }
    return Json(Json::Object{{"type", "graph_capture"}, {"ledger", std::move(ledger)}}).dump();
  }

  Worker& worker_;
  const Description description_;
  Recorder recorder_;
  Injection injection_;
  std::map<std::string, DeviceCost> device_costs_;        // by workload
  std::map<std::string, std::int64_t> first_request_ns_;  // by workload
  std::map<std::string, Workload> workloads_;
  std::string selected_;
  bool loaded_ = false;
  bool finished_ = false;
};

// ---- Pipes ------------------------------------------------------------------------------------

namespace detail {

// Lines of bounded length from a file descriptor.
class LineReader {
 public:
  enum class Result { kLine, kTooLong, kEnd };
  explicit LineReader(int fd) : fd_(fd) {}

  Result next(std::string& line) {
    bool too_long = false;
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return too_long || line.size() > kMaxRequestBytes ? Result::kTooLong : Result::kLine;
      }
      searched_ = buffer_.size();
      if (buffer_.size() > kMaxRequestBytes) {  // forget it, answer when the line has ended
        too_long = true;
        buffer_.clear();
        searched_ = 0;
      }
      if (!fill()) return Result::kEnd;
    }
  }

 private:
  bool fill() {
    std::array<char, 65536> part;
    ssize_t size = 0;
    do {
      size = read(fd_, part.data(), part.size());
    } while (size < 0 && errno == EINTR);
    if (size > 0) buffer_.append(part.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  int fd_;
  std::string buffer_;
  std::size_t searched_ = 0;
};

inline bool write_line(int fd, std::string text) {
  text += '\n';
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = write(fd, text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    done += static_cast<std::size_t>(size);
  }
  return true;
}

// Moves a standard descriptor away, not inherited by children, and puts another in its place.
inline int move_away(int standard_fd, int replacement_fd) {
  const int moved = fcntl(standard_fd, F_DUPFD_CLOEXEC, 3);
  dup2(replacement_fd, standard_fd);
  return moved;
}

}  // namespace detail

inline int run(Worker& worker, int argc, char** argv) {
  const int out = detail::move_away(STDOUT_FILENO, STDERR_FILENO);
  try {
    Session session(worker);
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--describe") == 0) {
        return detail::write_line(out, session.hello()) ? 0 : 1;
      }
    }
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    detail::LineReader reader(detail::move_away(STDIN_FILENO, null));
    std::string line;
    while (!session.finished()) {
      const auto result = reader.next(line);
      if (result == detail::LineReader::Result::kEnd) break;
      const bool too_long = result == detail::LineReader::Result::kTooLong;
      if (!detail::write_line(out, too_long ? Session::error("too_large", "a request over 1 MiB")
                                            : session.answer(line))) {
        return 1;
      }
    }
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

}  // namespace abba_worker

#ifdef ABBA_WORKER_COUNT_ALLOCATIONS

namespace abba_worker::detail {

[[maybe_unused]] static const bool counting_installed = (allocations_are_counted = true);

inline void* counted(void* memory) {
  if (counting_allocations.load(std::memory_order_relaxed)) ++allocation_count;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline std::size_t round_up(std::size_t size, std::size_t alignment) {
  return (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
}

// Not inlined: a compiler that saw free() beside a call of new would take them for a mismatch.
[[gnu::noinline]] inline void release(void* memory) {
  std::free(memory);
}

}  // namespace abba_worker::detail

void* operator new(std::size_t size) {
  return abba_worker::detail::counted(std::malloc(size == 0 ? 1 : size));
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto bytes = static_cast<std::size_t>(alignment);
  return abba_worker::detail::counted(
      std::aligned_alloc(bytes, abba_worker::detail::round_up(size, bytes)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete(void* memory) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete[](void* memory) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  abba_worker::detail::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  abba_worker::detail::release(memory);
}

#endif  // ABBA_WORKER_COUNT_ALLOCATIONS

#endif  // ABBA_WORKER_H_
