// Standard output for commands: whole or an error, never silently cut.
#pragma once

#include <string>

namespace abba::laya {

// Throws Error(kBroken) if standard output does not take it.
void print_out(const std::string& text);
bool stdout_is_terminal();

}  // namespace abba::laya
