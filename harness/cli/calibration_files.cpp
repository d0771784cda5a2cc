#include "harness/cli/calibration_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "harness/calibration/machine_class.h"
#include "harness/host/device_probe.h"
#include "harness/host/identity.h"
#include "harness/record/calibration_notes.h"
#include "harness/report/format.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondsOfADay = 86400;
constexpr std::int64_t kStaleDays = 30;
constexpr std::size_t kShownDigits = 12;

std::optional<calibration::Citation> newest_before(const fs::path& folder, const std::string& utc) {
  std::optional<calibration::Citation> newest;
  for (const fs::path& file : record_files(folder)) {
    auto found = calibration::citation(base::parse_json_file(file.string()), file.string());
    // Not of the same second: it may have come after the run began.
    if (found.utc < utc && (!newest || newest->utc < found.utc)) {
      found.digest = base::sha256_file(file);
      newest = std::move(found);
    }
  }
  return newest;
}

std::string citation_text(const calibration::Citation& found, const std::string& machine_class,
                          const std::string& started_utc) {
  const std::int64_t days = std::max<std::int64_t>(
      0, (report::unix_seconds(started_utc) - report::unix_seconds(found.utc)) / kSecondsOfADay);
  std::string text =
      fmt::format("{} ({}, record {}, {} old when the run began)", found.sentence, machine_class,
                  found.digest.substr(0, kShownDigits), report::counted(days, "day"));
  if (!found.holds) {
    text += fmt::format("; {}: that calibration did not hold", record::kFailedCalibration);
  }
  if (days > kStaleDays) {
    text += fmt::format("; {}: that is more than {} days", record::kStaleCalibration, kStaleDays);
  }
  return text;
}

}  // namespace

std::string machine_class_here(const record::DeviceWish& wish) {
  auto identity = host::host_identity();
  if (wish.wanted != "none") {
    for (const host::Device& device : host::open_device_probe()->devices()) {
      if (wish.wanted == "any" || wish.wanted == device.uuid) {
        identity.push_back({"device", "name", device.name});
        break;
      }
    }
  }
  return calibration::machine_class(identity);
}

std::string machine_class_of(const std::string& named, const record::DeviceWish& wish) {
  if (named.empty()) {
    return machine_class_here(wish);
  }
  const bool is_class = std::all_of(named.begin(), named.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!is_class) {
    throw base::Error(base::ErrorCode::kBadInput, "--class " + named,
                      "is no machine class; give the name of a folder below results/calibration, "
                      "such as nvidia-h200");
  }
  return named;
}

fs::path calibration_folder(const manifest::Project& project, const std::string& machine_class) {
  return project.root / "results" / "calibration" / machine_class;
}

std::vector<fs::path> folders_of_manifests(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) {
      folders.push_back(it->path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<fs::path> record_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string calibration_text(const record::RunRecord& run, const manifest::Project& project) {
  const std::string name = calibration::machine_class(run.identity);
  std::string text;
  for (const fs::path& folder : folders_of_manifests(calibration_folder(project, name))) {
    if (const auto found = newest_before(folder, run.started_utc)) {
      text += (text.empty() ? "" : ". By " + folder.filename().string() + ": ") +
              citation_text(*found, name, run.started_utc);
    }
  }
  return text;
}

}  // namespace abba::cli
