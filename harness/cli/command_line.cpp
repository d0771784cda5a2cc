#include "harness/cli/command_line.h"

#include <cmath>
#include <cstdlib>

#include "harness/cli/version.h"

namespace abba::cli {
namespace {

// CLI::PositiveNumber lets nan and inf pass.
std::string positive_number(std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (std::isfinite(value) && value > 0) return {};
  return text + " is no positive number";
}

}  // namespace

CommandLine::CommandLine()
    : app_("Pre-registered A/B experiments for anything that runs as a process.", "abba") {
  app_.require_subcommand(1);
  app_.failure_message(CLI::FailureMessage::simple);
  app_.set_version_flag("--version", version_text());
  app_.footer(
      "Start with: abba check M, abba register M, abba run M, abba report.\n"
      "`abba COMMAND --help` says what a command takes, writes and refuses.\n\n"
      "Exit codes: 0 done; 1 reserved for a red gate; 2 bad usage, manifest or run file; 3 not\n"
      "what was registered or bound, or a damaged ledger; 4 nothing was timed: the preflight or\n"
      "the outputs failed, or the plan is above its limits; 5 broken or stopped, data kept, or\n"
      "a file cannot be written; 6 calibration runs are missing; 7 evidence, conformance or\n"
      "calibration does not hold.");
  manifest_commands();
  run_commands();
  result_commands();
  machine_commands();
}

CLI::App* CommandLine::add(const std::string& name, const std::string& description,
                           const std::string& more) {
  CLI::App* command = app_.add_subcommand(name, description)->group(group_)->footer(more);
  command->callback([this, name] { options_.command = name; });
  return command;
}

CLI::App* CommandLine::with_manifest(const std::string& name, const std::string& description,
                                     const std::string& more) {
  CLI::App* command = add(name, description, more);
  command->add_option("manifest", options_.manifest, "the experiment's JSON file")->required();
  return command;
}

void CommandLine::takes_require(CLI::App* command) {
  command->add_option("--require", options_.require, "cuda: fail where there is no CUDA device")
      ->check(CLI::IsMember({"cuda"}));
}

void CommandLine::takes_rehash(CLI::App* command) {
  command->add_flag("--rehash", options_.rehash,
                    "read large files again, even where nothing says that they changed");
}

void CommandLine::takes_device(CLI::App* command) {
  command->add_option("--device", options_.device, "reserve a device: any, or a GPU's UUID");
}

void CommandLine::manifest_commands() {
  group_ = "Before anything is measured";
  CLI::App* check = with_manifest(
      "check", "name every mistake of a manifest at once",
      "Each mistake with its place, what was found and what would be accepted (exit 2). Workers\n"
      "that exist are asked for their factors and levels; nothing is timed.");
  check->add_flag("--expand", options_.expand, "print it with every default filled in");
  with_manifest("diff", "both arms' full configuration and what differs",
                "Rows that differ begin with *.");
  CLI::App* plan = with_manifest("plan", "what a run would do, minutes and megabytes",
                                 "Above the manifest's limits it offers cheaper plans (exit 4).");
  plan->add_option("--request-ms", options_.request_ms,
                   "a guess of one request's milliseconds, for a better estimate")
      ->check(CLI::Validator(positive_number, ""));
  plan->add_option("--start-s", options_.start_s, "a guess of one worker start's seconds")
      ->check(CLI::Validator(positive_number, ""));
  plan->add_flag("--json", options_.json, "for programs");
  power_command();
  CLI::App* reg = with_manifest(
      "register", "freeze decisions and sources before measuring",
      "Writes M.lock.json beside M.json and an event in manifests/ledger; commit both.\n"
      "Starts no worker. "
      "A manifest that changed since needs --supersede.");
  reg->add_option("--supersede", options_.supersede,
                  "digest (or its first digits) of the registration that this one replaces");
  reg->add_option("--anchor", options_.anchor,
                  "make its digest stand elsewhere: rfc3161 (a time stamp), git-remote (a pushed "
                  "tag), or a FILE that somebody keeps; also for an earlier registration");
  reg->add_option("--authority", options_.authority, "rfc3161: URL of the time stamp authority");
  reg->add_option("--ca", options_.ca, "rfc3161: the authority's certificates, PEM");
  reg->add_option("--remote", options_.remote, "git-remote: which")->capture_default_str();
  takes_rehash(reg);
  CLI::App* preflight =
      with_manifest("preflight", "what can be checked without starting a worker",
                    "One row a check; the first that fails decides the exit code (3 or 4).");
  takes_require(preflight);
  takes_rehash(preflight);
  with_manifest("build", "build the revisions that arms name",
                "Each in a worktree of its own, kept in .abba/builds; `run` does it by itself.");
  CLI::App* ledger =
      add("ledger", "what happened to registrations, as a graph",
          "Reads manifests/ledger: registered, bound, run, anchored, withdrawn. Exit 7 if it is\n"
          "damaged: an event that was changed, or whose parent is missing. Once an event that is\n"
          "gone for good is acknowledged as lost, runs go on; verify and report tell it for ever.");
  ledger->add_option("manifest", options_.manifest, "of this one alone; without it, of all");
  auto* loss = ledger->add_option("--acknowledge-loss", options_.lost_event,
                                  "digest (or its first digits) of an event that is gone");
  auto* reason = ledger->add_option("--reason", options_.reason, "how it was lost")->needs(loss);
  loss->needs(reason);
  CLI::App* withdraw = with_manifest("withdraw", "withdraw a registration, with a reason",
                                     "An event in the ledger; the registration cannot run again.");
  withdraw->add_option("--reason", options_.reason, "one sentence")->required();
}

void CommandLine::run_commands() {
  group_ = "Measuring";
  CLI::App* run = with_manifest(
      "run", "carry the plan out",
      "Writes results/ID/UTC-LOCK.sqlite and reports/ID/UTC-LOCK.md. Ctrl-C ends after the\n"
      "current slot, a second one kills the worker it waits for; everything measured is kept\n"
      "(exit 5); go on with --resume.");
  run->add_flag("--register", options_.do_register, "register first, if not registered");
  run->add_flag("--exploratory", options_.exploratory,
                "without registration; says faster or slower, never improved");
  run->add_option("--resume", options_.resume_file,
                  "go on with this interrupted run file, or without FILE with the latest of "
                  "this registration")
      ->type_name("[FILE]")
      ->expected(0, 1)
      ->trigger_on_parse();
  run->add_option("--output", options_.output, "the run file to write; never overwrites one");
  run->add_flag("--quiet", options_.quiet, "no progress, no summary");
  takes_require(run);
  takes_rehash(run);
  resume_ = run->get_option("--resume");
  CLI::App* quick = add(
      "try", "compare two commands right now: abba try \"./old\" \"./new\"",
      "Exploratory: no manifest, no registration. Each command is one quoted word. In it\n"
      "{warmup}, {requests} and {samples} (their sum) become the numbers of a slot, and {out} a\n"
      "file that is read in place of standard output. --reads says where a time comes from:\n"
      "  wall              the process, started once a request\n"
      "  lines             lines \"abba-sample it NANOSECONDS\" of its output\n"
      "  google-benchmark  the JSON of --benchmark_format=json; name one with --input "
      "'\"NAME\"'\n"
      "  nvbench           the JSON of --jsonbin {out}; name one with --input '\"NAME\"'\n"
      "  protocol          a worker that speaks abba.worker/1");
  quick->add_option("commands", options_.words, "two commands, each one quoted word")
      ->required()
      ->expected(2);
  quick->add_option("--reads", options_.reads, "where times come from")
      ->check(CLI::IsMember({"wall", "lines", "nvbench", "google-benchmark", "protocol"}))
      ->capture_default_str();
  quick->add_option("--input", options_.input, "the workload's input as JSON");
  quick->add_option("--passes", options_.passes, "passes, 6 or more for an interval")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  quick->add_option("--requests", options_.requests, "measured requests of a slot")
      ->check(CLI::Range(1, 1'000'000));
  quick->add_flag("--quiet", options_.quiet, "no progress");
  takes_device(quick);
  takes_require(quick);
  calibrate_command();
}

void CommandLine::power_command() {
  CLI::App* power = add(
      "power", "what a plan can see, from stored A/A runs",
      "Effects that the planned passes find and passes that effects need, at 80 and 90 % power,\n"
      "from this machine class's A/A runs. Without a manifest: `standard` on one workload.");
  power->add_option("manifest", options_.manifest, "the experiment's JSON file");
  power->add_option("--effect", options_.effect_percent, "the effect wanted, in per cent")
      ->check(CLI::Validator(positive_number, ""));
  power->add_option("--class", options_.machine_class,
                    "of another machine class, a folder's name below results/calibration");
  power->add_flag("--json", options_.json, "for programs");
}

void CommandLine::calibrate_command() {
  CLI::App* calibrate = with_manifest(
      "calibrate", "measure the harness itself on this machine",
      "Takes an A/A manifest of one workload under standard. Runs it as it is and with effects\n"
      "that workers inject, into results/calibration/CLASS/ID/, relabels stored passes; reports\n"
      "cite its record; if stopped it goes on (exit 6: runs are missing, 7: fails).");
  calibrate->add_flag("--quick", options_.quick,
                      "few runs, in .abba/, that no report cites: to see that it works");
  calibrate->add_option("--minutes", options_.minutes, "begin no run after that many minutes")
      ->check(CLI::Validator(positive_number, ""));
  calibrate
      ->add_option("--effect", options_.effect_percent, "the spin that must be found, in per cent")
      ->check(CLI::IsMember({"2", "1", "0.5", "0.25"}));
  calibrate->add_option("--runs", options_.runs, "of the A/A series and of that effect")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  calibrate->add_option("--series", options_.series,
                        "add runs to this one alone, a folder's name such as spin-2-percent");
  auto* stored = calibrate->add_flag("--no-runs", options_.no_runs, "judge what is stored only");
  calibrate->add_option("--class", options_.machine_class, "of another class, as in power")
      ->needs(stored);
  calibrate->add_flag("--record-now", options_.record_now,
                      "write the record though runs are missing; it says how many there are");
  calibrate->add_flag("--json", options_.json, "for programs");
  calibrate->add_flag("--quiet", options_.quiet, "no progress");
}

void CommandLine::result_commands() {
  group_ = "Results";
  const std::string run_file = "run file (.sqlite or .sqlite.xz)";
  CLI::App* report = add("report", "the report of a run",
                         "Markdown on standard output unless told otherwise. Reads FILE.xz where "
                         "FILE is not there.");
  report->add_option("run", options_.words, run_file + "; without it, the latest")->expected(0, 1);
  report->add_option("--latest", options_.latest, "the latest run of this manifest id");
  auto* as_page = report->add_flag("--html", options_.html, "as one page");
  auto* as_json = report->add_flag("--json", options_.json, "for programs")->excludes(as_page);
  report
      ->add_flag("--law-off", options_.law_off,
                 "for calibration: judge equal arms as if they differed")
      ->needs(as_json);
  report->add_option("--out", options_.out,
                     "write it there (Markdown: an .svg beside it) instead of printing it");
  CLI::App* show = add("show", "what a run file holds, without judging it",
                       "State, bindings, passes, notes, and how workers ended.");
  show->add_option("run", options_.words, run_file)->required()->expected(1);
  CLI::App* trace =
      add("trace", "what ran on the GPU: kernels, copies, calls, ranges",
          "The tables of every traced slot, and which kernels differ between the arms. A run is\n"
          "traced where its manifest names `traces`; traced times are slower than measured ones.");
  trace->add_option("run", options_.words, run_file)->required()->expected(1);
  trace->add_option("--arm", options_.arm, "only this one")->check(CLI::IsMember({"A", "B"}));
  trace->add_option("--workload", options_.workload, "only this one, by its id");
  trace->add_option("--perfetto", options_.perfetto,
                    "write a file for ui.perfetto.dev or chrome://tracing instead of printing");
  trace->add_flag("--json", options_.json, "for programs");
  CLI::App* list = add("list", "the runs of this project", "Those below results/, one a line.");
  list->add_flag("--all", options_.all, "exploratory ones too");
  list->add_flag("--json", options_.json, "for programs");
  CLI::App* verify =
      add("verify", "recompute digests, chain and published numbers",
          "Offline, one row a check; exit 7 and the place where it does not check out.\n"
          "Reads FILE.xz where FILE is not there.");
  verify->add_option("run", options_.words, run_file + " or bundle (.zip); without it, the latest")
      ->expected(0, 1);
  verify->add_option("--latest", options_.latest, "the latest run of this manifest id");
  verify->add_option("--anchor", options_.anchor,
                     "a file that you kept since before the run: must name the registration");
  verify->add_option("--ca", options_.ca, "your certificates of the time stamp authority, PEM");
  verify->add_option("--mirror", options_.mirror,
                     "your repository whose reflog shows when the registration's tag came");
  export_command(run_file);
  CLI::App* beside = add("beside", "two runs of one change under two plans, claims side by side",
                         "Markdown: what each plan may say, what each said, where they part.");
  beside->add_option("runs", options_.words, "two of them, " + run_file)->required()->expected(2);
  beside->add_option("--out", options_.out, "write it there instead of printing it");
  CLI::App* explain = add("explain", "what a coded note means", "abba explain N050");
  explain->add_option("note", options_.words, "a code like N012; without it, all of them")
      ->expected(0, 1);
  explain->add_flag("--json", options_.json, "for programs");
}

void CommandLine::export_command(const std::string& run_file) {
  CLI::App* out =
      add("export", "a run as a bundle to publish, as CSV or as JSON lines",
          "Without --csv or --jsonl a zip with manifest, lock, ledger events, run file, report,\n"
          "commands and a script that recomputes the results; `abba verify` checks it.\n"
          "The same run gives the same bytes. Host names, paths and command lines are\n"
          "withheld; what is withheld is listed, and the digests stay whole.");
  out->add_option("run", options_.words, run_file)->required()->expected(1);
  auto* csv = out->add_flag("--csv", options_.csv, "one table, on standard output");
  out->add_flag("--jsonl", options_.jsonl, "every row, on standard output")->excludes(csv);
  out->add_option("--table", options_.table, "of --csv: a table or view, without it the samples")
      ->needs(csv);
  out->add_flag("--with-private", options_.with_private, "the bundle keeps private strings");
  out->add_option("--out", options_.out, "the file to write; a bundle without it: RUN.zip here");
}

void CommandLine::machine_commands() {
  group_ = "Machine and workers";
  CLI::App* doctor =
      add("doctor", "what this machine offers an experiment",
          "One row a topic, with what to do where something is missing.\n"
          "--json: a list of {topic, health, text, advice}; health is good, limited\n"
          "or missing, topics are cpus, frequency, clock, counters, disk, git, device.");
  doctor->add_flag("--json", options_.json, "for programs");
  CLI::App* check = add("worker-check", "does a worker speak the protocol? -- COMMAND...",
                        "abba worker-check -- python3 my_worker.py\n"
                        "One row for each rule of abba.worker/1: ok, broken, or not checked and\n"
                        "why. Exit 7 if a rule is broken, 2 if the worker needs more to be tried.");
  check->add_option("--input", options_.input, "a workload input to try, as JSON");
  check->add_option("--boundary", options_.boundary,
                    "the boundary to time it at (else none is named)");
  check->add_option("--settings", options_.settings, "settings to load with, a JSON object");
  check->add_option("--file", options_.files, "a file to load with; may be repeated")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);
  check->add_option("--timeout-s", options_.timeout_s, "seconds that one answer may take")
      ->check(CLI::Validator(positive_number, ""));
  check->add_flag("--json", options_.json, "for programs");
  takes_device(check);
  takes_require(check);
  check->add_option("command", options_.words, "the worker's command, after --")->required();
  CLI::App* laya =
      add("laya", "the embedded engine (abba-laya); `abba laya --help` lists its commands", "");
  laya->prefix_command();
  laya->set_help_flag();
  laya_ = laya;
  CLI::App* completions =
      add("completions", "a completion script for bash or zsh", "source <(abba completions bash)");
  completions->add_option("shell", options_.shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
}

}  // namespace abba::cli
