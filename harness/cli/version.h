// The program's own version, as CMake states it.
#pragma once

#include <string>

namespace abba::cli {

std::string version_text();  // "abba 0.1.0"
std::string program_text();  // the same with the stamp of its sources: this build

}  // namespace abba::cli
