// What every target that reads JSON inserts besides the words of its own format.
#pragma once

#include <string>
#include <vector>

namespace abba::fuzz {

// `words`, then brackets, separators, numbers at the edges, escapes and bytes that are no UTF-8.
inline std::vector<std::string> with_json(std::vector<std::string> words) {
  for (const char* word : {"[",
                           "]",
                           "{",
                           "}",
                           ",",
                           ":",
                           "null",
                           "true",
                           "NaN",
                           "-1",
                           "-0",
                           "0.5",
                           "1e308",
                           "1e999",
                           "9223372036854775807",
                           "18446744073709551616",
                           "\\u0000",
                           "\\u001b[31m",
                           "\\ud800",
                           "\xff",
                           "\xf0\x9f\x98\x80"}) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace abba::fuzz
