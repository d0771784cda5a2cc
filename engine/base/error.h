// The three kinds of failure. Our mistake: ABBA_CHECK aborts. The world's refusal (a file, memory,
// a worker, a driver): base::Error is thrown. An expected outcome is a value and never comes here.
#pragma once

#include <stdexcept>
#include <string>

namespace abba::base {

// Decides the exit code of a program; the programs' cli files hold the only mapping.
enum class ErrorCode {
  kBadInput,   // usage, manifest, malformed file: exit 2
  kMismatch,   // registration, binding or run-count mismatch: exit 3
  kPreflight,  // preflight or outputs failed: exit 4
  kBroken,     // the run broke or was stopped, I/O failed: exit 5
  kEvidence,   // evidence or conformance does not check out: exit 7
};

// One sentence that says what is wrong, where, and what to do. `where` is a path, a JSON pointer or
// a name and may be empty; what() is "where: message" or just the message.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& where, const std::string& message);
  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  ErrorCode code_;
  std::string where_;
  std::string message_;
};

// The text of errno for messages ("No space left on device").
std::string errno_text(int error_number);

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace abba::base

#define ABBA_CHECK(condition) \
  ((condition) ? (void)0 : ::abba::base::check_failed(__FILE__, __LINE__, #condition))
