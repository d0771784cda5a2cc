// All commands of `abba` and what each takes, declared to CLI11; parse_options.cpp runs it. Only
// these two files include CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/cli/options.h"

namespace abba::cli {

class CommandLine {
 public:
  CommandLine();

  CLI::App& app() { return app_; }
  Options& options() { return options_; }
  [[nodiscard]] bool resumes() const { return resume_->count() > 0; }
  // What stands behind `laya`, for the engine's own command line.
  [[nodiscard]] std::vector<std::string> laya_words() const { return laya_->remaining(); }

 private:
  // `more` stands below the options of the command's own help.
  CLI::App* add(const std::string& name, const std::string& description, const std::string& more);
  CLI::App* with_manifest(const std::string& name, const std::string& description,
                          const std::string& more);
  void takes_require(CLI::App* command);
  void takes_rehash(CLI::App* command);
  void takes_device(CLI::App* command);
  void manifest_commands();
  void run_commands();
  void power_command();
  void calibrate_command();
  void result_commands();
  void export_command(const std::string& run_file);
  void machine_commands();
  std::string group_;  // of the commands being added
  CLI::App app_;
  Options options_;
  CLI::Option* resume_ = nullptr;
  CLI::App* laya_ = nullptr;
};

}  // namespace abba::cli
