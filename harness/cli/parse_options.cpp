// What stands in argv, read by the declared command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>

#include "harness/cli/command_line.h"
#include "harness/cli/options.h"

namespace abba::cli {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, text.find_last_not_of(" .") + 1);  // "" if there is nothing else
}

std::string printed(CLI::App& app, const CLI::Error& error) {
  std::ostringstream out;
  app.exit(error, out, out);
  return out.str();
}

// CLI11 would only say that a command is missing.
bool unknown_command(CommandLine& line, int argc, const char* const* argv) {
  return argc > 1 && argv[1][0] != '-' &&
         line.app()
             .get_subcommands([&](CLI::App* command) { return command->get_name() == argv[1]; })
             .empty();
}

Parsed parse(CommandLine& line, int argc, const char* const* argv) {
  Parsed parsed;
  if (argc < 2 || unknown_command(line, argc, argv)) {
    parsed.exit_code = 2;
    parsed.text = argc < 2 ? "name a command" : "\"" + std::string(argv[1]) + "\" is no command";
    parsed.text += "; see `abba --help`";
    return parsed;
  }
  try {
    line.app().parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    parsed.exit_code = 0;
    parsed.text = printed(line.app(), asked);
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = 2;
    std::string help = "abba --help";
    for (const CLI::App* command : line.app().get_subcommands()) {
      help = "abba " + command->get_name() + " --help";
    }
    parsed.text = one_line(error.what()) + "; see `" + help + "`";
    if (line.app().got_subcommand("try") && parsed.text.rfind("commands: ", 0) == 0) {
      parsed.text =
          "takes two commands, each quoted: abba try \"./old\" \"./new\"; see `" + help + "`";
    }
    return parsed;
  }
  line.options().resume = line.resumes();
  if (line.options().command == "laya") {
    line.options().words = line.laya_words();
  }
  parsed.options = line.options();
  return parsed;
}

}  // namespace

Parsed parse_options(int argc, const char* const* argv) {
  CommandLine line;
  return parse(line, argc, argv);
}

std::vector<CommandFlags> command_flags() {
  CommandLine line;
  std::vector<CommandFlags> all;
  for (const CLI::App* command : line.app().get_subcommands({})) {
    CommandFlags& entry = all.emplace_back();
    entry.command = command->get_name();
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) entry.flags.push_back("--" + name);
    }
  }
  return all;
}

}  // namespace abba::cli
