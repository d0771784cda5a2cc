#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/temporary_folder.h"
#include "engine/base/text.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/check_record.h"
#include "harness/evidence/verify_parts.h"
#include "harness/store/chain.h"
#include "harness/store/open_run.h"
#include "harness/store/run_file.h"

namespace abba::evidence {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Json;
using store::ArchiveEntry;

const ArchiveEntry* find(const std::vector<ArchiveEntry>& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const ArchiveEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Json parse(const ArchiveEntry& entry) {
  return base::parse_json(entry.bytes, entry.name, {.max_bytes = std::size_t{16} << 20U});
}

// What the index says about one entry against the entry itself.
std::string check_listed(const Json& listed, const std::vector<ArchiveEntry>& entries) {
  const std::string& name = listed.get_string("name", kBundleIndex);
  const ArchiveEntry* entry = find(entries, name);
  if (entry == nullptr) {
    return name + " is listed and missing";
  }
  if (listed.get_int("bytes", kBundleIndex) != static_cast<std::int64_t>(entry->bytes.size()) ||
      listed.get_string("sha256", kBundleIndex) != base::sha256_hex(entry->bytes)) {
    return name + " is not the one listed";
  }
  return "";
}

std::string check_index(const Json& index, const std::vector<ArchiveEntry>& entries) {
  if (index.get_string("schema", kBundleIndex) != "abba.bundle/1") {
    return "the index is of another schema; use the abba that wrote it";
  }
  const Json::Array& files = index.get_array("files", kBundleIndex);
  for (const Json& listed : files) {
    std::string wrong = check_listed(listed, entries);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  for (const ArchiveEntry& entry : entries) {
    const auto times = std::count_if(files.begin(), files.end(), [&](const Json& listed) {
      return listed.get_string("name", kBundleIndex) == entry.name;
    });
    if (times != (entry.name == kBundleIndex ? 0 : 1)) {
      return entry.name + " stands in the index " + std::to_string(times) + " times";
    }
  }
  return "";
}

class BundleVerification {
 public:
  BundleVerification(std::string path, const VerifyOptions& options)
      : path_(std::move(path)), options_(options) {}

  VerifyResult run() {
    try {
      entries_ =
          store::read_archive(base::read_file(path_, store::ArchiveLimits{}.max_bytes), path_);
      add("archive", "", std::to_string(entries_.size()) + " entries, as abba writes them");
      index();
      inner();
      derived();
    } catch (const Error& error) {
      add("bundle", error.message(), "");
    }
    conclude();
    return std::move(result_);
  }

 private:
  void add(std::string name, std::string wrong, std::string good) {
    const bool holds = wrong.empty();
    own_.push_back({std::move(name), holds ? Outcome::kHolds : Outcome::kFails,
                    holds ? std::move(good) : std::move(wrong)});
  }

  const ArchiveEntry& need(std::string_view name) {
    const ArchiveEntry* entry = find(entries_, name);
    if (entry == nullptr) {
      throw Error(base::ErrorCode::kBadInput, path_, "it holds no " + std::string(name));
    }
    return *entry;
  }

  void index() {
    index_ = parse(need(kBundleIndex));
    facts_.program = index_.get_string("program", kBundleIndex);
    const std::int64_t attempts = index_.get_int("attempts_before", kBundleIndex);
    facts_.attempts_before = static_cast<int>(std::clamp<std::int64_t>(attempts, -1, 1'000'000));
    facts_.calibration = index_.get_string("calibration", kBundleIndex);
    add("index", check_index(index_, entries_), "names every entry with its digest");
  }

  void inner() {
    base::write_file_atomically(folder_.file(kBundleRun), need(kBundleRun).bytes);
    for (const ArchiveEntry& entry : entries_) {
      if (entry.name.starts_with(kBundleLedger)) {
        const std::string event = entry.name.substr(kBundleLedger.size());
        if (!event.ends_with(".json") || event.find('/') != std::string::npos) {
          throw Error(base::ErrorCode::kBadInput, path_, entry.name + " is no event of a ledger");
        }
        fs::create_directories(fs::path(folder_.file(entry.name)).parent_path());
        base::write_file_atomically(folder_.file(entry.name), entry.bytes);
      }
    }
    VerifyOptions options = options_;
    const bool travels = fs::exists(folder_.file("ledger"));
    if (travels) {
      options.ledger_folder = folder_.file("ledger");
    }
    result_ = verify_run_file(folder_.file(kBundleRun), options);
    if (travels && result_.ending != Ending::kBroken) {
      own_.push_back(ledger_at_hand());
    }
  }

  // The same question to the ledger of the project the bundle was found in.
  Check ledger_at_hand() {
    const std::string run_file = folder_.file(kBundleRun);
    std::vector<std::string> digests;
    store::Database database = store::open_run(run_file, {.check = false});
    for (const store::ChainEntry& entry : store::read_chain(database)) {
      digests.push_back(entry.digest);
    }
    Check check = check_ledger(store::read_run(run_file, {.samples = false, .check = false}),
                               digests, options_.ledger_folder);
    check.name = "ledger at hand";
    return check;
  }

  void derived() {
    if (result_.ending == Ending::kBroken) {
      return;  // nothing follows from a run that does not check out
    }
    const std::vector<ArchiveEntry> wanted = derived_entries(folder_.path(), facts_);
    const std::size_t before = own_.size();
    for (const ArchiveEntry& entry : wanted) {
      if (entry.name != kBundleIndex) {
        compare(entry);
      }
    }
    const auto ledger = std::count_if(entries_.begin(), entries_.end(), [](const auto& entry) {
      return entry.name.starts_with(kBundleLedger);
    });
    if (entries_.size() != wanted.size() + static_cast<std::size_t>(ledger) + 1) {
      add("entries", "it holds an entry that no bundle has", "");
    }
    compare(wanted.front());  // the index, which changes with any of them
    if (own_.size() == before) {
      add("entries", "", "manifest, lock, commands, report and script follow from the run file");
    }
  }

  void compare(const ArchiveEntry& wanted) {
    const ArchiveEntry& found = need(wanted.name);
    if (found.bytes != wanted.bytes) {
      own_.push_back(differs(wanted, found));
    }
  }

  // An entry that is not the one this abba derives: a fault, unless another build wrote it.
  Check differs(const ArchiveEntry& wanted, const ArchiveEntry& found) {
    const bool stable = wanted.name == "manifest.json" || wanted.name == "lock.json";
    const bool other_script =
        wanted.name == "recompute.py" && found.bytes.find("abba.recompute/1:") > 100;
    const bool may_differ =
        wanted.name != "recompute.py" && !stable && facts_.program != options_.program;
    std::string wrong;
    if (wanted.name == "report.json" || wanted.name == kBundleIndex) {
      wrong = check_numbers(parse(wanted), parse(found));
    }
    if (wrong.empty() && (may_differ || other_script)) {
      return {wanted.name, Outcome::kNotDone,
              "was written by another build (" + facts_.program.substr(0, 80) +
                  "), whose wording this one does not know"};
    }
    return {wanted.name, Outcome::kFails,
            wrong.empty() ? "is not what follows from the run file" : wrong};
  }

  // Members that mean the same in every build.
  static std::string check_numbers(const Json& wanted, const Json& found) {
    for (const char* member : {"verdicts", "run", "withheld", "head_digest", "criterion"}) {
      const Json* a = wanted.find(member);
      const Json* b = found.find(member);
      if (a == nullptr) {
        continue;
      }
      const std::string where = b == nullptr ? std::string("/") + member
                                             : first_difference(*a, *b, std::string("/") + member);
      if (!where.empty()) {
        return "its " + where.substr(1) + " is not what follows from the run file";
      }
    }
    return "";
  }

  void conclude() {
    result_.checks.insert(result_.checks.end(), own_.begin(), own_.end());
    if (result_.ending == Ending::kBroken && !result_.sentence.empty()) {
      return;
    }
    for (const Check& check : own_) {
      if (check.outcome == Outcome::kFails) {
        result_.ending = Ending::kBroken;
        result_.sentence = "does not check out: " + check.name + ": " + check.detail;
        return;
      }
    }
  }

  std::string path_;
  const VerifyOptions& options_;
  base::TemporaryFolder folder_;
  std::vector<ArchiveEntry> entries_;
  Json index_;
  BundleFacts facts_;
  std::vector<Check> own_;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify_bundle(const std::string& path, const VerifyOptions& options) {
  return BundleVerification(path, options).run();
}

}  // namespace abba::evidence
