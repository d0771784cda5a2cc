// The one file that includes CLI11.
#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "harness/cli/options.h"
#include "harness/cli/version.h"

namespace abba::cli {
namespace {

class CommandLine {
 public:
  CommandLine()
      : app_("Pre-registered A/B experiments for anything that runs as a process.", "abba") {
    app_.require_subcommand(1);
    app_.failure_message(CLI::FailureMessage::simple);
    app_.set_version_flag("--version", version_text());
    app_.footer("Start with: abba check M, abba register M, abba run M, abba report.");
    manifest_commands();
    run_commands();
    result_commands();
    machine_commands();
  }

  CLI::App& app() { return app_; }
  Options& options() { return options_; }

 private:
  CLI::App* add(const std::string& name, const std::string& description) {
    CLI::App* command = app_.add_subcommand(name, description);
    command->callback([this, name] { options_.command = name; });
    return command;
  }

  CLI::App* with_manifest(const std::string& name, const std::string& description) {
    CLI::App* command = add(name, description);
    command->add_option("manifest", options_.manifest, "the experiment's JSON file")->required();
    return command;
  }

  void takes_require(CLI::App* command) {
    command->add_option("--require", options_.require, "cuda: fail where there is no CUDA device")
        ->check(CLI::IsMember({"cuda"}));
  }

  void takes_device(CLI::App* command) {
    command->add_option("--device", options_.device, "reserve a device: any, or a GPU's UUID");
  }

  void manifest_commands() {
    CLI::App* check = with_manifest("check", "name every mistake of a manifest at once");
    check->add_flag("--expand", options_.expand, "print it with every default filled in");
    with_manifest("diff", "both arms' full configuration and what differs");
    CLI::App* plan = with_manifest("plan", "what a run would do, minutes and megabytes");
    plan->add_option("--request-ms", options_.request_ms, "how long one request takes");
    plan->add_option("--start-s", options_.start_s, "how long a worker takes to start");
    plan->add_flag("--json", options_.json, "for programs");
    CLI::App* reg = with_manifest("register", "freeze decisions and sources before measuring");
    reg->add_option("--supersede", options_.supersede, "digest of the registration to replace");
    takes_require(with_manifest("preflight", "what can be checked without starting a worker"));
    with_manifest("build", "build the revisions that arms name");
    with_manifest("ledger", "what happened to registrations, as a graph");
    CLI::App* withdraw = with_manifest("withdraw", "withdraw a registration, with a reason");
    withdraw->add_option("--reason", options_.reason, "one sentence")->required();
  }

  void run_commands() {
    CLI::App* run = with_manifest("run", "carry the plan out");
    run->add_flag("--register", options_.do_register, "register first, if not registered");
    run->add_flag("--exploratory", options_.exploratory,
                  "without registration; says faster or slower, never improved");
    run->add_option("--resume", options_.resume_file, "go on with an interrupted run")
        ->expected(0, 1)
        ->trigger_on_parse();
    run->add_option("--output", options_.output, "the run file to write");
    run->add_flag("--quiet", options_.quiet, "no progress, no summary");
    takes_require(run);
    resume_ = run->get_option("--resume");
    CLI::App* quick = add("try", "compare two commands right now: abba try \"./old\" \"./new\"");
    quick->add_option("commands", options_.words, "two commands, each one word to the shell")
        ->required()
        ->expected(2);
    quick->add_option("--reads", options_.reads, "wall, lines, nvbench, google-benchmark, protocol")
        ->check(CLI::IsMember({"wall", "lines", "nvbench", "google-benchmark", "protocol"}));
    quick->add_option("--input", options_.input, "the workload's input as JSON");
    quick->add_option("--passes", options_.passes, "passes, 6 or more for an interval");
    quick->add_option("--requests", options_.requests, "measured requests of a slot");
    quick->add_flag("--quiet", options_.quiet, "no progress");
    takes_device(quick);
    takes_require(quick);
  }

  void result_commands() {
    CLI::App* report = add("report", "the report of a run");
    report->add_option("run", options_.words, "run file; without it, the latest")->expected(0, 1);
    report->add_option("--latest", options_.latest, "the latest run of this manifest id");
    report->add_flag("--html", options_.html, "as one page");
    auto* as_json = report->add_flag("--json", options_.json, "for programs");
    report
        ->add_flag("--law-off", options_.law_off,
                   "for calibration: judge equal arms as if they differed")
        ->needs(as_json);
    report->add_option("--out", options_.out, "write it there instead of printing it");
    CLI::App* list = add("list", "the runs of this project");
    list->add_flag("--all", options_.all, "exploratory ones too");
    list->add_flag("--json", options_.json, "for programs");
    CLI::App* show = add("show", "what a run file holds, without judging it");
    show->add_option("run", options_.words, "run file")->required()->expected(1);
    CLI::App* verify = add("verify", "recompute digests, chain and published numbers");
    verify->add_option("run", options_.words, "run file")->required()->expected(1);
    CLI::App* explain = add("explain", "what a coded note means");
    explain->add_option("note", options_.words, "N012; without it, all of them")->expected(0, 1);
  }

  void machine_commands() {
    CLI::App* doctor = add("doctor", "what this machine offers an experiment");
    doctor->add_flag("--json", options_.json, "for programs");
    CLI::App* check = add("worker-check", "does a worker speak the protocol? -- COMMAND...");
    check->add_option("--input", options_.input, "a workload input to try, as JSON");
    takes_device(check);
    takes_require(check);
    check->add_option("command", options_.words, "the worker's command, after --")->required();
    CLI::App* laya = add("laya", "the embedded engine: forwards to abba-laya");
    laya->prefix_command();
    laya->set_help_flag();
    laya_ = laya;
    CLI::App* completions = add("completions", "a completion script for bash or zsh");
    completions->add_option("shell", options_.shell, "bash or zsh")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
  }

  CLI::App app_;
  Options options_;
  CLI::Option* resume_ = nullptr;
  CLI::App* laya_ = nullptr;

  friend Parsed parse(CommandLine& line, int argc, const char* const* argv);
};

std::string one_line(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) {
    text.pop_back();
  }
  return text;
}

std::string printed(CLI::App& app, const CLI::Error& error) {
  std::ostringstream out;
  app.exit(error, out, out);
  return out.str();
}

// CLI11 would only say that a command is missing.
bool unknown_command(CommandLine& line, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return false;
  }
  const std::string name = argv[1];
  return line.app()
      .get_subcommands([&](CLI::App* command) { return command->get_name() == name; })
      .empty();
}

Parsed parse(CommandLine& line, int argc, const char* const* argv) {
  Parsed parsed;
  if (unknown_command(line, argc, argv)) {
    parsed.exit_code = 2;
    parsed.text = "\"" + std::string(argv[1]) + "\" is no command; see `abba --help`";
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
    return parsed;
  }
  line.options().resume = line.resume_->count() > 0;
  if (line.options().command == "laya") {
    line.options().words = line.laya_->remaining();
  }
  parsed.options = line.options();
  return parsed;
}

}  // namespace

Parsed parse_options(int argc, const char* const* argv) {
  CommandLine line;
  return parse(line, argc, argv);
}

std::string completion_script(const std::string& shell) {
  CommandLine line;
  std::string cases;
  std::string commands;
  for (const CLI::App* command : line.app().get_subcommands({})) {
    commands += command->get_name() + " ";
    std::string flags;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        flags += "--" + name + " ";
      }
    }
    cases += "    " + command->get_name() + ") words=\"" + flags + "\" ;;\n";
  }
  const std::string body = "_abba() {\n  local words=\"" + commands +
                           "--help --version\"\n  if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
                           "  case \"${COMP_WORDS[1]}\" in\n" +
                           cases +
                           "    *) words=\"\" ;;\n  esac\n  fi\n"
                           "  COMPREPLY=($(compgen -W \"$words\" -f -- "
                           "\"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -F _abba abba\n";
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + body : body;
}

}  // namespace abba::cli
