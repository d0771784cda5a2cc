// The program's own version, as CMake states it.
#pragma once

#include <string>

namespace abba::cli {

std::string version_text();  // "abba 0.1.0"

}  // namespace abba::cli
