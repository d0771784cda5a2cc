#include "harness/store/run_list.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/store/open_run.h"

namespace abba::store {
namespace {

namespace fs = std::filesystem;

void read_listing(RunListing& listing) {
  Database database = open_run(listing.file, {.check = false});
  Statement run =
      database.prepare("SELECT run_id, manifest_id, started_utc, state, exploratory FROM run");
  if (!run.step()) {
    throw base::Error(base::ErrorCode::kBadInput, listing.file, "is damaged: it holds no run");
  }
  listing.run_id = run.text(0);
  listing.manifest_id = run.text(1);
  listing.started_utc = run.text(2);
  const auto state = record::parse_name<record::RunState>(run.bytes(3));
  if (!state) {
    throw base::Error(base::ErrorCode::kBadInput, listing.file, "is damaged: unknown state");
  }
  listing.state = *state;
  listing.exploratory = run.integer(4) != 0;
  Statement words = database.prepare(
      "SELECT workload, word FROM verdict WHERE entry = (SELECT max(entry) FROM verdict) ORDER BY "
      "ordinal");
  while (words.step()) {
    listing.words.emplace_back(words.text(0), words.text(1));
  }
}

}  // namespace

std::vector<RunListing> list_runs(const std::string& folder) {
  std::vector<RunListing> listings;
  if (!fs::exists(folder)) {
    return listings;
  }
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied,
                                           error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().string();
    if (name.ends_with(".sqlite") || name.ends_with(".sqlite.xz")) {
      std::error_code ignored;
      RunListing& listing = listings.emplace_back();
      listing.file = name;
      const auto size = entries->file_size(ignored);
      listing.size_bytes = ignored ? 0 : size;
    }
  }
  if (error) {
    throw base::Error(base::ErrorCode::kBadInput, folder, "cannot be read: " + error.message());
  }
  std::sort(listings.begin(), listings.end(),
            [](const RunListing& a, const RunListing& b) { return a.file < b.file; });
  for (RunListing& listing : listings) {
    try {
      read_listing(listing);
    } catch (const base::Error& refused) {
      RunListing bad;
      bad.file = listing.file;
      bad.size_bytes = listing.size_bytes;
      bad.problem = refused.message();
      listing = std::move(bad);
    }
  }
  return listings;
}

}  // namespace abba::store
