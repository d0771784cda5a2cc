// Where calibrations lie and what the newest ones say: results/calibration/CLASS/MANIFEST/, with a
// folder of run files for each series and one record file for each time that a calibration was
// concluded. A machine has one for each kind of load that it was calibrated with.
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

// The folders of manifests in a class's folder, in the order of their names; none if it is not
// there.
std::vector<std::filesystem::path> folders_of_manifests(const std::filesystem::path& folder);

// Record files of a folder, oldest first.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder);

// What the report of `run` says about calibration: of each manifest that the run's machine class
// was calibrated with the newest record that was there when the run began (so that a report stays
// the same when a later record comes), its digest and age, with N091 or N092 where there is reason
// to doubt. Empty without a record.
std::string calibration_text(const record::RunRecord& run, const manifest::Project& project);

}  // namespace abba::cli
