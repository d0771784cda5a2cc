#include "harness/manifest/attempts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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
  const std::string bytes = line.dump() + "\n";
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  // One write() of one line, under a lock: appends of several processes do not mix, and half a line
  // on a full disk can be taken back.
  if (descriptor >= 0) (void)::flock(descriptor, LOCK_EX);
  struct stat before {};
  const bool sized = descriptor >= 0 && ::fstat(descriptor, &before) == 0;
  const ssize_t count = sized ? ::write(descriptor, bytes.data(), bytes.size()) : -1;
  const bool written = count == static_cast<ssize_t>(bytes.size());
  const int reason = count >= 0 && !written ? ENOSPC : errno;
  if (count > 0 && !written) (void)!::ftruncate(descriptor, before.st_size);
  if (descriptor >= 0) ::close(descriptor);
  if (!written) {
    throw base::Error(base::ErrorCode::kBroken, file.string(),
                      "cannot be appended to: " + base::errno_text(reason));
  }
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
