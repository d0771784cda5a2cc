// Which files of a folder are runs, by name alone: a run file may be compressed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace abba::store {

// Named *.sqlite or *.sqlite.xz.
bool is_run_file(const std::filesystem::path& path);

// The run's name: its file's without folder, .sqlite and .xz.
std::string run_stem(const std::filesystem::path& run_file);

// The run files that lie in `folder` itself, sorted by name; none where it cannot be read.
std::vector<std::filesystem::path> run_files_in(const std::filesystem::path& folder);

}  // namespace abba::store
