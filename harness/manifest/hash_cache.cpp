#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/manifest/files.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;

// Below this a file is read at once and not worth a cache line.
constexpr std::int64_t kCachedFromBytes = std::int64_t{1} << 20U;
// A file changed this recently could change again within the file system's time granularity and
// keep its stamp, so its digest is not remembered.
constexpr std::int64_t kSettledAfterNs = 2'000'000'000;

std::int64_t stamp_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string stat_key(const struct stat& status) {
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
         std::to_string(status.st_size) + ":" + std::to_string(stamp_ns(status.st_mtim)) + ":" +
         std::to_string(stamp_ns(status.st_ctim));
}

bool settled(const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return stamp_ns(now) - stamp_ns(status.st_ctim) > kSettledAfterNs;
}

struct stat stat_or_throw(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw base::Error(base::ErrorCode::kBadInput, path.string(),
                      "cannot be read: " + base::errno_text(errno));
  }
  return status;
}

struct stat regular_or_throw(const fs::path& path) {
  const struct stat status = stat_or_throw(path);
  if (!S_ISREG(status.st_mode)) {
    throw base::Error(base::ErrorCode::kBadInput, path.string(),
                      "is no regular file (a pipe, socket or device), so it has no digest; take it "
                      "away or name a file");
  }
  return status;
}

using FolderId = std::pair<dev_t, ino_t>;

// Links are followed, as whoever opens these paths follows them; a link back to a folder that the
// walk is in would never end.
void collect(const fs::path& folder, const fs::path& relative, std::vector<FolderId>& above,
             std::vector<fs::path>& files) {
  const struct stat status = stat_or_throw(folder);
  const FolderId id{status.st_dev, status.st_ino};
  if (std::find(above.begin(), above.end(), id) != above.end()) {
    throw base::Error(base::ErrorCode::kBadInput, folder.string(),
                      "is a link to a folder that it lies in; take it away");
  }
  above.push_back(id);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = relative / it->path().filename();
    if (S_ISDIR(stat_or_throw(it->path()).st_mode)) {
      collect(it->path(), name, above, files);
    } else {
      regular_or_throw(it->path());
      files.push_back(name);
    }
  }
  if (error) {
    throw base::Error(base::ErrorCode::kBadInput, folder.string(),
                      "cannot be read: " + error.message());
  }
  above.pop_back();
}

// Files below `folder`, relative, sorted by bytes.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::vector<FolderId> above;
  collect(folder, {}, above, files);
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

}  // namespace

HashCache::HashCache(fs::path file) : file_(std::move(file)) {
  std::error_code ignored;
  if (file_.empty() || !fs::exists(file_, ignored)) return;
  try {
    const base::Json root = base::parse_json_file(file_.string());
    if (!root.is_object()) return;
    for (const auto& [key, value] : root.as_object()) {
      if (value.is_string()) known_[key] = value.as_string();
    }
  } catch (const base::Error&) {
    known_.clear();  // a damaged cache is an empty cache
  }
}

std::string HashCache::file_digest(const fs::path& path) {
  const struct stat status = regular_or_throw(path);
  const std::string key = stat_key(status);
  const bool large = status.st_size >= kCachedFromBytes;
  if (large && known_.count(key) > 0) return known_[key];
  const std::string digest = base::sha256_file(path);
  if (large && settled(status) && stat_key(stat_or_throw(path)) == key) {
    known_[key] = digest;
    changed_ = true;
  }
  return digest;
}

std::string HashCache::digest(const fs::path& path) {
  if (!S_ISDIR(stat_or_throw(path).st_mode)) return file_digest(path);
  base::Sha256 sha;
  sha.update("abba.folder/1\n");
  for (const fs::path& file : files_below(path)) {
    sha.update(file_digest(path / file) + " " + file.generic_string() + "\n");
  }
  return sha.hex_digest();
}

void HashCache::save() const {
  if (file_.empty() || !changed_) return;
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  base::Json root = base::Json::object();
  for (const auto& [key, value] : known_) root.set(key, value);
  try {
    base::write_file_atomically(file_.string(), root.dump_pretty());
  } catch (const base::Error&) {
    // Losing the cache costs time only.
  }
}

namespace {

fs::path cache_file(const Project& project) {
  return project.root / ".abba" / "hash-cache.json";
}

}  // namespace

HashCache open_hash_cache(const Project& project) {
  return HashCache(cache_file(project));
}

void forget_hashes(const Project& project) {
  std::error_code error;
  fs::remove(cache_file(project), error);
  if (error) {
    throw base::Error(base::ErrorCode::kBroken, cache_file(project).string(),
                      "cannot be removed: " + error.message());
  }
}

}  // namespace abba::manifest
