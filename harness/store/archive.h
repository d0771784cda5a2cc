// A zip archive as a bundle is written: entries stored without compression, in the order given,
// with one fixed time and no names of users, so that equal entries give equal bytes. Reading trusts
// nothing: sizes and counts are bounded, names stay below one folder, and bytes that writing the
// entries anew would not give (compressed, encrypted or hidden data, comments, a second directory)
// are refused. archive.cpp alone includes minizip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace abba::store {

struct ArchiveEntry {
  std::string name;   // relative, "folder/file": letters, digits, "." "_" "-" and single "/"
  std::string bytes;  // its content
};

struct ArchiveLimits {
  std::size_t max_entries = 4096;
  std::size_t max_bytes = std::size_t{256} << 20U;  // of the archive, and so of all entries
};

// The archive's bytes. Throws Error(kBadInput) for a name that is not allowed or stands twice.
std::string write_archive(const std::vector<ArchiveEntry>& entries);

// The entries, in order. `path` is for messages only. Throws Error(kBadInput, path, one sentence).
std::vector<ArchiveEntry> read_archive(std::string_view bytes, const std::string& path,
                                       const ArchiveLimits& limits = {});

// Begins as a zip archive does.
bool is_archive(std::string_view bytes);

}  // namespace abba::store
