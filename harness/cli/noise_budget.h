// The A/A runs of a project that tell this machine class's noise.
#pragma once

#include <string>
#include <vector>

#include "harness/calibration/noise.h"
#include "harness/manifest/project.h"

namespace abba::cli {

struct NoiseBudget {
  std::string machine_class;
  std::vector<std::string> files;  // of the A/A runs found, relative to the project
  std::vector<calibration::WorkloadNoise> noise;
};

// Reads the run files below results/ and those of the class's calibration. A damaged file is
// passed over with a word on standard error.
NoiseBudget noise_budget(const manifest::Project& project, const std::string& machine_class);

// What stored A/A runs say against the plan, a sentence each: that it cannot show equivalence
// within the harm limit, and how many blocks a pass should have.
std::vector<std::string> plan_warnings(const record::Manifest& manifest, const NoiseBudget& budget);

}  // namespace abba::cli
