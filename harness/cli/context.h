// Where things lie: this program, its neighbours, the project of a manifest, the run files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/manifest/project.h"
#include "harness/record/manifest.h"
#include "harness/run/arm_command.h"
#include "harness/trace/tracer.h"

namespace abba::cli {

std::filesystem::path own_program();       // absolute path of the running abba
std::filesystem::path laya_beside_abba();  // may not exist

// What {abba} means, and the embedded engine's worker if it lies beside abba.
run::CommandSources command_sources();

// The tracer that goes with this program, or what ABBA_TRACE_LIBRARY and ABBA_TRACE_CUPTI name.
trace::Tracer tracer_here();

struct Loaded {
  record::Manifest manifest;
  manifest::Project project;
};
// Throws Error(kBadInput) with all mistakes. `rehash`: nothing remembered of its files is believed.
Loaded load_manifest(const std::string& path, bool rehash = false);

// "20261129T150000Z-1a2b3c4d": of this moment and a digest.
std::string new_run_id(std::int64_t unix_seconds, const std::string& digest);

// Run files of a project, oldest first: results/ and, with `exploratory`, .abba/exploratory/. An
// empty `id` = of every manifest.
std::vector<std::filesystem::path> run_files(const manifest::Project& project,
                                             const std::string& id, bool exploratory);

// The run file or bundle that a person named, or its compressed form FILE.xz where that alone
// exists.
std::filesystem::path named_run(const std::string& name);

// Throws Error(kBadInput) if the file exists, advising to name another with `option`.
void refuse_to_overwrite(const std::filesystem::path& path, const std::string& option = "--out");

// Prints to standard output; one check of the stream at the end of the program tells a full disk.
// Terminal commands and other control characters, which a file may hold, become spaces.
void print(const std::string& text);
// The same, byte for byte: for rows that another program reads.
void print_bytes(const std::string& text);
// One line, whatever the text holds: what comes from files and workers cannot add lines of its own,
// which would pass for abba's.
void print_line(std::string_view text);
// "abba: TEXT" to standard error, one line likewise.
void complain(std::string_view text);
// The same, but lines stay: for text whose every line was made by abba.
void complain_lines(std::string_view text);

}  // namespace abba::cli
