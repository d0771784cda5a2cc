// Files that a manifest names: made when missing, hashed, and never trusted by name. A folder's
// digest covers its sorted relative paths and contents, through symbolic links. Hashes of large
// files are cached by (device, inode, size, mtime, ctime) in .abba/hash-cache.json; losing the
// cache costs time only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/manifest/project.h"
#include "harness/record/manifest.h"

namespace abba::manifest {

class HashCache {
 public:
  // Reads the cache file if there is one; a damaged one counts as empty. An empty path = no cache.
  explicit HashCache(std::filesystem::path file);
  // SHA-256 of a file, or of a folder. Throws Error(kBadInput) naming what cannot be read.
  std::string digest(const std::filesystem::path& path);
  // Writes what was learned, quietly nothing if the folder cannot be written (read-only media).
  void save() const;

 private:
  std::string file_digest(const std::filesystem::path& path);
  std::filesystem::path file_;
  std::map<std::string, std::string> known_;  // stat key -> digest
  bool changed_ = false;
};

// The project's cache, in .abba/hash-cache.json.
HashCache open_hash_cache(const Project& project);
// Empties it, so that everything is read again (--rehash).
void forget_hashes(const Project& project);

struct ResolvedFile {
  std::string name;
  std::filesystem::path path;  // absolute
  std::string digest;
  bool made = false;  // its `make` command ran just now
};

struct MakeOptions {
  std::string program;              // what {abba} stands for; "" leaves the word as it is
  bool allow_make = true;           // false: a missing file is an error that names the command
  std::function<bool()> stop = {};  // asked while a `make` command runs; true ends it
};

// Every files[] entry: absolute path, made if missing, digest. A `make` command writes into a
// folder beside its path, and only what it made whole is moved there. Throws Error(kPreflight) if a
// file is missing and cannot be made, Error(kMismatch) if its digest is not the one the manifest
// fixes.
std::vector<ResolvedFile> resolve_files(const record::Manifest& manifest, const Project& project,
                                        HashCache& cache, const MakeOptions& options);

// Digest of one workload's input: the canonical JSON, and the bytes of the file if it names one
// ({"file": path, "key": ...}, path relative to the project). Throws Error(kPreflight) if missing.
std::string input_digest(const record::Workload& workload, const Project& project,
                         HashCache& cache);

}  // namespace abba::manifest
