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

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  bool boolean(bool fallback = false) const;
  std::int64_t integer(std::int64_t fallback = 0) const;
  double number(double fallback = 0) const;
  std::string text(const std::string& fallback = "") const;
  const Array& items() const;                          // empty unless an array
  const Object& members() const;                       // empty unless an object
  const Json& operator[](std::string_view key) const;  // null if there is none
  Json& set(std::string_view key, Json value);         // null becomes an object first
  void push_back(Json value);                          // null becomes an array first

  std::string dump() const;  // one line
  // Throws std::runtime_error; depth at most 64.
  static Json parse(std::string_view text);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
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
  bool hot = false;                // can be switched without a reload
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
  std::string source_stamp = "";                     // source tree and dirty-patch hash, or empty
  std::vector<std::string> files_to_hash = {};       // besides executable and mapped libraries
  std::vector<Boundary> boundaries = {{"request"}};  // the first outermost one is the default
  std::vector<Metric> metrics = {};
  std::vector<Factor> factors = {};
  std::vector<std::string> stages = {};        // of outputs(); not empty = capability "outputs"
  std::vector<std::string> capabilities = {};  // further ones ("graph_capture")
  Json workload_form;  // {"input": in words, "example": an input that prepare() accepts}
  Json facts;          // anything else worth recording
};

struct LoadRequest {
  Json settings;
  std::map<std::string, std::string> files;    // name -> absolute path
  std::map<std::string, std::string> factors;  // every declared factor, defaults filled in
  std::string device;
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
  Json facts;
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

// ---- The worker -------------------------------------------------------------------------------

class Recorder;

class Worker {
 public:
  virtual ~Worker() = default;

  // Sets up one workload. Throw std::exception (best: Refused) to refuse it.
  virtual Prepared prepare(const Workload& workload) = 0;
  // One request of the selected workload, start to end: the timed call. Throw to fail the request.
  // If it opens a Span named as the outermost boundary asked for, that span is the sample;
  // otherwise the whole call is.
  virtual void request() = 0;

  virtual Description describe() { return {}; }  // touches no device
  virtual void load(const LoadRequest& request, LoadReply& effective);
  // Before a slot or outputs of a workload other than the last one. Default: prepare() again. A
  // worker that keeps several workloads ready overrides it.
  virtual void select(const Workload& workload) { prepare(workload); }
  // Of the last request. `values` asks for Tensor::values. Empty `stages` = all. The digest of a
  // slot is made of outputs({}, false).
  virtual std::vector<Tensor> outputs(const std::vector<std::string>& stages, bool values);
  virtual Json graph_capture(const Workload& workload);  // declared by capability only

  // For request(): which of the `rotate` variants is due (0 without rotation), the boundaries
  // asked for (outermost first), spans, and values of declared metrics.
  int variant() const { return variant_; }
  const std::vector<std::string>& boundaries() const { return boundaries_; }
  Recorder& recorder() { return *recorder_; }
  void value(const char* metric, double value);

 private:
  friend class Session;
  int variant_ = 0;
  std::vector<std::string> boundaries_;
  Recorder* recorder_ = nullptr;
};

// Times a part of a request until its scope ends: Span span(recorder(), "pack"). The parent is the
// span open around it. `name` must outlive the request. Free of allocation; outside of a slot it
// records nothing.
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

}  // namespace abba_worker

#endif  // ABBA_WORKER_H_
