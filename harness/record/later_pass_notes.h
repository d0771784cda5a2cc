// Codes of notes about a pass after the measured ones: harness/run gives them (their entries stand
// in its table), and whoever verifies a run looks for them.
#pragma once

#include <string_view>

namespace abba::record {

inline constexpr std::string_view kLaterPassUnable = "N073";
inline constexpr std::string_view kLaterPassFailed = "N074";

}  // namespace abba::record
