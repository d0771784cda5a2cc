#include "engine/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace abba::base {

Error::Error(ErrorCode code, const std::string& where, const std::string& message)
    : std::runtime_error(where.empty() ? message : where + ": " + message),
      code_(code),
      where_(where),
      message_(message) {}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal error: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace abba::base
