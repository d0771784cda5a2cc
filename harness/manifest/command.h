// Runs a short command (git, a file's `make`) and waits for it. No shell: words go as they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace abba::manifest {

struct CommandResult {
  int exit_code = -1;  // 127 = could not be started; 128 + n = killed by signal n
  std::string out;
  std::string err;  // last 64 KiB
};

// The program is looked up in PATH. `input` is its stdin. `stop` is asked some times a second while
// it runs; true kills the command with all that it started: it then has a process group of its own,
// and so no terminal. Without `stop` it can ask on the harness's terminal (git for a password), and
// Ctrl-C there ends it too. It dies with the harness in any case. Throws
// Error(kBroken) only if the system gives no pipes or processes.
CommandResult run_command(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                          std::string_view input = {}, const std::function<bool()>& stop = {});

}  // namespace abba::manifest
