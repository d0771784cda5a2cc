// What can be checked before any process starts or device is touched: lock, hashes, inputs, limits,
// run count, disk, affinity, predicted minutes and megabytes; then the device, as the system sees
// it. `abba preflight` prints the rows; `abba run` refuses at the first that fails.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "harness/host/affinity.h"
#include "harness/host/device_choice.h"
#include "harness/host/device_lock.h"
#include "harness/host/device_probe.h"
#include "harness/manifest/files.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/project.h"
#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/record/registration.h"
#include "harness/record/run_record.h"

namespace abba::run {

struct PreflightRow {
  std::string name;  // "lock", "files", "ledger", "cpus", "disk", "limits", "device", ...
  bool passed = true;
  std::string text;                                    // what was found, or what to do
  base::ErrorCode code = base::ErrorCode::kPreflight;  // if it did not pass
};

struct Preflight {
  std::vector<PreflightRow> rows;
  std::vector<manifest::ResolvedFile> files;
  host::CpuSplit cpus;
  host::DeviceChoice device;
  record::PlanCost cost;
  std::vector<record::Identity> reference;  // of the manifest's reference environment
  std::vector<record::Note> notes;
  manifest::LedgerReading ledger;  // of a registered run
  [[nodiscard]] bool passed() const;
  // Throws Error with the first row that did not pass.
  void require() const;
};

struct PreflightInputs {
  const record::Manifest& manifest;
  const record::Registration& registration;  // exploratory() = nothing is compared
  const record::Plan& plan;
  manifest::Project project;
  std::filesystem::path results;  // folder that will hold the run file; need not exist yet
  std::string program;            // what {abba} stands for in `make` commands
  std::vector<int> allowed_cpus;
  bool counts_runs = true;      // a resumed run is not a new one
  bool require_device = false;  // --require cuda
  std::filesystem::path device_locks = host::device_lock_folder();
  host::Clock* clock = nullptr;     // waits for a device that seems busy; null = the system's
  std::function<bool()> stop = {};  // asked while a file is made; true ends that; may be empty
};

// Never throws for what it finds; every finding is a row.
Preflight preflight(const PreflightInputs& in, host::DeviceProbe& device);

}  // namespace abba::run
