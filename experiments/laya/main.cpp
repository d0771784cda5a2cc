#include "experiments/laya/cli.h"

int main(int argc, char** argv) {
  return abba::laya::run_command_line(argc, argv);
}
