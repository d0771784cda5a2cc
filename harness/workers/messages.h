// The wire form of abba.worker/1 on the harness's side: requests as JSON, and answers checked and
// turned into plain data. Pure functions. An answer comes from outside: each parse_* throws a
// ProtocolBreach on a missing member, a wrong kind, a count, an order or a nesting that
// does not hold, so that what they return can be stored as it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "harness/record/manifest.h"
#include "harness/record/worker.h"

namespace abba::workers {

// What the parse_* functions throw: kBroken, and which rule of conformance_rules.h does not hold.
class ProtocolBreach : public base::Error {
 public:
  ProtocolBreach(std::string_view rule, const std::string& worker, const std::string& message)
      : Error(base::ErrorCode::kBroken, worker, message), rule_(rule) {}
  [[nodiscard]] const std::string& rule() const { return rule_; }

 private:
  std::string rule_;
};

inline constexpr const char* kProtocol = "abba.worker/1";
inline constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20U;

base::Json hello_request();
base::Json load_request(const record::LoadRequest& request);
base::Json prepare_request(const record::Workload& workload, std::uint64_t rotate_seed);
base::Json slot_request(const record::SlotRequest& request);
// `factors`: hot ones to switch to; empty = as they are.
base::Json outputs_request(const std::string& workload, const std::vector<std::string>& stages,
                           bool with_values,
                           const std::map<std::string, std::string>& factors = {});
base::Json graph_capture_request(const std::string& workload);
base::Json shutdown_request();

// One line as JSON within the protocol's bounds; `name` is the worker's, for messages.
base::Json parse_answer(const std::string& line, const std::string& name);

record::WorkerHello parse_hello(const base::Json& answer, const std::string& name);
record::LoadReply parse_load(const base::Json& answer, const std::string& name);
record::PrepareReply parse_prepare(const base::Json& answer, const std::string& name);
// Checked against what was asked and against what `hello` declared.
record::SlotReply parse_slot(const base::Json& answer, const record::SlotRequest& request,
                             const record::WorkerHello& hello, const std::string& name);
std::vector<record::OutputTensor> parse_outputs(const base::Json& answer,
                                                const std::vector<std::string>& stages,
                                                const record::WorkerHello& hello, bool with_values,
                                                const std::string& name);
// At least one entry, each of another shape; unknown members are refused, since a misspelt cost
// would otherwise be lost.
std::vector<record::CaptureCosts> parse_graph_capture(const base::Json& answer,
                                                      const std::string& name);

// That the answer repeats the hot factors it was asked to switch to, if any.
void require_switched(const base::Json& answer, const std::map<std::string, std::string>& factors,
                      const std::string& name);

// "load" of {"type": "load", ...}; "error" of {"error": {...}}; "" of anything else.
std::string answer_type(const base::Json& answer);

}  // namespace abba::workers
