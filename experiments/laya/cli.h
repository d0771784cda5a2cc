// The command line of abba-laya. CLI11 is included by cli.cpp alone.
#pragma once

namespace abba::laya {

// Parses and runs one command; returns the exit code. Errors become one sentence on stderr.
int run_command_line(int argc, char** argv);

}  // namespace abba::laya
