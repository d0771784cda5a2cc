#include "harness/cli/version.h"

#include "engine/base/source_stamp.h"

namespace abba::cli {

std::string version_text() {
  return "abba " ABBA_VERSION;
}

std::string program_text() {
  return version_text() + " " + base::source_stamp();
}

}  // namespace abba::cli
