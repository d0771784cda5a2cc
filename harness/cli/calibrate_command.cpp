// `abba calibrate`: measures the harness itself. Every run is a file of its own, so that the
// command can be stopped and given again; what is stored is judged anew each time.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/calibration/calibration_record.h"
#include "harness/calibration/machine_class.h"
#include "harness/calibration/series.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/execute.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/reporting.h"
#include "harness/host/clock.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/parse.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;
using calibration::Series;
using calibration::StoredSeries;

record::Manifest parsed(const Json& json, const std::string& where) {
  const auto result = manifest::parse_text(json.dump_pretty(), "");
  if (!result.ok()) {
    throw manifest::MistakesError(where, result.mistakes);
  }
  return *result.manifest;
}

void require_fit(const record::Manifest& manifest, const std::string& where) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kBadInput, where, why);
  };
  if (manifest.independent_variable != "none") {
    refuse("is no A/A manifest; calibrate with one whose independent_variable is \"none\"");
  }
  if (manifest.protocol.preset != record::Preset::kStandard) {
    refuse("has another preset than standard, whose verdicts are what a calibration judges");
  }
  if (manifest.workloads.size() != 1) {
    refuse("has " + std::to_string(manifest.workloads.size()) +
           " workloads; a calibration takes one");
  }
  if (!manifest.success.harm_limit) {
    refuse("declares no success.harm_limit; give one of at least two pass standard deviations");
  }
  if (!manifest.a.program.empty() || !manifest.b.program.empty()) {
    refuse("has arms that are programs, which can inject no known effect; name a worker");
  }
}

class Calibration {
 public:
  explicit Calibration(const Options& options)
      : options_(options),
        base_(base::parse_json(base::read_file(options.manifest), options.manifest,
                               {.allow_comments = true})),
        loaded_(load_manifest(options.manifest)) {
    require_fit(loaded_.manifest, options.manifest);
    with_.harm_limit = *loaded_.manifest.success.harm_limit;
    with_.runs = options.runs;
    if (options.effect_percent > 0) {
      with_.effect = options.effect_percent / 100;
    }
    with_.quick = options.quick;
    with_.on_device = loaded_.manifest.device.wanted != "none";
    class_ = machine_class_of(options.machine_class, loaded_.manifest.device);
    // A quick one shows that the machinery works and is no record that a report may cite.
    folder_ = (options.quick ? loaded_.project.root / ".abba" / "calibration" / class_
                             : calibration_folder(loaded_.project, class_)) /
              loaded_.manifest.id;
  }

  int run() {
    start_ns_ = clock_.steady_ns();
    const Series equal = calibration::equal_series(with_);
    stored_ = {fill(equal)};
    if (stored_.front().runs.empty()) {
      throw Error(ErrorCode::kBroken, folder_.string(),
                  "holds no finished A/A run to calibrate with; give the command more time");
    }
    auto all =
        calibration::all_series(with_, calibration::request_of(stored_.front().runs.front()));
    require_series(all);
    std::for_each(all.begin() + 1, all.end(),
                  [this](const Series& series) { stored_.push_back(fill(series)); });
    return conclude();
  }

 private:
  void require_series(const std::vector<Series>& all) const {
    const auto named = [&](const Series& series) { return series.name == options_.series; };
    if (!options_.series.empty() && std::none_of(all.begin(), all.end(), named)) {
      std::string names;
      for (const Series& series : all) {
        names += (names.empty() ? "" : ", ") + series.name;
      }
      throw Error(ErrorCode::kBadInput, "--series",
                  "\"" + options_.series + "\" is no series; choose " + names);
    }
  }

  // The stored runs of a series, and new ones until it has its number or the time is up.
  StoredSeries fill(const Series& series) {
    StoredSeries stored{series, {}};
    const Json json = calibration::manifest_of(base_, series, loaded_.manifest.protocol.passes);
    Loaded variant{parsed(json, options_.manifest), loaded_.project};
    const std::string digest = manifest::digest(variant.manifest);
    for (const fs::path& file : store::run_files_in(folder_ / series.name)) {
      take(file, digest, stored);
    }
    const bool asked = options_.series.empty() || options_.series == series.name;
    while (asked && !options_.no_runs && static_cast<int>(stored.runs.size()) < series.runs &&
           !time_is_up()) {
      const fs::path file = next_file(series);
      say(series, static_cast<int>(stored.runs.size()) + 1);
      measure(variant, json, file);
      take(file, digest, stored);
    }
    missing_ += std::max(0, series.runs - static_cast<int>(stored.runs.size()));
    return stored;
  }

  // Why a run cannot count here; empty = it can.
  [[nodiscard]] std::string unfit(const record::RunRecord& run, const std::string& digest) const {
    if (run.state != record::RunState::kFinished) {
      return "it did not finish";
    }
    if (manifest::digest(run.manifest) != digest) {
      return "it ran another manifest";
    }
    const std::string of_run = calibration::machine_class(run.identity);
    return of_run == class_ ? "" : "its machine is of class " + of_run;
  }

  // A run that does not fit stays where it is and counts nowhere.
  void take(const fs::path& file, const std::string& digest, StoredSeries& stored) {
    record::RunRecord run = store::read_run(file.string());
    if (const std::string why = unfit(run, digest); !why.empty()) {
      complain(shown_path(file, loaded_.project) + " is passed over: " + why);
      return;
    }
    digests_.push_back({stored.series.name,
                        stored.series.name + "/" + store::run_stem(file) + ".sqlite",
                        run.head_digest});
    programs_.insert(run.program_version);
    for (const record::Binding& binding : run.bindings) {
      if (binding.name == "executable/A" || binding.name == "executable/B") {
        workers_.insert(binding.value);
      }
    }
    stored.runs.push_back(std::move(run));
  }

  fs::path next_file(const Series& series) const {
    for (int number = 1;; ++number) {
      const fs::path file = folder_ / series.name / fmt::format("{:03}.sqlite", number);
      std::error_code ignored;
      if (!fs::exists(file, ignored) && !fs::exists(file.string() + ".xz", ignored)) {
        return file;
      }
    }
  }

  void measure(const Loaded& variant, const Json& json, const fs::path& file) {
    Execution execution;
    execution.loaded = variant;
    execution.manifest_text = json.dump_pretty();
    execution.output = file;
    execution.quiet = true;
    execution.with_report = false;
    const int code = execute(execution);
    if (code != kDone) {
      throw Error(ErrorCode::kBroken, shown_path(file, loaded_.project),
                  "did not finish; give the same command again to go on");
    }
  }

  [[nodiscard]] double minutes() {
    return static_cast<double>(clock_.steady_ns() - start_ns_) / 6e10;
  }
  bool time_is_up() { return options_.minutes > 0 && minutes() >= options_.minutes; }

  void say(const Series& series, int number) {
    if (!options_.quiet) {
      complain(fmt::format("{}, run {} of {}, {:.1f} min so far", series.name, number, series.runs,
                           minutes()));
    }
  }

  calibration::CalibrationRecord record_of(calibration::Result result) {
    calibration::CalibrationRecord record;
    record.utc = base::utc_text(clock_.utc_seconds());
    record.machine_class = class_;
    record.manifest_id = loaded_.manifest.id;
    record.manifest_digest = manifest::digest(loaded_.manifest);
    record.programs = {programs_.begin(), programs_.end()};
    record.workers = {workers_.begin(), workers_.end()};
    record.result = std::move(result);
    record.runs = digests_;
    return record;
  }

  int conclude() {
    const auto record = record_of(
        calibration::judge_all(stored_, loaded_.manifest.protocol.looks, with_.harm_limit));
    const bool whole = missing_ == 0 || options_.record_now;
    if (options_.json) {
      print(calibration::to_json(record).dump_pretty());
    } else {
      print(class_ + ", " + std::to_string(digests_.size()) + " runs\n" +
            calibration::table(record.result));
    }
    if (!whole) {
      complain("not complete: " + std::to_string(missing_) +
               " runs are missing; give the same command again, or conclude with --record-now");
      return kNotDecided;
    }
    write(record);
    if (!record.result.holds()) {
      throw Error(ErrorCode::kEvidence, class_,
                  "the calibration does not hold; see the rows marked FAIL");
    }
    return kDone;
  }

  // The same content as the newest record is no new record.
  void write(const calibration::CalibrationRecord& record) {
    Json now = calibration::to_json(record);
    const auto files = record_files(folder_);
    if (!files.empty()) {
      Json last = base::parse_json_file(files.back().string());
      last.set("utc", record.utc);
      if (last == now) {
        complain("the record " + shown_path(files.back(), loaded_.project) + " says the same");
        return;
      }
    }
    std::string name = record.utc;
    std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
    const fs::path file = folder_ / (name + ".json");
    base::write_file_atomically(file.string(), now.dump_pretty());
    complain("record: " + shown_path(file, loaded_.project));
  }

  const Options& options_;
  Json base_;
  Loaded loaded_;
  calibration::SeriesOptions with_;
  std::string class_;
  fs::path folder_;
  host::SystemClock clock_;
  std::int64_t start_ns_ = 0;
  std::vector<StoredSeries> stored_;
  std::vector<calibration::RunDigest> digests_;
  std::set<std::string> programs_;
  std::set<std::string> workers_;
  int missing_ = 0;
};

}  // namespace

int calibrate_command(const Options& options) {
  return Calibration(options).run();
}

}  // namespace abba::cli
