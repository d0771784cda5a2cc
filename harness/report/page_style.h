// The style sheet of the HTML page; light and dark follow the reader's system.
#pragma once

#include <string_view>

namespace abba::report {

[[nodiscard]] std::string_view page_style();

}  // namespace abba::report
