#include "harness/evidence/bundle.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/temporary_folder.h"
#include "engine/base/text.h"
#include "harness/evidence/verify.h"
#include "harness/manifest/ledger.h"
#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "harness/store/database.h"
#include "harness/store/open_run.h"
#include "harness/store/redact.h"
#include "harness/store/run_file.h"
#include "harness/store/xz.h"

namespace abba::evidence {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;
using store::ArchiveEntry;

// What somebody who has the project's sources, or this bundle alone, types.
std::vector<std::string> commands_of(const record::RunRecord& run) {
  std::vector<std::string> commands;
  if (run.exploratory || run.registration.exploratory()) {
    commands.push_back("abba run --exploratory manifest.json");
  } else {
    commands.push_back("abba register manifest.json");
    commands.push_back("abba run manifest.json");
  }
  commands.push_back("abba verify " + std::string(kBundleRun));
  commands.push_back("abba report " + std::string(kBundleRun));
  commands.push_back("python3 recompute.py " + std::string(kBundleRun));
  return commands;
}

// Those of the workers, where they are not withheld.
std::string commands_text(const record::RunRecord& run, store::Database& database) {
  std::string text = "To repeat and to check this run:\n\n";
  for (const std::string& command : commands_of(run)) {
    text += "    " + command + "\n";
  }
  text += "\nWhat was started (worker, arm, pass, command):\n\n";
  store::Statement row = database.prepare(
      "SELECT worker.id, arm, pass, command_digest, text FROM worker LEFT JOIN private ON key = "
      "'worker/' || worker.id || '/command' ORDER BY worker.id");
  while (row.step()) {
    const bool withheld = row.kind(4) == store::Statement::Kind::kNull;
    text += "    " + row.text(0) + " " + row.text(1) + " " + row.text(2) + " " +
            (withheld ? "(withheld; SHA-256 " + row.text(3) + ")" : row.text(4)) + "\n";
  }
  return text;
}

Json withheld_json(store::Database& database) {
  Json withheld = Json::array();
  store::Statement row =
      database.prepare("SELECT key, commitment FROM private WHERE text IS NULL ORDER BY key");
  while (row.step()) {
    withheld.push_back(Json::object({{"key", row.text(0)}, {"commitment", row.text(1)}}));
  }
  return withheld;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Json file_json(const std::string& name, const std::string& bytes) {
  return Json::object({{"name", name},
                       {"bytes", static_cast<std::int64_t>(bytes.size())},
                       {"sha256", base::sha256_hex(bytes)}});
}

std::string ledger_of(const std::string& folder) {
  return folder + "/" + std::string(kBundleLedger.substr(0, kBundleLedger.size() - 1));
}

// The bundle's report says what the bundle alone shows: no anchor of this machine.
report::ReportContext context_of(const std::string& folder, const record::RunRecord& run,
                                 const BundleFacts& facts) {
  const std::string path = folder + "/" + std::string(kBundleRun);
  VerifyOptions options;
  options.ledger_folder = ledger_of(folder);
  options.analyze = [](const record::RunRecord& read) { return stats::analyze(read); };
  report::ReportContext context;
  context.commands = commands_of(run);
  context.run_file_digest = base::sha256_hex(base::read_file(path));
  context.attempts_before = facts.attempts_before;
  context.calibration = facts.calibration;
  context.samples_svg = "samples.svg";
  context.standing = verify(path, options).sentence;
  return context;
}

// Events of this registration, acknowledged losses, and all that they build on.
void copy_events(const std::string& from, const std::string& lock_digest, const std::string& to) {
  const manifest::LedgerReading ledger = manifest::read_ledger(from);
  std::map<std::string, const record::LedgerEvent*> known;
  std::vector<std::string> open;
  for (const record::LedgerEvent& event : ledger.events) {
    known[event.digest] = &event;
    if (event.lock_digest == lock_digest ||
        event.kind == record::LedgerEventKind::kLossAcknowledged) {
      open.push_back(event.digest);
    }
  }
  std::set<std::string> taken;
  fs::create_directory(to);
  while (!open.empty()) {
    const std::string digest = open.back();
    open.pop_back();
    const auto event = known.find(digest);
    if (event == known.end() || !taken.insert(digest).second) {
      continue;
    }
    base::write_file_atomically(to + "/" + event->second->file,
                                base::read_file(from + "/" + event->second->file));
    open.insert(open.end(), event->second->parents.begin(), event->second->parents.end());
  }
}

// Puts the run file and its ledger into `folder`.
void collect(const std::string& run_file, const BundleOptions& options, const std::string& folder) {
  const std::string plain = folder + "/run.sqlite";
  // Host names and paths; a manifest's place within the project says nothing about the machine.
  const bool inside = !store::read_run(run_file, {.samples = false, .environment = false})
                           .manifest.path.starts_with('/');
  const std::vector<std::string> place =
      inside ? std::vector<std::string>{"manifest/path"} : std::vector<std::string>{};
  store::write_redacted(run_file, plain,
                        options.keep_private ? std::vector<std::string>{""} : place);
  store::compress_run(plain, folder + "/" + std::string(kBundleRun));
  fs::remove(plain);
  const record::RunRecord run = store::read_run(folder + "/" + std::string(kBundleRun));
  if (!options.ledger_folder.empty() && fs::is_directory(options.ledger_folder) &&
      !run.registration.exploratory()) {
    copy_events(options.ledger_folder, run.registration.lock_digest, ledger_of(folder));
  }
}

}  // namespace

std::vector<ArchiveEntry> derived_entries(const std::string& folder, const BundleFacts& facts) {
  const std::string path = folder + "/" + std::string(kBundleRun);
  record::RunRecord run = store::read_run(path);
  run.file = kBundleRun;
  const record::Analysis analysis = stats::analyze(run);
  const store::RunTexts texts = store::read_texts(path);
  const report::ReportContext context = context_of(folder, run, facts);
  store::Database database = store::open_run(path, {.check = false});
  std::vector<ArchiveEntry> entries = {{"manifest.json", texts.manifest_text.empty()
                                                             ? run.manifest.expanded.dump_pretty()
                                                             : texts.manifest_text}};
  if (!texts.lock.is_null()) {
    entries.push_back({"lock.json", texts.lock.dump_pretty()});
  }
  entries.push_back({"commands.txt", commands_text(run, database)});
  entries.push_back({"report.md", report::markdown(run, analysis, context)});
  entries.push_back({"samples.svg", report::svg_samples(run)});
  entries.push_back({"report.json", report::json(run, analysis, context)});
  entries.push_back({"recompute.py", std::string(recompute_script())});
  Json files = Json::array();
  for (const ArchiveEntry& entry : entries) {
    files.push_back(file_json(entry.name, entry.bytes));
  }
  files.push_back(file_json(std::string(kBundleRun), base::read_file(path)));
  for (const std::string& name : files_below(ledger_of(folder))) {
    files.push_back(file_json(std::string(kBundleLedger) + name,
                              base::read_file(ledger_of(folder) + "/" + name)));
  }
  const Json index = Json::object({{"schema", "abba.bundle/1"},
                                   {"program", facts.program},
                                   {"run", run.run_id},
                                   {"head_digest", run.head_digest},
                                   {"attempts_before", facts.attempts_before},
                                   {"calibration", facts.calibration},
                                   {"withheld", withheld_json(database)},
                                   {"files", files}});
  entries.insert(entries.begin(), {std::string(kBundleIndex), index.dump_pretty()});
  return entries;
}

std::string make_bundle(const std::string& run_file, const BundleOptions& options) {
  const base::TemporaryFolder folder;
  collect(run_file, options, folder.path());
  std::vector<ArchiveEntry> entries = derived_entries(folder.path(), options.facts);
  for (const std::string& name : files_below(ledger_of(folder.path()))) {
    entries.push_back(
        {std::string(kBundleLedger) + name, base::read_file(folder.file("ledger/" + name))});
  }
  entries.push_back({std::string(kBundleRun), base::read_file(folder.file(kBundleRun))});
  if (!options.keep_private) {
    const std::string leak = private_leak(run_file, entries);
    if (!leak.empty()) {
      throw Error(ErrorCode::kBadInput, run_file,
                  leak +
                      ", which cannot be taken out without breaking a digest; hand the bundle "
                      "only to whom may see it, with --with-private");
    }
  }
  return store::write_archive(entries);
}

}  // namespace abba::evidence
