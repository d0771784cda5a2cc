#include "harness/manifest/registrations.h"

#include <algorithm>

#include "engine/base/text.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;
using record::LedgerEvent;
using record::LedgerEventKind;

void add(RegistrationHistory& history, const LedgerEvent& event) {
  if (event.kind == LedgerEventKind::kWithdrawn) {
    const std::string reason = event.details.text_or_empty("reason");
    history.withdrawn = reason.empty() ? "no reason readable" : reason;
  } else if (event.kind == LedgerEventKind::kRunStarted) {
    history.runs += event.details.find("resumed") == nullptr ? 1 : 0;
  } else if (event.kind == LedgerEventKind::kRunFinished) {
    const std::string state = event.details.text_or_empty("state");
    history.finished += state == "finished" ? 1 : 0;
    history.stopped += state == "stopped" ? 1 : 0;
    history.broken += state == "broken" ? 1 : 0;
  } else if (event.kind == LedgerEventKind::kAnchored) {
    history.anchors.push_back(event.details.text_or_empty("method") + " " +
                              event.details.text_or_empty("utc"));
  }
}

// Events of before the ledger had one place name the file alone.
fs::path file_of(const RegistrationHistory& history, const Project& project) {
  const bool is_name = history.file.find('/') == std::string::npos;
  const fs::path beside_ledger = ledger_folder(project).parent_path() / history.file;
  std::error_code ignored;
  return is_name && fs::exists(lock_path(beside_ledger), ignored) ? beside_ledger
                                                                  : project.root / history.file;
}

}  // namespace

std::vector<RegistrationHistory> registrations(const LedgerReading& ledger) {
  std::vector<RegistrationHistory> found;
  const auto of = [&found](const std::string& lock) {
    return std::find_if(found.begin(), found.end(),
                        [&](const auto& history) { return history.lock_digest == lock; });
  };
  for (const LedgerEvent& event : ledger.events) {
    if (event.kind != LedgerEventKind::kRegistered) continue;
    const auto replaced = of(event.details.text_or_empty("supersedes"));
    if (replaced != found.end()) replaced->superseded_by = event.lock_digest;
    RegistrationHistory history;
    history.lock_digest = event.lock_digest;
    history.manifest_id = event.details.text_or_empty("manifest");
    history.file = event.details.text_or_empty("file");
    history.registered_utc = event.utc;
    found.push_back(std::move(history));
  }
  for (const LedgerEvent& event : ledger.events) {
    const auto history = of(event.lock_digest);
    if (history != found.end()) add(*history, event);
  }
  return found;
}

std::vector<RegistrationHistory> registrations_of(const LedgerReading& ledger,
                                                  const record::Manifest& manifest,
                                                  const Project& project) {
  const std::string name = ledger_name(project, manifest.path);
  const bool beside_ledger = fs::path(name).parent_path() == "manifests";
  std::vector<RegistrationHistory> found = registrations(ledger);
  std::erase_if(found, [&](const auto& history) {
    const bool same_file =
        history.file == name || (beside_ledger && history.file == fs::path(name).filename());
    return history.manifest_id != manifest.id && !same_file;
  });
  return found;
}

std::optional<RegistrationHistory> without_lock(const LedgerReading& ledger,
                                                const record::Manifest& manifest,
                                                const Project& project) {
  std::vector<RegistrationHistory> found = registrations_of(ledger, manifest, project);
  std::erase_if(found, [&](const auto& history) {
    std::error_code ignored;
    return !history.superseded_by.empty() ||
           fs::exists(lock_path(file_of(history, project)), ignored);
  });
  return found.empty() ? std::nullopt : std::optional(found.back());
}

LedgerReading only_about(const LedgerReading& ledger,
                         const std::vector<RegistrationHistory>& registrations) {
  LedgerReading reading = ledger;
  std::erase_if(reading.events, [&](const LedgerEvent& event) {
    return std::none_of(registrations.begin(), registrations.end(), [&](const auto& history) {
      return history.lock_digest == event.lock_digest;
    });
  });
  return reading;
}

std::string text(const RegistrationHistory& registration) {
  const auto some = [](int count, const char* what) { return std::to_string(count) + " " + what; };
  std::string line = "registration " + record::short_digest(registration.lock_digest) + " of " +
                     registration.file + ", " + registration.registered_utc + ": " +
                     some(registration.runs, registration.runs == 1 ? "run" : "runs");
  if (registration.runs > 0) {
    line += " (" + some(registration.finished, "finished") + ", " +
            some(registration.stopped, "stopped") + ", " + some(registration.broken, "broken") +
            ")";
  }
  if (!registration.anchors.empty()) {
    line += "; anchored: " + base::join(registration.anchors, ", ");
  }
  if (!registration.superseded_by.empty()) {
    line += "; superseded by " + record::short_digest(registration.superseded_by);
  }
  if (!registration.withdrawn.empty()) line += "; withdrawn: " + registration.withdrawn;
  return line;
}

}  // namespace abba::manifest
