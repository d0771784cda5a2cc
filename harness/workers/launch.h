// Private to process.cpp: fork and exec, with everything that must happen between them.
#pragma once

#include <sys/types.h>

#include "harness/workers/process.h"

namespace abba::workers {

struct Launched {
  pid_t pid = -1;
  int input = -1;  // our ends of the child's standard streams
  int output = -1;
  int error = -1;
};

// As the constructor of Process.
Launched launch(const ProcessSpec& spec);

}  // namespace abba::workers
