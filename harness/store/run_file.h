// One SQLite file per run: written block by block while the run goes on, one plain file at its end,
// read by everything else. RunFile owns the open file of a run under way. Refuses: a path that
// exists, a file of another program or of a newer version, a malformed file; each with one
// sentence. What the tables mean and how the chain is computed: README.md beside this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/store/result_sink.h"

namespace abba::store {

// What is stored word for word beside the parsed forms.
struct RunTexts {
  std::string manifest_text;  // as the person wrote it, comments included
  base::Json lock;            // the whole lock file; null for exploratory runs
};

struct RunFileOptions {
  std::int64_t max_bytes = 0;  // refuse to grow beyond (as on a full disk); 0 = no limit
  int busy_timeout_ms = 5000;  // how long to wait for another process that holds the file
};

class RunFile final : public ResultSink {
 public:
  // Creates the file (its folder must exist) and commits what is known before preflight: of `start`
  // run_id, started_utc, exploratory, analysis_version, program_version, manifest, registration,
  // plan, and the notes so far. Throws Error(kBroken) if the path exists or cannot be written.
  static RunFile create(const std::string& path, const record::RunRecord& start,
                        const RunTexts& texts, const RunFileOptions& options = {});

  // Opens an unfinished, stopped or broken run to go on with it: state running, `resumed` one
  // higher, the chain appended to. Which passes to supersede is the caller's decision (read_run).
  // Throws Error(kBadInput) for a finished run, a compressed or malformed file, Error(kPreflight)
  // for one that another process is still writing.
  static RunFile open_for_resume(const std::string& path, const RunFileOptions& options = {});

  RunFile(RunFile&&) noexcept;
  RunFile& operator=(RunFile&&) noexcept;
  ~RunFile() override;  // an unfinished run stays `running`, as after a crash

  void commit_facts(std::string_view kind, const Facts& facts) override;
  void begin_pass(const record::Pass& pass) override;
  void end_pass(std::int64_t pass_id, std::int64_t end_ns) override;
  void supersede_pass(std::int64_t pass_id, std::string_view why) override;
  void commit_block(std::int64_t pass_id, const record::Block& block,
                    const std::vector<record::EnvironmentReading>& environment,
                    const std::vector<record::Note>& notes) override;
  void commit_analysis(const record::Analysis& analysis) override;
  // Also turns the journal off, so that exactly one file is left, and closes it.
  std::string finish(record::RunState state, std::string_view text,
                     std::string_view finished_utc) override;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::string head_digest() const;  // of the chain so far

 private:
  struct Impl;
  explicit RunFile(std::unique_ptr<Impl> impl);
  static std::unique_ptr<Impl> open_to_write(const std::string& path,
                                             const RunFileOptions& options);
  std::unique_ptr<Impl> impl_;
};

// Whether a run still writes this file: false for one that ended, and for one whose harness died.
bool is_being_written(const std::string& path);

struct ReadOptions {
  bool samples = true;      // without: slots have no samples, spans, values and traces (listings)
  bool environment = true;  // without: no readings
  bool check = true;        // SQLite's own check of the whole file first
  std::size_t max_bytes = std::size_t{1} << 30U;  // of a .xz file, decompressed
};

// The run in a file, `.sqlite` or `.sqlite.xz`, finished or not. The file is not trusted: opened
// read-only, its tables must be exactly ours. Redacted private strings read as empty. Throws
// Error(kBadInput) with one sentence if it is no run file or malformed.
record::RunRecord read_run(const std::string& path, const ReadOptions& options = {});
RunTexts read_texts(const std::string& path);
// The stored cache of verdicts, if the run got that far.
std::optional<record::Analysis> read_analysis(const std::string& path);

}  // namespace abba::store
