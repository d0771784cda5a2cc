// A bundle: everything that a stranger needs to check one run, in one archive that is the same
// bytes whenever it is made. bundle.json (what is in it and what is withheld), manifest.json as it
// was written, lock.json, the ledger's events up to this run, commands.txt, the report (report.md,
// samples.svg, report.json), recompute.py, and the run file itself, without private strings unless
// asked otherwise. All but the run file and the ledger follow from these two, so verify derives
// them again and compares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/store/archive.h"

namespace abba::evidence {

// What a bundle says of itself that does not follow from its run file.
struct BundleFacts {
  std::string program;       // version and build that writes the report
  int attempts_before = -1;  // earlier runs known where it was made; -1 = unknown
  std::string calibration;   // what the report says of the harness's own calibration, or empty
};

struct BundleOptions {
  bool keep_private = false;
  std::string ledger_folder;  // empty or absent: no events travel along
  BundleFacts facts;
};

// The bundle's bytes. Throws Error(kBadInput, path, one sentence) for what is no run file, a run
// that is not finished, or one whose chain covers a private string and thus cannot lose it.
std::string make_bundle(const std::string& run_file, const BundleOptions& options);

inline constexpr std::string_view kBundleIndex = "bundle.json";
inline constexpr std::string_view kBundleRun = "run.sqlite.xz";
inline constexpr std::string_view kBundleLedger = "ledger/";

// Every entry but the run file and the ledger's events, from a folder that holds these two.
std::vector<store::ArchiveEntry> derived_entries(const std::string& folder,
                                                 const BundleFacts& facts);

// The script that stands in every bundle (recompute.py beside this file).
std::string_view recompute_script();

// A private string that a bundle would still hold, in words: "report.md holds ...", or empty.
// `run_file` is the original with its private strings. Strings of fewer than four characters occur
// in ordinary words and are not looked for, nor are paths that the manifest itself names.
std::string private_leak(const std::string& run_file,
                         const std::vector<store::ArchiveEntry>& entries);

}  // namespace abba::evidence
