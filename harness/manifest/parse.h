// JSON text to record::Manifest, with every mistake at once. Knows the shape of a manifest
// (abba.manifest/1), its ranges and its inner logic; does not know which factors or boundaries
// exist (check.h asks a worker's hello for that). Reads no file but the manifest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "harness/record/manifest.h"

namespace abba::manifest {

inline constexpr std::string_view kSchemaName = "abba.manifest/1";

// One mistake. `code` is one of: syntax, missing, unknown-key, wrong-type, out-of-range, bad-value,
// duplicate, no-difference, too-many-differences, unknown-name, inconsistent.
struct Mistake {
  std::string pointer;   // JSON pointer (RFC 6901) into the manifest; "" = the whole text
  std::string code;      //
  std::string found;     // what stands there
  std::string accepted;  // what would be accepted instead
};

// "/protocol/passes: found 0, accepted is a whole number from 1 to 1000".
std::string text(const Mistake& mistake);
// All of them, one a line, whatever the manifest holds.
std::string text(const std::vector<Mistake>& mistakes);

// The only error of several lines: a mistake each, below their count.
class MistakesError : public base::Error {
 public:
  MistakesError(const std::string& path, const std::vector<Mistake>& mistakes);
};

struct ParseResult {
  std::optional<record::Manifest> manifest;  // set exactly if there are no mistakes
  std::vector<Mistake> mistakes;
  std::vector<std::string> notes;  // allowed, but a report should say it (no evidence named, ...)
  [[nodiscard]] bool ok() const { return manifest.has_value(); }
};

// `path` is stored in the manifest and names it in messages; it may be empty.
[[nodiscard]] ParseResult parse_text(std::string_view text, const std::string& path);

// Throws Error(kBadInput) only if the file cannot be read; everything in it is a Mistake.
[[nodiscard]] ParseResult parse_file(const std::string& path);

// The manifest, or MistakesError.
record::Manifest parse_file_or_throw(const std::string& path);

}  // namespace abba::manifest
