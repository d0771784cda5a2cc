// What fails the seeds' pair of limits (nRMS 0.005, max-abs 0.02 of the largest value), with its
// value: computed, compared and published as it stands; the limits are not loosened. An entry is
// the stage of largest nRMS of one fixture. Whatever is not listed, or worse than listed, fails.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/model/output_check.h"

namespace abba::device {

struct Discrepancy {
  std::string backend;    // "cpu", "cuda"
  std::string precision;  // "fp32", "bf16"
  std::string config;
  std::string fixture;
  std::string stage;
  double nrms = 0.0;
  double max_abs = 0.0;
  double largest = 0.0;  // largest |reference| of the stage
};

// Another product path adds in another order: a value up to this factor above the listed one is the
// same discrepancy. Stated, like the limits, in the file itself.
inline constexpr double kSameDiscrepancy = 1.1;

// Throws base::Error for a file that is not as the page of tests/device says.
std::vector<Discrepancy> read_discrepancies(const std::string& path);

// Among the stages that fail the pair the one of largest nRMS, as an entry without names; nrms is
// -1 if none fails.
Discrepancy discrepancy_of(std::span<const model::StageError> errors);

// Empty if `found` meets the pair or is listed and not worse; else one sentence.
std::string judge(const Discrepancy& found, std::span<const Discrepancy> known);

// One line of the file's list.
std::string line_of(const Discrepancy& discrepancy);

}  // namespace abba::device
