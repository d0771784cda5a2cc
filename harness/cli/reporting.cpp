#include "harness/cli/reporting.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/context.h"
#include "harness/cli/version.h"
#include "harness/manifest/attempts.h"
#include "harness/manifest/ledger.h"
#include "harness/stats/analyze.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;

// Where a person who cloned the project starts.
std::vector<std::string> commands_to_reproduce(const fs::path& run_file,
                                               const record::RunRecord& run,
                                               const manifest::Project& project) {
  std::vector<std::string> commands;
  if (!run.manifest.path.empty()) {
    const std::string path = run.manifest.path;  // relative to the project
    if (run.exploratory) {
      commands.push_back("abba run --exploratory " + path);
    } else {
      commands.push_back("abba register " + path);
      commands.push_back("abba run " + path);
    }
  }
  commands.push_back("abba verify " + shown_path(run_file, project));
  commands.push_back("abba report " + shown_path(run_file, project));
  return commands;
}

// Runs of this experiment, under any registration, that the ledger says were finished before this
// one began. Those that failed or were stopped are attempts.
int finished_before(const record::RunRecord& run, const manifest::Project& project) {
  const auto ledger = manifest::read_ledger(manifest::ledger_folder(project));
  return static_cast<int>(std::ranges::count_if(ledger.events, [&](const auto& event) {
    const fs::path file = event.details.text_or_empty("run_file");
    return event.kind == record::LedgerEventKind::kRunFinished && event.utc <= run.started_utc &&
           event.details.text_or_empty("state") == "finished" &&
           file.parent_path().filename() == run.manifest.id;
  }));
}

int measured_passes(const record::Plan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.passes, [](const auto& pass) { return pass.phase == record::Phase::kMeasured; }));
}

}  // namespace

int attempts_before(const record::RunRecord& run, const manifest::Project& project) {
  return static_cast<int>(
      manifest::count_attempts(manifest::attempts_file(project), run.manifest.id).total() +
      finished_before(run, project));
}

void describe_no_end(const fs::path& run_file, record::RunRecord& run, record::Analysis& analysis) {
  if (run.state != record::RunState::kRunning) {
    return;
  }
  const std::string done = std::to_string(analysis.passes) + " of " +
                           std::to_string(measured_passes(run.plan)) + " passes measured";
  if (store::is_being_written(run_file.string())) {
    run.state_text = "it goes on: " + done + "; a verdict comes with its end.";
    analysis.headline = "running: " + done + "; a verdict comes with the end";
    analysis.verdicts.clear();
    analysis.criterion = record::Criterion::kNone;
  } else {
    run.state_text = "its harness died or lost its disk: " + done + "; go on with --resume.";
    analysis.headline =
        "interrupted: " + done + "; go on with --resume. So far: " + analysis.headline;
  }
}

std::string shown_path(const fs::path& path, const manifest::Project& project) {
  const fs::path absolute = path.is_absolute() ? path : fs::absolute(path);
  const std::string relative =
      absolute.lexically_normal().lexically_relative(project.root).string();
  return relative.empty() || relative.rfind("..", 0) == 0 ? path.filename().string() : relative;
}

evidence::VerifyResult verify_file(const fs::path& run_file, const manifest::Project& project,
                                   const evidence::AnchorSources& sources) {
  evidence::VerifyOptions options;
  options.sources = sources;
  options.ledger_folder = manifest::ledger_folder(project).string();
  options.analyze = [](const record::RunRecord& run) { return stats::analyze(run); };
  options.program = program_text();
  return evidence::verify(run_file.string(), options);
}

report::ReportContext report_context(const fs::path& run_file, const record::RunRecord& run,
                                     const manifest::Project& project) {
  report::ReportContext context;
  context.commands = commands_to_reproduce(run_file, run, project);
  context.run_file_digest = base::sha256_file(run_file);
  context.attempts_before = attempts_before(run, project);
  context.calibration = calibration_text(run, project);
  context.standing = verify_file(run_file, project).sentence;
  return context;
}

void write_with_picture(const fs::path& markdown, const std::string& text, const std::string& svg) {
  const fs::path picture = fs::path(markdown).replace_extension(".svg");
  base::write_file_atomically(picture.string(), svg);
  try {
    base::write_file_atomically(markdown.string(), text);
  } catch (const base::Error&) {
    std::error_code ignored;
    fs::remove(picture, ignored);
    throw;
  }
}

WrittenReport write_report(const fs::path& run_file, const manifest::Project& project,
                           bool exploratory) {
  record::RunRecord run = store::read_run(run_file.string());
  run.file = shown_path(run_file, project);
  record::Analysis analysis = stats::analyze(run);
  describe_no_end(run_file, run, analysis);
  report::ReportContext context = report_context(run_file, run, project);
  const fs::path folder =
      exploratory ? run_file.parent_path() : project.root / "reports" / run.manifest.id;
  std::error_code error;
  fs::create_directories(folder.empty() ? "." : folder, error);
  if (error) {
    throw base::Error(base::ErrorCode::kBroken, folder.string(),
                      "cannot be created: " + error.message());
  }
  const std::string name = store::run_stem(run_file);
  context.samples_svg = name + ".svg";
  WrittenReport written;
  written.markdown = folder / (name + ".md");
  write_with_picture(written.markdown, report::markdown(run, analysis, context),
                     report::svg_samples(run));
  written.summary = report::summary_text(run, analysis, context);
  return written;
}

}  // namespace abba::cli
