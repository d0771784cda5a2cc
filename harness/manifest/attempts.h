// The honest lower bound of "how many went before": every exploratory, tried, failed or aborted run
// leaves one JSON line in .abba/attempts. Lines are only appended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace abba::manifest {

enum class AttemptKind { kExploratory, kTried, kFailed, kAborted };
std::string_view name(AttemptKind kind);

struct Attempt {
  AttemptKind kind = AttemptKind::kTried;
  std::string utc;
  std::string manifest_id;
  std::string manifest_digest;
  std::string text;  // why it failed, run file name, ...
};

struct AttemptCounts {
  int exploratory = 0;
  int tried = 0;
  int failed = 0;
  int aborted = 0;
  int unreadable = 0;  // damaged lines
  [[nodiscard]] int total() const { return exploratory + tried + failed + aborted; }
};

// Creates the folder if needed. Throws Error(kBroken) if the line cannot be written.
void append_attempt(const std::filesystem::path& file, const Attempt& attempt);
// Of this manifest id (any digest); "" = all. An absent file counts nothing.
AttemptCounts count_attempts(const std::filesystem::path& file, const std::string& manifest_id);

}  // namespace abba::manifest
