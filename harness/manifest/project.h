// The project a manifest belongs to: the folder of the nearest abba.json at or above the manifest's
// folder. Files of a manifest are relative to it; .abba/ (caches, attempts) lies in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/record/manifest.h"

namespace abba::manifest {

struct Project {
  std::filesystem::path root;  // absolute
  bool has_file = false;       // abba.json exists; else root is the manifest's own folder
  std::vector<std::string> default_worker;  // command from abba.json, or empty
};

// Throws Error(kBadInput) if abba.json is malformed. `path` is a manifest or a folder.
Project find_project(const std::filesystem::path& path);

std::filesystem::path lock_path(const std::filesystem::path& manifest);  // M.json -> M.lock.json
// manifests/ledger of the project, wherever the manifest lies in it: verify and reports look there.
std::filesystem::path ledger_folder(const Project& project);
// A manifest as the ledger names it: relative to the project, or its name if it lies elsewhere.
std::string ledger_name(const Project& project, const std::filesystem::path& manifest);
std::filesystem::path attempts_file(const Project& project);  // .abba/attempts

// A command's words with {abba} = the running program, {path} = `path`, {root} = the project.
std::vector<std::string> fill_in(const std::vector<std::string>& argv, const Project& project,
                                 const std::string& program, const std::string& path);

}  // namespace abba::manifest
