#include "harness/manifest/attempts.h"

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace abba::manifest {

std::string_view name(AttemptKind kind) {
  static constexpr std::string_view kNames[] = {"exploratory", "tried", "failed", "aborted"};
  return kNames[static_cast<int>(kind)];
}

void append_attempt(const std::filesystem::path& file, const Attempt& attempt) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const base::Json line = base::Json::object({{"utc", attempt.utc},
                                              {"kind", name(attempt.kind)},
                                              {"manifest", attempt.manifest_id},
                                              {"manifest_digest", attempt.manifest_digest},
                                              {"text", attempt.text}});
  base::append_line(file.string(), line.dump() + "\n");
}

AttemptCounts count_attempts(const std::filesystem::path& file, const std::string& manifest_id) {
  AttemptCounts counts;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return counts;
  for (const std::string& line : base::split(base::read_file(file.string()), '\n')) {
    if (base::trim(line).empty()) continue;
    try {
      const base::Json object = base::parse_json(line, file.string());
      const std::string& kind = object.get_string("kind", "");
      if (!manifest_id.empty() && object.get_string("manifest", "") != manifest_id) continue;
      if (kind == name(AttemptKind::kExploratory)) {
        ++counts.exploratory;
      } else if (kind == name(AttemptKind::kTried)) {
        ++counts.tried;
      } else if (kind == name(AttemptKind::kFailed)) {
        ++counts.failed;
      } else if (kind == name(AttemptKind::kAborted)) {
        ++counts.aborted;
      } else {
        ++counts.unreadable;
      }
    } catch (const base::Error&) {
      ++counts.unreadable;
    }
  }
  return counts;
}

}  // namespace abba::manifest
