#include "harness/cli/context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "harness/manifest/files.h"
#include "harness/manifest/parse.h"
#include "harness/record/registration.h"
#include "harness/store/run_list.h"
#include "harness/trace/trace_format.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;

void collect(const fs::path& folder, const std::string& id, std::vector<fs::path>& files) {
  std::error_code error;
  const fs::path start = id.empty() ? folder : folder / id;
  if (!fs::is_directory(start, error)) {
    return;
  }
  fs::recursive_directory_iterator entries(start, error);
  if (error) {
    throw base::Error(base::ErrorCode::kBadInput, start.string(),
                      "cannot be read: " + error.message() + "; check its permissions");
  }
  for (; entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    if (error) {
      throw base::Error(base::ErrorCode::kBadInput, start.string(),
                        "cannot be read: " + error.message() + "; check its permissions");
    }
    // Runs of a calibration are no experiment of the project: `calibrate` alone reads them.
    if (entries->is_directory(error) && entries->path() == folder / "calibration") {
      entries.disable_recursion_pending();
    }
    if (entries->is_regular_file(error) && store::is_run_file(entries->path())) {
      files.push_back(entries->path());
    }
  }
}

}  // namespace

fs::path own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("abba") : path;
}

fs::path laya_beside_abba() {
  return own_program().parent_path() / "abba-laya";
}

trace::Tracer tracer_here() {
  const auto chosen = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  return trace::find_tracer(own_program(),
                            {chosen("ABBA_TRACE_LIBRARY"), chosen(trace::kTraceCuptiVariable)});
}

run::CommandSources command_sources() {
  run::CommandSources sources;
  sources.program = own_program().string();
  std::error_code ignored;
  if (fs::exists(laya_beside_abba(), ignored)) {
    sources.last_resort = {laya_beside_abba().string(), "worker"};
  }
  return sources;
}

Loaded load_manifest(const std::string& path, bool rehash) {
  Loaded loaded;
  loaded.manifest = manifest::parse_file_or_throw(path);
  loaded.project = manifest::find_project(path);
  if (rehash) {
    manifest::forget_hashes(loaded.project);
  }
  return loaded;
}

std::string new_run_id(std::int64_t unix_seconds, const std::string& digest) {
  std::string utc = base::utc_text(unix_seconds);
  std::erase_if(utc, [](char c) { return c == '-' || c == ':'; });
  return utc + "-" + record::short_digest(digest);
}

std::vector<fs::path> run_files(const manifest::Project& project, const std::string& id,
                                bool exploratory) {
  std::vector<fs::path> files;
  collect(project.root / "results", id, files);
  if (exploratory) {
    collect(project.root / ".abba" / "exploratory", id, files);
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return a.filename() == b.filename() ? a < b : a.filename() < b.filename();
  });
  return files;
}

fs::path named_run(const std::string& name) {
  if (name.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, "", "an empty name; name a run file or bundle");
  }
  std::error_code ignored;
  const fs::path compressed = name + ".xz";
  const bool is_compressed = !fs::exists(name, ignored) && fs::exists(compressed, ignored);
  return is_compressed ? compressed : fs::path(name);
}

void refuse_to_overwrite(const fs::path& path, const std::string& option) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    throw base::Error(base::ErrorCode::kBadInput, path.string(),
                      "exists already and is never overwritten; name another with " + option);
  }
}

void print(const std::string& text) {
  print_bytes(base::clean_lines(text));
}

void print_line(std::string_view text) {
  print_bytes(base::clean_utf8(text) + "\n");
}

void complain(std::string_view text) {
  std::fprintf(stderr, "abba: %s\n", base::clean_utf8(text).c_str());
}

void complain_lines(std::string_view text) {
  std::fprintf(stderr, "abba: %s\n", base::clean_lines(text).c_str());
}

void print_bytes(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace abba::cli
