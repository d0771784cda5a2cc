// What a worker's command really runs, as bindings: the executable found through PATH, and the
// files mapped executable in a running process. Names are "executable/OWNER",
// "argument/OWNER/FILE", "library/OWNER/FILE" (a second file of one name gets "#2"), values SHA-256
// of the bytes. An executable, and a library from outside the system's folders, also gets
// "code/executable/OWNER" or "code/library/OWNER/FILE" with its code digest, if it has one: equal
// there, a rebuild changed nothing that runs.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "harness/record/registration.h"

namespace abba::workers {

// The absolute path that execvp would run for `name`, or "" if there is none.
std::string find_executable(const std::string& name);

// SHA-256 of files, remembered while this lives for large ones whose device, inode, size and times
// are unchanged and settled: a library of half a gigabyte is read once a run, not once a worker.
class FileDigests {
 public:
  std::string of(const std::string& path);
  std::string code_of(const std::string& path);  // code_digest(), remembered likewise

 private:
  template <typename Digest>
  std::string remembered(const std::string& kind, const std::string& path, Digest digest);
  std::map<std::string, std::string> known_;  // by kind, path and stat
};

// One binding per file: the executable of argv[0] and each argument that names an existing file
// (a script is an argument of its interpreter). Throws kBadInput if argv[0] is not found.
std::vector<record::Binding> hash_command(const std::vector<std::string>& argv,
                                          const std::string& owner, FileDigests* digests = nullptr);

// One binding per file mapped executable in `pid` (/proc/PID/maps), the program itself first, then
// sorted by path; a file that was replaced since ("(deleted)") has the value "deleted".
std::vector<record::Binding> hash_mapped_files(pid_t pid, const std::string& owner,
                                               FileDigests* digests = nullptr);

}  // namespace abba::workers
