// What the kernel says about a running process: allowed CPUs of all threads, mapped files.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/workers/code_digest.h"
#include "harness/workers/executable.h"
#include "harness/workers/process.h"

namespace abba::workers {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using record::Binding;

int to_int(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "0-2,5" of /proc.
void add_cpu_list(std::string_view list, std::set<int>& cpus) {
  for (const std::string& range : base::split(base::trim(list), ',')) {
    const std::vector<std::string> ends = base::split(range, '-');
    if (range.empty() || ends.empty()) continue;
    for (int cpu = to_int(ends.front()); cpu <= to_int(ends.back()); ++cpu) cpus.insert(cpu);
  }
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// Gives every binding a name of its own: the second libx.so becomes "libx.so#2".
class Bindings {
 public:
  Bindings(std::string owner) : owner_(std::move(owner)) {}

  // The file's own digest, and that of its code where a rebuild may leave it as it was.
  void add_file(const std::string& kind, const std::string& path, FileDigests& digests) {
    const std::string name = add(kind, path, digests.of(path));
    const bool is_built_here = kind == "executable" || (kind == "library" && !of_the_system(path));
    const std::string code = is_built_here ? digests.code_of(path) : std::string();
    if (!code.empty()) bindings_.push_back({"code/" + name, code});
  }
  void add_deleted(const std::string& kind, const std::string& path) { add(kind, path, "deleted"); }
  std::vector<Binding> take() { return std::move(bindings_); }

 private:
  // Packages put files there; nobody rebuilds them for a change of documents.
  static bool of_the_system(const std::string& path) {
    return path.rfind("/usr/", 0) == 0 || path.rfind("/lib", 0) == 0;
  }

  std::string add(const std::string& kind, const std::string& path, const std::string& value) {
    std::string name = kind + "/" + owner_;
    if (kind != "executable") name.append("/").append(fs::path(path).filename().string());
    const int count = ++counts_[name];
    if (count > 1) name.append("#").append(std::to_string(count));
    bindings_.push_back({name, value});
    return name;
  }

  std::string owner_;
  std::map<std::string, int> counts_;
  std::vector<Binding> bindings_;
};

// Path of each file mapped executable, from the lines "range perms offset device inode   path".
std::set<std::string> executable_mappings(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::set<std::string> paths;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t permissions = line.find(' ');
    const std::size_t path = line.find('/');
    if (permissions == std::string::npos || path == std::string::npos) continue;
    if (line.size() > permissions + 3 && line[permissions + 3] == 'x') {
      paths.insert(line.substr(path));
    }
  }
  return paths;
}

}  // namespace

std::vector<int> allowed_cpus(pid_t pid) {
  std::set<int> cpus;
  std::error_code ignored;
  const fs::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : fs::directory_iterator(tasks, ignored)) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      constexpr std::string_view kKey = "Cpus_allowed_list:";
      if (line.compare(0, kKey.size(), kKey) == 0) {
        add_cpu_list(std::string_view(line).substr(kKey.size()), cpus);
      }
    }
  }
  return {cpus.begin(), cpus.end()};
}

std::string find_executable(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return is_executable_file(name) ? fs::absolute(name).lexically_normal().string() : "";
  }
  const char* path = getenv("PATH");  // what execvp does; no setting of ours
  for (const std::string& folder : base::split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (!name.empty() && is_executable_file(candidate)) return fs::absolute(candidate).string();
  }
  return "";
}

template <typename Digest>
std::string FileDigests::remembered(const std::string& kind, const std::string& path,
                                    Digest digest) {
  constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20U;
  constexpr std::int64_t kSettledS = 2;  // a younger change could be followed by one unseen
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || status.st_size < kLargeBytes ||
      ::time(nullptr) - status.st_ctim.tv_sec <= kSettledS) {
    return digest();
  }
  std::string key = kind + path;
  for (const std::int64_t part :
       {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
        static_cast<std::int64_t>(status.st_size), std::int64_t{status.st_mtim.tv_sec},
        std::int64_t{status.st_mtim.tv_nsec}, std::int64_t{status.st_ctim.tv_sec},
        std::int64_t{status.st_ctim.tv_nsec}}) {
    key += ":" + std::to_string(part);
  }
  std::string& known = known_[key];
  if (known.empty()) known = digest();
  return known;
}

std::string FileDigests::of(const std::string& path) {
  return remembered("", path, [&] { return base::sha256_file(path); });
}

std::string FileDigests::code_of(const std::string& path) {
  return remembered("code:", path, [&] { return code_digest(path); });
}

std::vector<Binding> hash_command(const std::vector<std::string>& argv, const std::string& owner,
                                  FileDigests* digests) {
  FileDigests own;
  FileDigests& files = digests != nullptr ? *digests : own;
  const std::string path = argv.empty() ? "" : find_executable(argv[0]);
  if (path.empty()) {
    throw Error(ErrorCode::kBadInput, argv.empty() ? "command" : argv[0],
                "is no program; give a path or a name that PATH finds");
  }
  Bindings bindings(owner);
  bindings.add_file("executable", path, files);
  for (std::size_t i = 1; i < argv.size(); ++i) {
    std::error_code ignored;
    if (fs::is_regular_file(argv[i], ignored)) {
      bindings.add_file("argument", argv[i], files);
    }
  }
  return bindings.take();
}

std::vector<Binding> hash_mapped_files(pid_t pid, const std::string& owner, FileDigests* digests) {
  FileDigests own;
  FileDigests& files = digests != nullptr ? *digests : own;
  const std::set<std::string> paths = executable_mappings(pid);
  std::error_code ignored;
  const std::string program =
      fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", ignored).string();
  Bindings bindings(owner);
  const auto add = [&](const std::string& kind, const std::string& path) {
    constexpr std::string_view kDeleted = " (deleted)";
    const bool deleted =
        path.size() > kDeleted.size() &&
        path.compare(path.size() - kDeleted.size(), kDeleted.size(), kDeleted) == 0;
    if (deleted) {
      bindings.add_deleted(kind, path);
    } else {
      bindings.add_file(kind, path, files);
    }
  };
  if (!program.empty()) add("executable", program);
  for (const std::string& path : paths) {
    if (path != program) add("library", path);
  }
  return bindings.take();
}

}  // namespace abba::workers
