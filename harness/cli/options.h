// What a person asked for on the command line, as plain data. command_line.h declares them to
// CLI11, parse_options.cpp fills this in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace abba::cli {

struct Options {
  std::string command;             // "check", "run", ...
  std::string manifest;            // M of the commands that take one
  std::vector<std::string> words;  // run files, a note's code, or what follows "--"

  bool expand = false;             // check
  bool json = false;               // plan, report, list, doctor, worker-check
  double request_ms = 0;           // plan: how long one request takes, 0 = unknown
  double start_s = 0;              // plan: how long a worker takes to start, 0 = unknown
  double effect_percent = 0;       // power, calibrate: the effect wanted, 0 = the usual
  std::string machine_class;       // power, calibrate: empty = this machine's
  std::string supersede;           // register
  bool do_register = false;        // run --register
  bool exploratory = false;        // run
  bool resume = false;             // run
  std::string resume_file;         // run --resume FILE, or empty = the latest unfinished
  std::string output;              // run: the run file to write
  bool quiet = false;              // run, try: no progress, no summary
  int runs = 20;                   // calibrate: of the A/A series and of the effect
  double minutes = 0;              // calibrate: begin no run after that, 0 = no limit
  bool quick = false;              // calibrate
  std::string series;              // calibrate: add runs to this one alone, empty = to all
  bool no_runs = false;            // calibrate: judge what is stored
  bool record_now = false;         // calibrate: conclude with the runs there are
  std::string latest;              // report, verify --latest ID
  bool html = false;               // report
  bool law_off = false;            // report --json --law-off
  std::string out;                 // report, export: --out FILE
  bool all = false;                // list: exploratory runs too
  bool csv = false;                // export
  bool jsonl = false;              // export
  bool with_private = false;       // export: host names, paths and command lines stay in the bundle
  std::string arm;                 // trace: A or B, empty = both
  std::string workload;            // trace: its id, empty = all
  std::string perfetto;            // trace: the file to write for Perfetto
  std::string table;               // export --csv: which, empty = samples
  std::string lost_event;          // ledger --acknowledge-loss: digits of its digest
  std::string reason;              // withdraw, ledger --acknowledge-loss
  std::string input;               // try, worker-check: a workload's input as JSON
  std::string boundary;            // worker-check: to time it at
  std::string settings;            // worker-check: settings to load with, as JSON
  std::vector<std::string> files;  // worker-check: NAME=PATH, files to load with
  double timeout_s = 30;           // worker-check: per message
  std::string device;              // try, worker-check: "any" or a UUID, empty = none
  std::string require;         // run, try, preflight, worker-check: "cuda" = fail without a device
  std::string reads = "wall";  // try
  int passes = 6;              // try
  int requests = 0;            // try: of a slot, 0 = the preset's rule
  std::string shell;           // completions

  bool rehash = false;  // register, preflight, run: read every file again

  std::string anchor;             // register: where its digest shall stand; verify: a kept file
  std::string authority;          // register: URL of an RFC 3161 authority
  std::string ca;                 // register, verify: the authority's certificates
  std::string remote = "origin";  // register: the git remote
  std::string mirror;             // verify: a repository kept by someone else
};

struct Parsed {
  Options options;
  int exit_code = -1;  // 0 or more: print `text` and end with it
  std::string text;    // help, version, or one sentence of what is wrong
};

// Never prints and never throws for what stands in argv.
Parsed parse_options(int argc, const char* const* argv);

// The names of all commands, each with the flags that it takes, "--json" and the like.
struct CommandFlags {
  std::string command;
  std::vector<std::string> flags;
};
std::vector<CommandFlags> command_flags();

}  // namespace abba::cli
