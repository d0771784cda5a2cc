// The body of POST /v1/systemone, from bytes to a Request and from a Response to bytes, with the
// original's limits, order of checks, status codes and sentences. It knows no sockets: what serves
// it calls read_body where a body is complete and reply_body where it is answered.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/runtime/request.h"

namespace abba::runtime {

struct WireLimits {
  std::size_t body_bytes = std::size_t{2} << 20U;
  int depth = 64;  // the original's is Python's recursion, near 1000
  std::size_t questions = 64;
  std::size_t choice_options = 100;
  std::size_t score_levels = 32;
  std::size_t options_in_all = 512;
  std::size_t state_chars = 50'000;  // len(str(state))
  std::int64_t tokens = 8192;        // max_len and head_max_len
};

// A body that gets an answer other than 200: what() is the sentence for the client.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}
  [[nodiscard]] int status() const { return status_; }  // 400, 413 or 422

 private:
  int status_;
};

// {"state", "questions"[, "max_len", "head_max_len", "lang"]}; other members are ignored. Throws
// Error(kBadInput, where, ...) for a missing or wrong one. Without the limits above. `questions`
// may be empty: the original gives empty answers then.
Request read_request(const text::PyValue& body, const std::string& where);

// The same from bytes, under the limits. `loaded` is the published name of what this server has: a
// body whose "model" or "task" names another published checkpoint, or a path or repository, is
// refused; any other "model" leaves the choice to the server, which has one. So is a member that
// changes the original's answers and is not known here (min_confidence, hooks). Throws Refusal.
Request read_body(std::string_view bytes, const WireLimits& limits, std::string_view loaded);

// Compact JSON, with "routing" as the original's router adds it. Throws Refusal(422) if an answer
// repeats a number of the request that JSON does not have (NaN).
std::string reply_body(const Response& response, std::string_view loaded, std::string_view repo);

// {"detail": sentence}
std::string detail_body(std::string_view sentence);

}  // namespace abba::runtime
