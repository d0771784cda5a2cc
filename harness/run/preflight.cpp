#include "harness/run/preflight.h"

#include <cstdio>
#include <functional>

#include "engine/base/text.h"
#include "harness/host/doctor.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/lock.h"
#include "harness/manifest/reference_environment.h"
#include "harness/plan/cost.h"
#include "harness/run/known_events.h"
#include "harness/run/notes.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

std::string amount(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The nearest folder that exists: where the file system can be asked.
std::filesystem::path existing(std::filesystem::path folder) {
  std::error_code ignored;
  while (!folder.empty() && !std::filesystem::exists(folder, ignored) &&
         folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder.empty() ? "." : folder;
}

class Checks {
 public:
  Checks(const PreflightInputs& in, host::DeviceProbe& device) : in_(in), device_(device) {}

  Preflight run() {
    row("protocol", [&] { return protocol(); });
    row("files", [&] { return files(); });
    if (!in_.registration.exploratory()) {
      row("lock", [&] { return lock(); });
      row("ledger", [&] { return ledger(); });
    }
    row("cpus", [&] { return cpus(); });
    row("limits", [&] { return limits(); });
    row("disk", [&] { return disk(); });
    row("device", [&] { return device(); });
    return std::move(result_);
  }

 private:
  void row(const std::string& name, const std::function<std::string()>& check) {
    PreflightRow found;
    found.name = name;
    try {
      found.text = check();
    } catch (const Error& error) {
      found.passed = false;
      found.code = error.code();
      found.text = error.what();
    }
    result_.rows.push_back(std::move(found));
  }

  // Parts of the protocol that this version cannot carry out are refused, never ignored.
  std::string protocol() {
    if (!in_.manifest.outputs.reference.file.empty()) {
      refuse("outputs.reference.file",
             "a reference file cannot be read by this version; name a reference worker");
    }
    return std::to_string(in_.plan.passes.size()) + " passes, " +
           std::to_string(in_.manifest.workloads.size()) + " workloads";
  }

  [[noreturn]] static void refuse(const std::string& where, const std::string& what) {
    throw Error(ErrorCode::kPreflight, where, what);
  }

  std::string files() {
    manifest::HashCache cache = manifest::open_hash_cache(in_.project);
    manifest::MakeOptions options;
    options.program = in_.program;
    options.stop = in_.stop;
    result_.files = manifest::resolve_files(in_.manifest, in_.project, cache, options);
    for (const auto& workload : in_.manifest.workloads) {
      (void)manifest::input_digest(workload, in_.project, cache);
    }
    cache.save();
    result_.reference = manifest::reference_environment(in_.manifest, in_.project);
    return std::to_string(result_.files.size()) + " files and " +
           std::to_string(in_.manifest.workloads.size()) + " inputs found and hashed";
  }

  std::string lock() {
    manifest::MakeOptions options;
    options.program = in_.program;
    const auto check = manifest::check_lock(in_.manifest, in_.registration, in_.project, options);
    for (const auto& note : check.notes) {
      result_.notes.push_back(make_note(kNotCompared, "", note));
    }
    if (!check.mismatches.empty()) {
      std::vector<std::string> texts;
      for (const auto& mismatch : check.mismatches) {
        texts.push_back(manifest::text(mismatch));
      }
      throw Error(ErrorCode::kMismatch, in_.manifest.path,
                  "not what was registered: " + base::join(texts, "; ") +
                      ". Put it back, or register anew with --supersede " +
                      record::short_digest(in_.registration.lock_digest));
    }
    return "as registered " + in_.registration.registered_utc + " (" +
           record::short_digest(in_.registration.lock_digest) + ")";
  }

  std::string ledger() {
    const auto reading = manifest::read_ledger(manifest::ledger_folder(in_.project));
    manifest::require_sound(reading);
    manifest::require_registered(reading, in_.registration.lock_digest);
    require_known_events(reading, in_.project.root / "results" / in_.manifest.id);
    const auto max_runs = in_.counts_runs ? in_.manifest.protocol.limits.max_runs : 0;
    manifest::require_run_allowed(reading, in_.registration.lock_digest, max_runs);
    result_.ledger = reading;
    const int before = manifest::count_events(reading, record::LedgerEventKind::kRunStarted,
                                              in_.registration.lock_digest);
    const int lost = manifest::lost_runs(reading, in_.registration.lock_digest);
    return std::to_string(before) + " runs of this registration started before" +
           (lost > 0 ? ", with " + std::to_string(lost) + " more in lost events" : "");
  }

  std::string cpus() {
    result_.cpus = host::split_cpus(in_.manifest.affinity, in_.allowed_cpus);
    if (result_.cpus.shared) {
      result_.notes.push_back(make_note(kCpusShared, "", result_.cpus.rule));
    }
    return "workers on " + host::cpu_list_text(result_.cpus.worker) + ", harness on " +
           host::cpu_list_text(result_.cpus.harness) + ": " + result_.cpus.rule;
  }

  std::string limits() {
    const plan::CostAssumptions assumptions;
    result_.cost = plan::cost_of(in_.manifest, in_.plan, assumptions);
    const auto reasons = plan::limits_exceeded(in_.manifest, result_.cost);
    if (!reasons.empty()) {
      std::string advice;
      for (const auto& cheaper : plan::cheaper_plans(in_.manifest, assumptions)) {
        advice += "; cheaper: " + cheaper.change + ", which " + cheaper.loses;
      }
      refuse("limits",
             base::join(reasons, "; ") + "; raise the limit or shorten the plan" + advice);
    }
    return "about " + amount("%.1f", result_.cost.start_minutes) + " + " +
           amount("%.1f", result_.cost.measuring_minutes) +
           " minutes (starts + measuring), if a start takes 1 s and slots fill their shortest time";
  }

  std::string disk() {
    const std::int64_t free = host::free_bytes(existing(in_.results));
    // Twice the estimate and 16 MB: the journal, and an estimate that may be low.
    const double needed = 2e6 * result_.cost.megabytes + 16e6;
    if (free >= 0 && static_cast<double>(free) < needed) {
      refuse(in_.results.string(), "has " + amount("%.0f MB", static_cast<double>(free) / 1e6) +
                                       " free, the run needs about " +
                                       amount("%.0f MB", needed / 1e6) + "; make room" +
                                       (in_.manifest.path.empty()  // `try` and `calibrate` name it
                                            ? ""
                                            : " or write elsewhere with `abba run --output`"));
    }
    return "about " + amount("%.1f MB", result_.cost.megabytes) + " to write, " +
           (free < 0 ? "free space unknown"
                     : amount("%.0f MB free", static_cast<double>(free) / 1e6));
  }

  std::string device() {
    const auto& wish = in_.manifest.device;
    if (in_.require_device && wish.wanted == "none") {
      refuse("device",
             "the manifest asks for none, but --require cuda demands one; write \"device\": "
             "\"any\" or a UUID, or leave --require out");
    }
    host::SystemClock system;
    host::Clock& clock = in_.clock != nullptr ? *in_.clock : system;
    result_.device = host::choose_device(wish, device_, clock, [&](const std::string& uuid) {
      return host::device_holder(in_.device_locks, uuid);
    });
    for (const auto& sentence : result_.device.disagreements) {
      result_.notes.push_back(make_note(kDeviceDisagrees, "", sentence));
    }
    for (const auto& doubt : result_.device.doubts) {
      result_.notes.push_back(make_note(kDeviceUnchecked, "", doubt));
    }
    return result_.device.text;
  }

  const PreflightInputs& in_;
  host::DeviceProbe& device_;
  Preflight result_;
};

}  // namespace

bool Preflight::passed() const {
  for (const auto& row : rows) {
    if (!row.passed) {
      return false;
    }
  }
  return true;
}

void Preflight::require() const {
  for (const auto& row : rows) {
    if (!row.passed) {
      throw Error(row.code, "", row.text);
    }
  }
}

Preflight preflight(const PreflightInputs& in, host::DeviceProbe& device) {
  return Checks(in, device).run();
}

}  // namespace abba::run
