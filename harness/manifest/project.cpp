#include "harness/manifest/project.h"

#include "engine/base/error.h"
#include "harness/manifest/section.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProjectFile = "abba.json";

void read_project_file(const fs::path& file, Project& project) {
  base::JsonLimits limits;
  limits.max_bytes = std::size_t{1} << 20U;
  limits.max_depth = 16;
  limits.allow_comments = true;
  const base::Json root = base::parse_json_file(file.string(), limits);
  if (!root.is_object()) {
    throw base::Error(base::ErrorCode::kBadInput, file.string(),
                      "is " + std::string(root.kind_name()) + ", an object is needed");
  }
  Mistakes mistakes;
  for (const auto& [key, value] : root.as_object()) {
    if (key == "schema" || key == "$schema") continue;
    if (key != "default_worker") {
      mistakes.push_back({below("", key), "unknown-key", "unknown key \"" + key + "\"",
                          "key " + one_of(key, {"default_worker", "schema"})});
    }
  }
  const base::Json* command = root.find("default_worker");
  if (command != nullptr) {
    const base::Json arm = base::Json::object({{"worker", *command}});
    const Section section(&arm, "", "arm", mistakes);
    section.command("worker", project.default_worker);
  }
  if (!mistakes.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, file.string(), text(mistakes));
  }
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

Project find_project(const fs::path& path) {
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const fs::path start = fs::is_directory(absolute, ignored) ? absolute : absolute.parent_path();
  Project project;
  project.root = start;
  for (fs::path folder = start;; folder = folder.parent_path()) {
    if (fs::exists(folder / kProjectFile, ignored)) {
      project.root = folder;
      project.has_file = true;
      read_project_file(folder / kProjectFile, project);
      return project;
    }
    if (folder == folder.root_path() || folder.empty()) return project;
  }
}

fs::path lock_path(const fs::path& manifest) {
  fs::path result = manifest;
  if (result.extension() == ".json") result.replace_extension();
  result += ".lock.json";
  return result;
}

fs::path ledger_folder(const Project& project) {
  // Without an abba.json the root is the manifest's own folder, which may be that folder itself.
  const bool is_it = !project.has_file && project.root.filename() == "manifests";
  return (is_it ? project.root : project.root / "manifests") / "ledger";
}

std::string ledger_name(const Project& project, const fs::path& manifest) {
  const std::string name =
      fs::absolute(manifest).lexically_normal().lexically_relative(project.root).generic_string();
  return name.empty() || name.rfind("..", 0) == 0 ? manifest.filename().string() : name;
}

fs::path attempts_file(const Project& project) {
  return project.root / ".abba" / "attempts";
}

std::vector<std::string> fill_in(const std::vector<std::string>& argv, const Project& project,
                                 const std::string& program, const std::string& path) {
  std::vector<std::string> result = argv;
  for (std::string& word : result) {
    if (!program.empty()) replace_all(word, "{abba}", program);
    replace_all(word, "{path}", path);
    replace_all(word, "{root}", project.root.string());
  }
  return result;
}

}  // namespace abba::manifest
