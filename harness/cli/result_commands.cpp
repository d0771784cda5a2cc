// Commands that read run files: report, list, show, verify, explain.
#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/reporting.h"
#include "harness/record/calibration_notes.h"
#include "harness/record/names.h"
#include "harness/report/format.h"
#include "harness/run/notes.h"
#include "harness/stats/analyze.h"
#include "harness/stats/capture_costs.h"
#include "harness/stats/notes.h"
#include "harness/store/run_file.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;

manifest::Project project_here() {
  return manifest::find_project(fs::current_path());
}

fs::path chosen_run(const Options& options) {
  if (!options.words.empty()) {
    return named_run(options.words.front());
  }
  const auto files = run_files(project_here(), options.latest, false);
  if (files.empty()) {
    const std::string what = options.latest.empty() ? "no run lies" : "no run of it lies";
    throw Error(ErrorCode::kBadInput, options.latest,
                what + " under results/; name a run file, or run `abba run` first");
  }
  return files.back();
}

std::string words_of(const record::Analysis& analysis) {
  std::vector<std::string> words;
  for (const auto& verdict : analysis.verdicts) {
    if (verdict.primary || analysis.verdicts.size() == 1) {
      words.push_back(verdict.workload + " " + std::string(record::name(verdict.word)));
    }
  }
  return base::join(words, ", ");
}

struct Listed {
  fs::path file;
  record::RunRecord run;
  std::string words;
  std::string problem;  // instead of the rest
};

Listed look_at(const fs::path& file) {
  Listed listed{file, {}, "", ""};
  store::ReadOptions options;
  options.samples = options.environment = options.check = false;
  try {
    listed.run = store::read_run(file.string(), options);
    const auto analysis = store::read_analysis(file.string());
    const bool ended = listed.run.state != record::RunState::kRunning;
    listed.words = analysis && ended ? words_of(*analysis) : "";
  } catch (const Error& error) {
    listed.problem = error.message();
  }
  return listed;
}

Json listed_json(const Listed& listed) {
  Json json = Json::object({{"file", listed.file.string()}});
  if (!listed.problem.empty()) {
    json.set("problem", listed.problem);
    return json;
  }
  json.set("manifest", listed.run.manifest.id);
  json.set("state", record::name(listed.run.state));
  json.set("started", listed.run.started_utc);
  json.set("exploratory", listed.run.exploratory);
  json.set("verdicts", listed.words);
  return json;
}

std::string pass_text(const record::Pass& pass) {
  return "pass      " + std::string(record::name(pass.phase)) + " " +
         std::to_string(pass.index + 1) + ": ";
}

void print_counts(const record::RunRecord& run) {
  for (const auto& pass : run.passes) {
    if (pass.phase == record::Phase::kGraphCapture) {
      print_line(pass_text(pass) +
                 report::counted(static_cast<std::int64_t>(stats::captures_of(run, pass).size()),
                                 "capture") +
                 (pass.superseded ? "; superseded: " + pass.why : ""));
      continue;
    }
    std::size_t slots = 0;
    std::size_t samples = 0;
    std::size_t tainted = 0;
    for (const auto& block : pass.blocks) {
      tainted += block.taint.empty() ? 0 : 1;
      slots += block.slots.size();
      for (const auto& slot : block.slots) {
        samples += slot.samples.size();
      }
    }
    print_line(pass_text(pass) + std::to_string(pass.blocks.size()) + " blocks, " +
               std::to_string(slots) + " slots, " + std::to_string(samples) + " samples" +
               (tainted == 0 ? "" : ", " + std::to_string(tainted) + " tainted") +
               (pass.superseded ? "; superseded: " + pass.why : ""));
  }
}

void print_doubts(const record::RunRecord& run) {
  for (const auto& note : run.notes) {
    print_line("note      " + note.code + " " + std::string(record::name(note.severity)) +
               (note.where.empty() ? "" : " " + note.where) + ": " + note.text);
  }
  for (const auto& worker : run.workers) {
    if (worker.exit_code != 0) {
      print_line("worker    " + worker.arm + " (pid " + std::to_string(worker.pid) +
                 ") ended with " + std::to_string(worker.exit_code));
      for (const auto& line : worker.last_stderr) {
        print_line("          " + line);
      }
    }
  }
}

// Of all layers' tables, ordered by code.
std::vector<record::NoteEntry> all_notes() {
  std::vector<record::NoteEntry> all;
  for (const auto table : {stats::note_table(), run::note_table(), record::calibration_notes()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

const char* severity_text(record::Severity severity) {
  switch (severity) {
    case record::Severity::kInfo:
      return "info: nothing is wrong, but a reader should know";
    case record::Severity::kDoubt:
      return "doubt: the verdict stands; a gate may refuse it";
    case record::Severity::kInvalid:
      break;
  }
  return "invalid: no verdict may be concluded";
}

}  // namespace

int report_command(const Options& options) {
  const fs::path file = chosen_run(options);
  record::RunRecord run = store::read_run(file.string());
  record::Analysis analysis = stats::analyze(run, {.same_hash_law = !options.law_off});
  describe_no_end(file, run, analysis);
  const auto project = manifest::find_project(fs::absolute(file).parent_path());
  run.file = shown_path(file, project);
  report::ReportContext context = report_context(file, run, project);
  if (!options.out.empty()) {
    refuse_to_overwrite(options.out);
  }
  if (!options.out.empty() && !options.html && !options.json) {
    fs::path svg = options.out;
    svg.replace_extension(".svg");
    refuse_to_overwrite(svg);
    context.samples_svg = svg.filename().string();
  }
  const std::string text = options.json   ? report::json(run, analysis, context)
                           : options.html ? report::html(run, analysis, context)
                                          : report::markdown(run, analysis, context);
  if (options.out.empty()) {
    print(text);
  } else if (!context.samples_svg.empty()) {
    write_with_picture(options.out, text, report::svg_samples(run));
  } else {
    base::write_file_atomically(options.out, text);
  }
  return kDone;
}

int beside_command(const Options& options) {
  if (!options.out.empty()) {
    refuse_to_overwrite(options.out);
  }
  std::error_code ignored;
  if (fs::equivalent(named_run(options.words[0]), named_run(options.words[1]), ignored)) {
    throw Error(ErrorCode::kBadInput, options.words[1],
                "is named twice; name two runs, one under each plan");
  }
  record::RunRecord runs[2];
  record::Analysis analyses[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const fs::path file = named_run(options.words[i]);
    runs[i] = store::read_run(file.string());
    runs[i].file = shown_path(file, manifest::find_project(fs::absolute(file).parent_path()));
    analyses[i] = stats::analyze(runs[i]);
  }
  const std::string text = report::beside({runs[0], analyses[0]}, {runs[1], analyses[1]});
  if (options.out.empty()) {
    print(text);
  } else {
    base::write_file_atomically(options.out, text);
  }
  return kDone;
}

int list_command(const Options& options) {
  Json json = Json::array();
  const auto project = project_here();
  const auto files = run_files(project, "", options.all);
  for (const auto& file : files) {
    const Listed listed = look_at(file);
    json.push_back(listed_json(listed));
    if (options.json) {
      continue;
    }
    print_line(fs::relative(file, project.root).string() + "  " +
               (listed.problem.empty() ? std::string(record::name(listed.run.state)) +
                                             (listed.words.empty() ? "" : "  " + listed.words)
                                       : listed.problem));
  }
  if (options.json) {
    print(json.dump_pretty());
  } else if (files.empty()) {
    print("no runs under " + (project.root / "results").string() + "\n");
  }
  return kDone;
}

int show_command(const Options& options) {
  const record::RunRecord run = store::read_run(named_run(options.words.front()).string());
  print_line("run       " + run.run_id + (run.exploratory ? " (exploratory)" : ""));
  print_line("manifest  " + run.manifest.id + ": " + run.manifest.hypothesis);
  print_line("state     " + std::string(record::name(run.state)) +
             (run.state_text.empty() ? "" : ": " + run.state_text) +
             (run.resumed > 0 ? "; resumed " + std::to_string(run.resumed) + " times" : ""));
  print_line("time      " + run.started_utc + " to " +
             (run.finished_utc.empty() ? "(no end)" : run.finished_utc));
  print_line("lock      " + (run.exploratory ? "none" : run.registration.lock_digest));
  print_line("head      " + run.head_digest);
  for (const auto& binding : run.bindings) {
    print_line("binding   " + binding.name + " " + binding.value);
  }
  print_counts(run);
  print_doubts(run);
  return kDone;
}

// What the reader brought must be there: without it his question would go unanswered.
void require_there(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (!path.empty() && !fs::exists(path, ignored)) {
    throw Error(ErrorCode::kBadInput, option + " " + path, "does not exist; name what you kept");
  }
}

// A fault of what the reader brought is no fault of the evidence.
void require_file(const std::string& option, const std::string& path) {
  require_there(option, path);
  std::error_code ignored;
  if (!path.empty() && !fs::is_regular_file(path, ignored)) {
    throw Error(ErrorCode::kBadInput, option + " " + path, "is no file; name the file you kept");
  }
}

int verify_command(const Options& options) {
  require_file("--anchor", options.anchor);
  require_file("--ca", options.ca);
  require_there("--mirror", options.mirror);
  const fs::path file = chosen_run(options);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    throw Error(ErrorCode::kBadInput, file.string(), "does not exist; name a run file");
  }
  const auto project = manifest::find_project(fs::absolute(file).parent_path());
  const evidence::VerifyResult found =
      verify_file(file, project, {options.ca, options.anchor, options.mirror});
  for (const auto& check : found.checks) {
    const std::string outcome(evidence::name(check.outcome));
    print_line("  " + outcome + std::string(10 - outcome.size(), ' ') + check.name +
               (check.detail.empty() ? "" : ": " + check.detail));
  }
  if (found.ending == evidence::Ending::kBroken) {
    throw Error(ErrorCode::kEvidence, file.string(), found.sentence);
  }
  print_line(found.sentence);
  return kDone;
}

int explain_command(const Options& options) {
  const std::string wanted = options.words.empty() ? "" : options.words.front();
  Json json = Json::array();
  for (const record::NoteEntry& note : all_notes()) {
    if (!wanted.empty() && wanted != note.code) {
      continue;
    }
    json.push_back(Json::object({{"code", note.code},
                                 {"severity", record::name(note.severity)},
                                 {"means", note.explanation},
                                 {"do", note.advice}}));
    if (!options.json) {
      print(std::string(note.code) + " (" + severity_text(note.severity) + ")\n  " +
            std::string(note.explanation) + "\n  " + std::string(note.advice) + "\n");
    }
  }
  if (json.as_array().empty()) {
    throw Error(ErrorCode::kBadInput, wanted,
                "is no note of this version; `abba explain` lists them all");
  }
  if (options.json) {
    print(json.dump_pretty());
  }
  return kDone;
}

}  // namespace abba::cli
