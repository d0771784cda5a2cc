#include "harness/workers/build.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/record/registration.h"
#include "harness/workers/executable.h"
#include "harness/workers/process.h"

namespace abba::workers {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;
using record::short_digest;

constexpr double kGitTimeout = 600;
constexpr double kBuildTimeout = 2 * 3600;

// Commands on one repository. Hooks of the person's repository never run for us.
class Git {
 public:
  explicit Git(const std::string& folder) : folder_(folder) {
    root_ = run({"rev-parse", "--show-toplevel"});
  }

  [[nodiscard]] const std::string& root() const { return root_; }

  // The output without its last newline; throws kBadInput with git's own words.
  std::string run(const std::vector<std::string>& arguments,
                  std::map<std::string, std::string> environment = {}) const {
    const CommandResult result = try_run(arguments, std::move(environment));
    if (result.exit_code != 0) {
      throw Error(ErrorCode::kBadInput, folder_,
                  "git " + arguments[0] + " failed: " + base::join(result.stderr_tail, " | "));
    }
    return std::string(base::trim(result.output));
  }

  CommandResult try_run(const std::vector<std::string>& arguments,
                        std::map<std::string, std::string> environment = {}) const {
    ProcessSpec spec;
    spec.argv = {"git", "-C", root_.empty() ? folder_ : root_, "-c", "core.hooksPath=/dev/null"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    environment["GIT_OPTIONAL_LOCKS"] = "0";
    spec.environment = std::move(environment);
    return run_command(spec, kGitTimeout);
  }

 private:
  std::string folder_;
  std::string root_;
};

struct Source {
  std::string tree;
  std::string commit;     // what is checked out
  bool dangling = false;  // made by us for `worktree`
};

// One process at a time under .abba/, and a scratch name of its own.
class Lock {
 public:
  explicit Lock(const fs::path& path)
      : fd_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) {
      const int error = errno;
      if (fd_ >= 0) close(fd_);
      throw Error(ErrorCode::kBroken, path.string(),
                  "cannot be locked: " + base::errno_text(error));
    }
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

// The tree of tracked and untracked, not ignored files as they are now, through an index of our
// own: the person's index and files are only read.
std::string tree_of_worktree(const Git& git, const fs::path& scratch) {
  const fs::path index = scratch / ("index-" + std::to_string(getpid()));
  std::error_code ignored;
  const fs::path own = git.run({"rev-parse", "--absolute-git-dir"}) + "/index";
  fs::copy_file(own, index, fs::copy_options::overwrite_existing, ignored);  // saves hashing again
  const std::map<std::string, std::string> environment = {{"GIT_INDEX_FILE", index.string()}};
  std::vector<std::string> add = {"add", "--all"};
  if (git.try_run({"check-ignore", "--quiet", ".abba"}).exit_code != 0) {
    add.insert(add.end(),
               {"--", ".", ":(exclude).abba"});  // git refuses to exclude what it ignores
  }
  git.run(add, environment);
  std::string tree = git.run({"write-tree"}, environment);
  fs::remove(index, ignored);
  return tree;
}

Source resolve_commit(const Git& git, const std::string& commit) {
  return {git.run({"rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{tree}"}),
          commit, false};
}

Source resolve(const Git& git, const std::string& rev, const fs::path& scratch) {
  if (rev == "worktree") return {tree_of_worktree(git, scratch), "", true};
  constexpr std::string_view kMergeBase = "merge-base(";
  if (rev.compare(0, kMergeBase.size(), kMergeBase) == 0 && rev.back() == ')') {
    const std::string other = rev.substr(kMergeBase.size(), rev.size() - kMergeBase.size() - 1);
    if (other.empty() || other[0] == '-') {
      throw Error(ErrorCode::kBadInput, rev, "is no revision; write merge-base(BRANCH)");
    }
    return resolve_commit(git, git.run({"merge-base", "HEAD", other}));
  }
  const CommandResult commit =
      git.try_run({"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"});
  if (rev.empty() || commit.exit_code != 0) {
    throw Error(ErrorCode::kBadInput, rev.empty() ? "rev" : rev,
                "is no revision of " + git.root() +
                    "; give a branch, tag or commit, \"worktree\" or \"merge-base(X)\"");
  }
  return resolve_commit(git, std::string(base::trim(commit.output)));
}

// A commit nobody refers to, so that `git worktree` can check the tree out.
std::string dangling_commit(const Git& git, const std::string& tree) {
  const std::map<std::string, std::string> identity = {
      {"GIT_AUTHOR_NAME", "abba"},     {"GIT_AUTHOR_EMAIL", "abba"},
      {"GIT_AUTHOR_DATE", "@0 +0000"}, {"GIT_COMMITTER_NAME", "abba"},
      {"GIT_COMMITTER_EMAIL", "abba"}, {"GIT_COMMITTER_DATE", "@0 +0000"}};
  std::vector<std::string> arguments = {"commit-tree", tree, "-m", "worktree as it was"};
  const CommandResult head = git.try_run({"rev-parse", "--verify", "--quiet", "HEAD"});
  if (head.exit_code == 0) {
    arguments.insert(arguments.end(), {"-p", std::string(base::trim(head.output))});
  }
  return git.run(arguments, identity);
}

// Checked out for the time of a build. Always the same path, so that two revisions do not differ in
// the paths that their executables hold.
class Checkout {
 public:
  Checkout(const Git& git, const fs::path& path, const std::string& commit)
      : git_(git), path_(path) {
    remove();
    git_.run({"worktree", "add", "--force", "--detach", path_.string(), commit});
  }
  ~Checkout() {
    try {
      remove();
    } catch (const Error&) {  // the next build tries again
    }
  }
  Checkout(const Checkout&) = delete;
  Checkout& operator=(const Checkout&) = delete;

 private:
  void remove() {
    git_.try_run({"worktree", "remove", "--force", "--force", path_.string()});
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    git_.try_run({"worktree", "prune"});
  }
  const Git& git_;
  fs::path path_;
};

std::string recipe_text(const record::BuildRecipe& recipe) {
  Json commands = Json::array();
  for (const std::vector<std::string>& command : recipe.commands) {
    Json argv = Json::array();
    for (const std::string& argument : command) argv.push_back(argument);
    commands.push_back(argv);
  }
  return Json::object({{"commands", commands}, {"executable", recipe.executable}}).canonical();
}

std::vector<std::string> filled_in(std::vector<std::string> argv, const std::string& build) {
  constexpr std::string_view kBuild = "{build}";
  for (std::string& argument : argv) {
    for (std::size_t at = 0; (at = argument.find(kBuild, at)) != std::string::npos;
         at += build.size()) {
      argument.replace(at, kBuild.size(), build);
    }
  }
  return argv;
}

std::string last_lines(const std::string& text, std::size_t count) {
  std::vector<std::string> lines = base::split(base::trim(text), '\n');
  if (lines.size() > count) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  }
  return base::join(lines, " | ");
}

void run_recipe(const record::BuildRecipe& recipe, const fs::path& source, const fs::path& build,
                const std::function<bool()>& stop) {
  for (const std::vector<std::string>& command : recipe.commands) {
    ProcessSpec spec;
    spec.argv = filled_in(command, build.string());
    spec.cwd = source.string();
    spec.stop = stop;
    const CommandResult result = run_command(spec, kBuildTimeout);
    if (result.exit_code != 0) {
      const std::string errors = base::join(result.stderr_tail, "\n");
      throw Error(ErrorCode::kBroken, base::join(spec.argv, " "),
                  "the build failed with exit code " + std::to_string(result.exit_code) + ": " +
                      last_lines(result.output + "\n" + errors, 20));
    }
  }
}

}  // namespace

std::string tree_of_revision(const std::string& repo, const std::string& rev) {
  const Git git(repo);
  const fs::path abba = fs::path(git.root()) / ".abba";
  fs::create_directories(abba);
  return resolve(git, rev, abba).tree;
}

std::string toolchain_id() {
  std::string versions;
  for (const char* tool : {"cc", "c++", "cmake", "nvcc"}) {
    if (find_executable(tool).empty()) continue;
    ProcessSpec spec;
    spec.argv = {tool, "--version"};
    versions += run_command(spec, 60).output;
  }
  return base::sha256_hex(versions);
}

BuiltRevision build_revision(const std::string& repo, const std::string& rev,
                             const record::BuildRecipe& recipe, const std::string& toolchain,
                             const std::function<bool()>& stop) {
  if (recipe.executable.empty()) {
    throw Error(ErrorCode::kBadInput, "build", "names no executable; add \"executable\"");
  }
  const Git git(repo);
  const fs::path abba = fs::path(git.root()) / ".abba";
  fs::create_directories(abba / "builds");
  const Lock lock(abba / "builds.lock");
  Source source = resolve(git, rev, abba);
  const std::string recipe_digest = base::sha256_hex(recipe_text(recipe));
  const std::string toolchain_digest = base::sha256_hex(toolchain);
  const fs::path build = abba / "builds" /
                         (short_digest(source.tree) + "-" + short_digest(recipe_digest) + "-" +
                          short_digest(toolchain_digest));
  const fs::path executable = build / recipe.executable;
  const BuiltRevision result{executable.string(), source.tree, source.commit, false};
  const Json mark = Json::object({{"tree", source.tree},
                                  {"recipe", recipe_digest},
                                  {"toolchain", toolchain_digest},
                                  {"executable", recipe.executable}});
  const fs::path mark_path = build / "abba-build.json";
  if (fs::exists(mark_path) && base::parse_json_file(mark_path.string()) == mark &&
      access(executable.c_str(), X_OK) == 0) {
    return {result.executable, result.tree, result.commit, true};
  }
  fs::remove_all(build);  // begun and not finished
  fs::create_directories(build);
  {
    const fs::path path = abba / "worktree";
    const Checkout checkout(git, path,
                            source.dangling ? dangling_commit(git, source.tree) : source.commit);
    run_recipe(recipe, path, build, stop);
  }
  if (access(executable.c_str(), X_OK) != 0) {
    throw Error(ErrorCode::kBroken, executable.string(),
                "the build ended well but this executable is not there; correct "
                "\"build.executable\"");
  }
  base::write_file_atomically(mark_path.string(), mark.dump_pretty());
  return result;
}

}  // namespace abba::workers
