#include "experiments/laya/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/utf8.h"

namespace abba::laya {

void print_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw base::Error(base::ErrorCode::kBroken, "standard output",
                    "cannot be written: " + base::errno_text(errno));
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

void complain(const std::string& sentence) {
  std::fprintf(stderr, "abba-laya: %s\n", base::clean_utf8(sentence).c_str());
}

}  // namespace abba::laya
