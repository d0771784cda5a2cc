// The calibration record: what one machine class's calibration found, as JSON "abba.calibration/1".
// Lies at results/calibration/CLASS/MANIFEST/UTC.json beside the run files that back it; never
// overwritten.
#pragma once

#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/calibration/judge.h"

namespace abba::calibration {

struct RunDigest {
  std::string series;
  std::string file;  // relative to the record's folder, without .xz
  std::string head;  // of the run file's chain: the same for .sqlite and .sqlite.xz
};

struct CalibrationRecord {
  std::string utc;
  std::string machine_class;
  std::string manifest_id;
  std::string manifest_digest;
  std::vector<std::string> programs;  // versions that measured
  std::vector<std::string> workers;   // digests of the workers' executables
  Result result;
  std::vector<RunDigest> runs;
};

[[nodiscard]] base::Json to_json(const CalibrationRecord& record);

// What a report says of a record.
struct Citation {
  std::string utc;
  bool holds = false;
  std::string sentence;  // "95 % intervals missed zero in 9 of 200 relabelled A/A runs, ..."
  std::string digest;    // SHA-256 of the record file
};
// Throws Error(kBadInput, where, ...) if `json` is no calibration record.
[[nodiscard]] Citation citation(const base::Json& json, const std::string& where);

// "95 % intervals missed zero in 9 of 200 relabelled A/A runs, false verdicts 0 of 59 (claim
// equivalent) and 2 of 59 (claim faster), an injected 2 % was found in 20 of 20 runs".
[[nodiscard]] std::string sentence(const Result& result);

// The record's table for a terminal: a line a check and a line a series.
[[nodiscard]] std::string table(const Result& result);

}  // namespace abba::calibration
