#include "tests/unit/evidence/valid_run.h"

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "harness/manifest/lock.h"
#include "harness/manifest/parse.h"
#include "harness/record/names.h"
#include "harness/stats/analyze.h"
#include "harness/store/chain.h"
#include "harness/store/database.h"
#include "harness/store/record_json.h"
#include "tests/unit/store/random_run.h"

namespace abba::testing {
namespace {

constexpr char kManifest[] = R"({
  // comments are no part of the digest
  "id": "tamper", "hypothesis": "B takes less", "independent_variable": "rope",
  "arms": {"A": {"factors": {"rope": "slow"}}, "B": {"factors": {"rope": "fast"}}},
  "workloads": [{"id": "w1", "input": 1}, {"id": "w2", "input": 2}],
  "protocol": {"preset": "two-pass"}, "outputs": "bitwise",
  "success": {"claim": "disjoint-pass-means"}
})";

}  // namespace

record::RunRecord valid_run() {
  record::RunRecord run = random_run(41);
  const auto parsed = manifest::parse_text(kManifest, "/home/someone/tamper.json");
  if (!parsed.ok()) {
    throw base::Error(base::ErrorCode::kBadInput, "kManifest", manifest::text(parsed.mistakes));
  }
  run.manifest = *parsed.manifest;
  run.graph_captures.clear();  // the manifest asks for none
  run.analysis_version = stats::kAnalysisVersion;
  run.counts = {{"w1", 2, 5}, {"w2", 2, 5}};  // as random_run's slots hold them
  run.plan.looks = {2};
  for (record::PlannedPass& pass : run.plan.passes) {
    for (record::PlannedBlock& block : pass.blocks) {
      block.interleaved = false;
    }
  }
  for (record::Pass& pass : run.passes) {
    for (record::Block& block : pass.blocks) {
      block.taint.clear();
      block.boundary = "request";
      for (record::Slot& slot : block.slots) {
        slot.trace = {};  // nothing that counts is traced
      }
    }
  }
  record::Registration& lock = run.registration;
  lock.manifest_digest = base::sha256_hex(run.manifest.expanded.canonical());
  lock.decisions = base::Json::object({{"plan", store::to_json(run.plan)}});
  base::Json text = manifest::to_json(lock);
  text.erase("digest");
  lock.lock_digest = base::sha256_hex(text.canonical());
  return run;
}

store::RunTexts texts_of_valid(const record::RunRecord& run) {
  return {kManifest, manifest::to_json(run.registration)};
}

std::string write_valid(const std::string& path, const record::RunRecord& run) {
  record::RunRecord start = run;
  start.notes.resize(1);
  store::RunFile file = store::RunFile::create(path, start, texts_of_valid(run));
  file.commit_facts("preflight", {.bindings = run.bindings,
                                  .counts = run.counts,
                                  .workers = run.workers,
                                  .identity = run.identity,
                                  .output_checks = run.output_checks,
                                  .private_strings = {
                                      {"host", "host-of-someone"},
                                      {"worker/1/command", "/home/someone/bin/work --key hush"}}});
  for (const record::Pass& pass : run.passes) {
    commit_pass(file, run, pass);
  }
  file.commit_analysis(stats::analyze(store::read_run(path)));
  return file.finish(run.state, "", run.finished_utc);
}

void recompute_chain(const std::string& path) {
  store::Database database(path, store::Database::Mode::kWrite);
  store::ContentDigest content(database);
  std::string previous(64, '0');
  for (store::ChainEntry entry : store::read_chain(database)) {
    entry.content = content.digest(entry.seq);
    entry.previous = previous;
    entry.digest = store::entry_digest(entry);
    previous = entry.digest;
    database.prepare("UPDATE chain SET content = ?, previous = ?, digest = ? WHERE seq = ?")
        .run(entry.content, entry.previous, entry.digest, entry.seq);
  }
}

void recompute_verdicts(const std::string& path) {
  const record::Analysis analysis = stats::analyze(store::read_run(path));
  store::Database database(path, store::Database::Mode::kWrite);
  database.prepare("UPDATE document SET text = ? WHERE name = 'analysis'")
      .run(store::to_json(analysis).dump());
  for (std::size_t i = 0; i < analysis.verdicts.size(); ++i) {
    const record::Verdict& verdict = analysis.verdicts[i];
    database
        .prepare(
            "UPDATE verdict SET word = ?, effect = ?, low = ?, high = ?, level = ?, reason = "
            "? WHERE ordinal = ?")
        .run(record::name(verdict.word), verdict.effect, verdict.deciding.low,
             verdict.deciding.high, verdict.deciding.level, verdict.reason,
             static_cast<std::int64_t>(i));
  }
}

void recompute_index(std::vector<store::ArchiveEntry>& entries) {
  store::ArchiveEntry* index_entry = nullptr;
  base::Json files = base::Json::array();
  for (store::ArchiveEntry& entry : entries) {
    if (entry.name == "bundle.json") {
      index_entry = &entry;
      continue;
    }
    files.push_back(base::Json::object({{"name", entry.name},
                                        {"bytes", static_cast<std::int64_t>(entry.bytes.size())},
                                        {"sha256", base::sha256_hex(entry.bytes)}}));
  }
  ABBA_CHECK(index_entry != nullptr);
  base::Json index = base::parse_json(index_entry->bytes, "bundle.json");
  index.set("files", files);
  index_entry->bytes = index.dump_pretty();
}

}  // namespace abba::testing
