#include "harness/cli/version.h"

namespace abba::cli {

std::string version_text() {
  return "abba " ABBA_VERSION;
}

}  // namespace abba::cli
