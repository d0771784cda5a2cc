// Which machines count as alike: what noise and calibration of one may say about another.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::calibration {

// A name fit for a folder, from the identity rows of a run or of this host: the chosen device's
// name ("nvidia-h200"), else the CPU's model name, its family and model number where the kernel
// tells them, and how many are online ("amd-epyc-family-26-model-2-2-cpus").
[[nodiscard]] std::string machine_class(const std::vector<record::Identity>& identity);

}  // namespace abba::calibration
