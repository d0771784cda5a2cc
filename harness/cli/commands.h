// Each command of `abba`: takes what was asked, prints its answer, returns its exit code, throws
// base::Error for what the world refuses. No logic of its own: wiring and words.
#pragma once

#include "harness/cli/options.h"

namespace abba::cli {

int check_command(const Options& options);
int diff_command(const Options& options);
int plan_command(const Options& options);
int register_command(const Options& options);
int preflight_command(const Options& options);
int build_command(const Options& options);
int ledger_command(const Options& options);
int withdraw_command(const Options& options);

int run_command(const Options& options);
int try_command(const Options& options);

int power_command(const Options& options);
int calibrate_command(const Options& options);

int report_command(const Options& options);
int beside_command(const Options& options);
int list_command(const Options& options);
int show_command(const Options& options);
int trace_command(const Options& options);
int verify_command(const Options& options);
int export_command(const Options& options);
int explain_command(const Options& options);

int doctor_command(const Options& options);
int worker_check_command(const Options& options);
int laya_command(const Options& options);  // replaces the process; returns only with an error
int completions_command(const Options& options);

}  // namespace abba::cli
