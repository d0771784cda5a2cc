// Where calibrations lie and what the newest one says: results/calibration/CLASS/, with a folder of
// run files for each series and one record file for each time that a calibration was concluded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/calibration/calibration_record.h"
#include "harness/manifest/project.h"
#include "harness/record/manifest.h"
#include "harness/record/run_record.h"

namespace abba::cli {

// The class of this host, with the device that the wish would choose.
std::string machine_class_here(const record::DeviceWish& wish);

// The class that a person named; this host's if `named` is empty. Throws Error(kBadInput) for what
// is no class, since it becomes a folder's name.
std::string machine_class_of(const std::string& named, const record::DeviceWish& wish);

// results/calibration/CLASS.
std::filesystem::path calibration_folder(const manifest::Project& project,
                                         const std::string& machine_class);

// Record files of a folder, oldest first.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder);

// What the report of `run` says about calibration: the newest record of the run's machine class
// that was there when the run began (so that a report stays the same when a later record comes),
// its digest and age, with N090, N091 or N092 where there is reason to doubt.
std::string calibration_text(const record::RunRecord& run, const manifest::Project& project);

}  // namespace abba::cli
