// Splits a command line into words as a shell would, without any of a shell's powers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abba::cli {

// Blanks separate words; '...' is literal, "..." and \ protect blanks and quotes. No variables, no
// globbing. Throws Error(kBadInput) for an open quote or an empty command.
std::vector<std::string> command_words(std::string_view command);

}  // namespace abba::cli
