// What a report may not say: causes that no counter showed, and agreement that no check showed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abba::report {

// The words of the rule found in `text` as whole words, whatever their case, each once: cause words
// ("occupancy", "bandwidth", "cache miss", ...) and "parity", "equal to the original", "ready to
// merge". "parity-blocked" is the name of a restriction, not a claim.
[[nodiscard]] std::vector<std::string> cause_words(std::string_view text);
[[nodiscard]] std::vector<std::string> agreement_words(std::string_view text);

}  // namespace abba::report
