#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>

#include "engine/base/error.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/options.h"
#include "harness/manifest/parse.h"

namespace {

using abba::cli::Options;

struct Command {
  const char* name;
  int (*call)(const Options&);
};

constexpr Command kCommands[] = {
    {"check", abba::cli::check_command},       {"diff", abba::cli::diff_command},
    {"plan", abba::cli::plan_command},         {"power", abba::cli::power_command},
    {"register", abba::cli::register_command}, {"preflight", abba::cli::preflight_command},
    {"build", abba::cli::build_command},       {"ledger", abba::cli::ledger_command},
    {"withdraw", abba::cli::withdraw_command}, {"run", abba::cli::run_command},
    {"try", abba::cli::try_command},           {"calibrate", abba::cli::calibrate_command},
    {"report", abba::cli::report_command},     {"beside", abba::cli::beside_command},
    {"list", abba::cli::list_command},         {"show", abba::cli::show_command},
    {"trace", abba::cli::trace_command},       {"verify", abba::cli::verify_command},
    {"export", abba::cli::export_command},     {"explain", abba::cli::explain_command},
    {"doctor", abba::cli::doctor_command},     {"worker-check", abba::cli::worker_check_command},
    {"laya", abba::cli::laya_command},         {"completions", abba::cli::completions_command},
};

int dispatch(const Options& options) {
  for (const Command& command : kCommands) {
    if (options.command == command.name) {
      return command.call(options);
    }
  }
  ABBA_CHECK(!"a parsed command is in the table");
  return 2;
}

int say(const char* what, int code) {
  abba::cli::complain(what);
  return code;
}

// A report that did not reach its disk is no success.
int checked_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return code;
  }
  const std::string text = "standard output cannot be written: " + abba::base::errno_text(errno) +
                           "; make room or write elsewhere";
  return say(text.c_str(), code == 0 ? 5 : code);
}

int guarded(int argc, char** argv) {
  try {
    const auto parsed = abba::cli::parse_options(argc, argv);
    if (parsed.exit_code == 0) {
      std::fputs(parsed.text.c_str(), stdout);
      return 0;
    }
    if (parsed.exit_code > 0) {
      return say(parsed.text.c_str(), parsed.exit_code);
    }
    return dispatch(parsed.options);
  } catch (const abba::manifest::MistakesError& error) {
    abba::cli::complain_lines(error.what());
    return abba::cli::exit_code(error.code());
  } catch (const abba::base::Error& error) {
    return say(error.what(), abba::cli::exit_code(error.code()));
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string where = error.path1().empty() ? "this folder" : error.path1().string();
    const std::string text = where + ": " + error.code().message() +
                             "; check that it is still there and its permissions";
    return say(text.c_str(), 5);
  } catch (const std::bad_alloc&) {
    return say("out of memory; free some, or shorten the plan", 5);
  } catch (const std::exception& error) {
    return say(error.what(), 5);
  }
}

// Where abba is started by a hook or an alias of git, these say which repository and index git was
// at. They would answer for every other: the project's own is found from its folder.
void forget_repository_of_caller() {
  for (const char* name :
       {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"}) {
    ::unsetenv(name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error like a full disk
  forget_repository_of_caller();
  return checked_output(guarded(argc, argv));
}
