# Run at every build: writes OUT (a .cpp with the stamp of SOURCE_DIR), touching it only on a change.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse HEAD^{tree}
  OUTPUT_VARIABLE tree OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
execute_process(COMMAND git -C ${SOURCE_DIR} diff HEAD --no-ext-diff --binary
  OUTPUT_VARIABLE patch ERROR_QUIET)
if(failed OR NOT tree MATCHES "^[0-9a-f]+$")
  set(stamp "unknown")
elseif(patch STREQUAL "")
  set(stamp "${tree}-0000000000000000")
else()
  string(SHA256 patch_hash "${patch}")
  string(SUBSTRING ${patch_hash} 0 16 patch_hash)
  set(stamp "${tree}-${patch_hash}")
endif()
string(LENGTH "${stamp}" length)
while(length LESS 57)  # 40 + 1 + 16
  string(APPEND stamp ".")
  string(LENGTH "${stamp}" length)
endwhile()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "engine/base/source_stamp.h"

namespace abba::base {
namespace {
__attribute__((section(".abba_stamp"), used)) const char kStamp[] = "@stamp@";
}
std::string source_stamp() {
  const volatile char* text = kStamp;  // not folded into the code
  std::string stamp;
  for (; *text != 0; ++text) {
    stamp.push_back(*text);
  }
  return stamp;
}
}  // namespace abba::base
]])
