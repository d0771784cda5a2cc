// A run for others: as a bundle, as CSV, as JSON lines.
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/reporting.h"
#include "harness/cli/version.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/export_rows.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;

int export_bundle(const Options& options, const fs::path& file) {
  const fs::path out = options.out.empty() ? store::run_stem(file) + ".zip" : options.out;
  refuse_to_overwrite(out);
  const auto project = manifest::find_project(fs::absolute(file).parent_path());
  const record::RunRecord run =
      store::read_run(file.string(), {.samples = false, .environment = false});
  evidence::BundleOptions bundle;
  bundle.keep_private = options.with_private;
  bundle.ledger_folder = manifest::ledger_folder(project).string();
  bundle.facts = {program_text(), attempts_before(run, project), calibration_text(run, project)};
  base::write_file_atomically(out.string(), evidence::make_bundle(file.string(), bundle));
  print(out.string() + (options.with_private ? ", private strings included\n" : "\n"));
  return kDone;
}

}  // namespace

int export_command(const Options& options) {
  const fs::path file = named_run(options.words.front());
  if (!options.csv && !options.jsonl) {
    return export_bundle(options, file);
  }
  if (!options.out.empty()) {
    refuse_to_overwrite(options.out);
  }
  const std::string rows =
      options.jsonl
          ? evidence::rows_as_json_lines(file.string())
          : evidence::rows_as_csv(file.string(), options.table.empty() ? "samples" : options.table);
  if (options.out.empty()) {
    print_bytes(rows);
  } else {
    base::write_file_atomically(options.out, rows);
  }
  return kDone;
}

}  // namespace abba::cli
