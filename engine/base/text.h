// Small pieces of text and file handling that every layer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace abba::base {

// The whole file as bytes. Throws Error(kBadInput) naming the file if it cannot be read or is
// larger than `max_bytes`.
std::string read_file(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30U);

// Writes the file whole or not at all: a temporary beside it, fsync, rename. Throws Error(kBroken).
void write_file_atomically(const std::string& path, std::string_view bytes);

// Adds one line (its end included) to a file, made if it is not there: one write under a lock, so
// that lines of several processes do not mix; half a line on a full disk is taken back. Throws
// Error(kBroken).
void append_line(const std::string& path, std::string_view line);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);

// The number of single-character edits between two words, given up beyond `limit` (any number
// above it is then the answer).
std::size_t edit_distance(std::string_view a, std::string_view b,
                          std::size_t limit = std::size_t{1} << 20U);

// "2026-11-29T14:47:31Z" for seconds since the epoch.
std::string utc_text(std::int64_t unix_seconds);

}  // namespace abba::base
