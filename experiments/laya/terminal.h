// What commands print: standard output whole or an error, never silently cut; complaints of one
// line.
#pragma once

#include <string>

namespace abba::laya {

// Throws Error(kBroken) if standard output does not take it.
void print_out(const std::string& text);
bool stdout_is_terminal();
// "abba-laya: SENTENCE" to standard error, one line whatever a path or a file that it names holds:
// terminal commands and other control characters become spaces.
void complain(const std::string& sentence);

}  // namespace abba::laya
