#include "harness/manifest/files.h"

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/manifest/command.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;

// Where a `make` command works: a command that is killed half-way leaves nothing under the real
// name, which the next run would take for the whole. What a killed harness left there goes first.
class MakingFolder {
 public:
  explicit MakingFolder(const fs::path& target)
      : path_(target.parent_path() / (".making-" + target.filename().string())) {
    std::error_code error;
    fs::remove_all(path_, error);
    fs::create_directories(path_, error);
    if (error) {
      throw base::Error(
          base::ErrorCode::kPreflight, path_.string(),
          "cannot be created to make " + target.filename().string() + ": " + error.message());
    }
  }
  ~MakingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  MakingFolder(const MakingFolder&) = delete;
  MakingFolder& operator=(const MakingFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void make_file(const record::FileDecl& file, const fs::path& path, const Project& project,
               const MakeOptions& options) {
  const MakingFolder folder(path);
  const fs::path making = folder.path() / path.filename();
  const std::vector<std::string> argv =
      fill_in(file.make, project, options.program, making.string());
  if (argv[0].find("{abba}") != std::string::npos) {
    throw base::Error(
        base::ErrorCode::kPreflight, path.string(),
        "is missing, and {abba} in its \"make\" command stands for no program here; "
        "run the command by hand: " +
            base::join(fill_in(file.make, project, options.program, path.string()), " "));
  }
  std::error_code error;
  const CommandResult made = run_command(argv, project.root, {}, options.stop);
  if (made.exit_code == 0 && fs::exists(making, error)) {
    fs::rename(making, path, error);
    if (!error) return;
    throw base::Error(base::ErrorCode::kPreflight, path.string(),
                      "was made but cannot be put there: " + error.message());
  }
  std::string reason = made.exit_code == 0 ? "ended well but left no such file"
                                           : "ended with code " + std::to_string(made.exit_code);
  const std::string said(base::trim(made.err));
  if (!said.empty()) reason += " saying: " + said.substr(said.size() > 400 ? said.size() - 400 : 0);
  throw base::Error(base::ErrorCode::kPreflight, path.string(),
                    "could not be made: \"" + base::join(argv, " ") + "\" " + reason);
}

void require_present(const record::FileDecl& file, ResolvedFile& resolved, const Project& project,
                     const MakeOptions& options) {
  std::error_code ignored;
  if (fs::exists(resolved.path, ignored)) return;
  if (file.make.empty()) {
    std::string source = file.source_repo.empty() ? "" : " from " + file.source_repo;
    if (!file.source_revision.empty()) source += " at " + file.source_revision;
    throw base::Error(base::ErrorCode::kPreflight, resolved.path.string(),
                      "file \"" + file.name + "\" is missing; put it there" + source);
  }
  if (!options.allow_make) {
    throw base::Error(
        base::ErrorCode::kPreflight, resolved.path.string(),
        "file \"" + file.name + "\" is missing; make it with: " +
            base::join(fill_in(file.make, project, options.program, resolved.path.string()), " "));
  }
  make_file(file, resolved.path, project, options);
  resolved.made = true;
}

}  // namespace

std::vector<ResolvedFile> resolve_files(const record::Manifest& manifest, const Project& project,
                                        HashCache& cache, const MakeOptions& options) {
  std::vector<ResolvedFile> files;
  for (const record::FileDecl& file : manifest.files) {
    ResolvedFile resolved;
    resolved.name = file.name;
    resolved.path = (project.root / file.path).lexically_normal();
    if (!resolved.path.has_filename()) resolved.path = resolved.path.parent_path();
    require_present(file, resolved, project, options);
    resolved.digest = cache.digest(resolved.path);
    if (!file.sha256.empty() && resolved.digest != file.sha256) {
      throw base::Error(base::ErrorCode::kMismatch, resolved.path.string(),
                        std::string(resolved.made ? "was made but" : "") + " has SHA-256 " +
                            resolved.digest + ", the manifest fixes " + file.sha256);
    }
    files.push_back(std::move(resolved));
  }
  cache.save();
  return files;
}

std::string input_digest(const record::Workload& workload, const Project& project,
                         HashCache& cache) {
  base::Sha256 sha;
  sha.update("abba.input/1\n" + workload.input.canonical() + "\n");
  const base::Json* file = workload.input.find("file");
  if (file != nullptr && file->is_string()) {
    const fs::path path = project.root / file->as_string();
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      throw base::Error(base::ErrorCode::kPreflight, path.string(),
                        "input of workload \"" + workload.id +
                            "\" is missing; put the file there "
                            "or correct the workload's input");
    }
    sha.update(cache.digest(path) + "\n");
  }
  return sha.hex_digest();
}

}  // namespace abba::manifest
