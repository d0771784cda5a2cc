// What a shell needs to complete the program's commands and flags.
#pragma once

#include <string>

namespace abba::cli {

// The script for "bash", or the one that "zsh" can read too.
std::string completion_script(const std::string& shell);

}  // namespace abba::cli
