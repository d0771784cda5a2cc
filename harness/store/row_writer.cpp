#include "harness/store/row_writer.h"

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/store/chain.h"
#include "harness/store/record_json.h"

namespace abba::store {
namespace {

using base::Json;

// Identity that names a machine or a person rather than describing one.
bool is_private_identity(const record::Identity& identity) {
  static constexpr std::array<std::string_view, 9> kKeys = {
      "hostname", "nodename", "domain",          "user",   "machine_id",
      "serial",   "cwd",      "executable_path", "command"};
  return std::find(kKeys.begin(), kKeys.end(), identity.key) != kKeys.end();
}

// Rows of one INSERT: opening and closing its cursors costs as much as some rows.
constexpr std::size_t kSampleRows = 16;

std::string insert_samples(std::size_t rows) {
  std::string sql =
      "INSERT INTO sample (slot, seq, warmup, t_start_ns, duration_ns, status) VALUES ";
  for (std::size_t row = 0; row < rows; ++row) {
    sql += row == 0 ? "(?, ?, ?, ?, ?, ?)" : ", (?, ?, ?, ?, ?, ?)";
  }
  return sql;
}

int bind_sample(Statement& row, int index, std::int64_t slot_id, const record::Sample& sample) {
  row.bind(index++, slot_id);
  row.bind(index++, sample.seq);
  row.bind(index++, sample.warmup);
  row.bind(index++, sample.start_ns);
  row.bind(index++, sample.duration_ns);
  row.bind(index++, static_cast<int>(sample.status));
  return index;
}

template <typename Map>
Json object_of(const Map& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) {
    object.set(key, Json(value));
  }
  return object;
}

template <typename List>
Json array_of(const List& list) {
  Json array = Json::array();
  for (const auto& item : list) {
    array.push_back(Json(item));
  }
  return array;
}

}  // namespace

RowWriter::RowWriter(Database& database)
    : database_(database),
      block_(database.prepare(
          "INSERT INTO block (id, entry, pass, phase, workload, boundary, slot_order, taint, "
          "failed, failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
      slot_(
          database.prepare("INSERT INTO slot (id, block, position, arm, worker, start_ns, end_ns, "
                           "idle_gap_ns, allocations, failures, digest) VALUES "
                           "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
      sample_(database.prepare(insert_samples(1))),
      samples_(database.prepare(insert_samples(kSampleRows))),
      value_(database.prepare("INSERT INTO value (slot, ordinal, seq, metric, value) VALUES "
                              "(?, ?, ?, ?, ?)")),
      span_(database.prepare("INSERT INTO span (slot, ordinal, seq, name, parent, start_ns, "
                             "duration_ns, count) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")),
      environment_(
          database.prepare("INSERT INTO environment (entry, slot, time_ns, moment, key, value, "
                           "unit, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")) {}

void RowWriter::set_entry(std::int64_t entry) {
  entry_ = entry;
  changes_ = 0;
  written_.clear();
}

void RowWriter::run(const record::RunRecord& start) {
  database_
      .prepare(
          "INSERT INTO run (id, entry, run_id, manifest_id, lock_digest, started_utc, "
          "exploratory, analysis_version, program_version, state, state_text, finished_utc, "
          "resumed) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, 'running', '', '', 0)")
      .run(entry_, start.run_id, start.manifest.id, start.registration.lock_digest,
           start.started_utc, start.exploratory, start.analysis_version, start.program_version);
}

void RowWriter::document(std::string_view name, std::string_view text) {
  database_.prepare("INSERT INTO document (entry, name, text) VALUES (?, ?, ?)")
      .run(entry_, name, text);
}

void RowWriter::manifest(const record::Manifest& manifest) {
  document("manifest", manifest.expanded.dump());
  Json fields = to_json(manifest);
  fields.erase("expanded");
  fields.erase("path");
  document("manifest_fields", fields.dump());
  if (!manifest.path.empty()) {
    private_string("manifest/path", manifest.path);
  }
  Statement arms =
      database_.prepare("INSERT INTO arm (id, entry, label, factors) VALUES (?, ?, ?, ?)");
  arms.run("A", entry_, manifest.a.label, object_of(manifest.a.factors).dump());
  arms.run("B", entry_, manifest.b.label, object_of(manifest.b.factors).dump());
  Statement workloads = database_.prepare(
      "INSERT INTO workload (id, entry, position, work_items, work_bytes, work_flops) VALUES "
      "(?, ?, ?, ?, ?, ?)");
  int position = 0;
  for (const record::Workload& workload : manifest.workloads) {
    workloads.run(workload.id, entry_, position++, workload.work.items, workload.work.bytes,
                  workload.work.flops);
  }
}

std::string RowWriter::private_string(const std::string& key, const std::string& text) {
  Statement known = database_.prepare("SELECT text FROM private WHERE key = ?");
  known.bind(0, key);
  std::string unique_key = key;
  if (known.step()) {
    if (known.bytes(0) == text) {
      return key;
    }
    unique_key += '#';
    unique_key += std::to_string(entry_);
  }
  known.reset();
  constexpr std::size_t kSaltBytes = 16;
  const std::string salt = random_hex(kSaltBytes);
  database_
      .prepare("INSERT INTO private (key, entry, commitment, salt, text) VALUES (?, ?, ?, ?, ?)")
      .run(unique_key, entry_, commitment(salt, text), salt, text);
  return unique_key;
}

void RowWriter::change(const char* table, std::int64_t row, const char* column,
                       const std::string& value) {
  const std::string where = " WHERE id = " + std::to_string(row);
  if (database_.text(std::string("SELECT ") + column + " FROM " + table + where) == value) {
    return;
  }
  database_.prepare(std::string("UPDATE ") + table + " SET " + column + " = ?" + where).run(value);
  database_
      .prepare(
          "INSERT INTO change (entry, ordinal, tbl, row, col, value) VALUES "
          "(?, ?, ?, ?, ?, ?)")
      .run(entry_, changes_++, table, row, column, value);
}

void RowWriter::facts(const Facts& facts) {
  for (const auto& [key, text] : facts.private_strings) {
    private_string(key, text);
  }
  for (const record::Binding& item : facts.bindings) {
    binding(item);
  }
  for (const auto& [arm, item] : facts.hello) {
    hello(arm, item);
  }
  for (const auto& [arm, item] : facts.load) {
    document("load/" + arm, withheld(to_json(item)).dump());
  }
  for (const auto& [name, item] : facts.prepared) {
    document("prepared/" + name, withheld(to_json(item)).dump());
  }
  for (const record::SlotCounts& item : facts.counts) {
    slot_count(item);
  }
  for (const record::WorkerProcess& item : facts.workers) {
    worker(item);
  }
  for (const record::Identity& item : facts.identity) {
    identity(item);
  }
  environment(facts.environment);
  for (const record::OutputCheck& item : facts.output_checks) {
    output_check(item);
  }
  for (const record::GraphCapture& item : facts.graph_captures) {
    graph_capture(item);
  }
  notes(facts.notes);
}

void RowWriter::binding(const record::Binding& binding) {
  Statement known = database_.prepare("SELECT value FROM binding WHERE name = ?");
  known.bind(0, binding.name);
  if (known.step()) {
    if (known.bytes(0) == binding.value) {
      return;
    }
    throw base::Error(base::ErrorCode::kMismatch, binding.name,
                      "was bound to " + known.text(0) + " when the run began and is " +
                          binding.value + " now; start a new run");
  }
  database_.prepare("INSERT INTO binding (entry, name, value) VALUES (?, ?, ?)")
      .run(entry_, binding.name, binding.value);
}

void RowWriter::slot_count(const record::SlotCounts& counts) {
  Statement known =
      database_.prepare("SELECT warmup = ? AND requests = ? FROM slot_count WHERE workload = ?");
  known.bind(0, counts.warmup);
  known.bind(1, counts.requests);
  known.bind(2, counts.workload);
  if (known.step()) {
    if (known.integer(0) != 0) {
      return;
    }
    throw base::Error(base::ErrorCode::kMismatch, counts.workload,
                      "its slot counts were bound by feasibility and cannot change; start a new "
                      "run");
  }
  database_
      .prepare("INSERT INTO slot_count (entry, workload, warmup, requests) VALUES (?, ?, ?, ?)")
      .run(entry_, counts.workload, counts.warmup, counts.requests);
}

// The files and the message word for word hold paths of the machine: they are private.
void RowWriter::hello(const std::string& arm, const record::WorkerHello& hello) {
  Json json = to_json(hello);
  Json hidden = Json::object();
  for (const char* name : {"files_to_hash", "raw"}) {
    hidden.set(name, json.at(name));
    json.erase(name);
  }
  json = withheld(json);
  json.set("private", private_string("hello/" + arm, hidden.dump()));
  document("hello/" + arm, json.dump());
}

void RowWriter::worker(const record::WorkerProcess& worker) {
  Statement known = database_.prepare("SELECT 1 FROM worker WHERE id = ?");
  known.bind(0, worker.id);
  if (!known.step()) {
    database_
        .prepare(
            "INSERT INTO worker (id, entry, arm, pass, pid, command_digest, exit_code, cpus, "
            "setup_ns, last_stderr) VALUES (?, ?, ?, ?, ?, ?, 0, '[]', '{}', '')")
        .run(worker.id, entry_, worker.arm, worker.pass, worker.pid, worker.command_digest);
  }
  known.reset();
  change("worker", worker.id, "exit_code", std::to_string(worker.exit_code));
  change("worker", worker.id, "cpus", array_of(worker.cpus).dump());
  change("worker", worker.id, "setup_ns", object_of(worker.setup_ns).dump());
  if (!worker.last_stderr.empty()) {
    const std::string key = "worker/" + std::to_string(worker.id) + "/stderr";
    change("worker", worker.id, "last_stderr",
           private_string(key, array_of(worker.last_stderr).dump()));
  }
}

void RowWriter::identity(const record::Identity& identity) {
  const std::int64_t id = database_.integer("SELECT coalesce(max(id), 0) + 1 FROM identity");
  Statement row = database_.prepare(
      "INSERT INTO identity (id, entry, source, key, value) VALUES (?, ?, ?, ?, ?)");
  if (is_private_identity(identity)) {
    private_string("identity/" + std::to_string(id), identity.value);
    row.run(id, entry_, identity.source, identity.key, nullptr);
  } else {
    row.run(id, entry_, identity.source, identity.key, withheld(identity.value));
  }
}

void RowWriter::environment(const std::vector<record::EnvironmentReading>& readings) {
  for (const record::EnvironmentReading& reading : readings) {
    environment_.bind(0, entry_);
    if (reading.slot < 0) {
      environment_.bind(1, nullptr);
    } else {
      environment_.bind(1, reading.slot);
    }
    environment_.bind(2, reading.time_ns);
    environment_.bind(3, reading.moment);
    environment_.bind(4, reading.key);
    environment_.bind(5, reading.value);
    environment_.bind(6, reading.unit);
    environment_.bind(7, withheld(reading.text));
    environment_.step();
  }
}

void RowWriter::output_check(const record::OutputCheck& check) {
  database_
      .prepare(
          "INSERT INTO output_check (entry, input, stage, arm, against, digest, equal, within, "
          "nrms, max_abs, ulp, first_divergence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(entry_, check.input, check.stage, check.arm, check.against, check.digest, check.equal,
           check.within, check.nrms, check.max_abs, check.ulp, check.first_divergence);
}

void RowWriter::graph_capture(const record::GraphCapture& capture) {
  const record::CaptureCosts& costs = capture.costs;
  database_
      .prepare(
          "INSERT INTO graph_capture (entry, worker, arm, workload, shape, first_run_ns, "
          "warm_runs, warm_ns, capture_ns, instantiate_ns, upload_ns, first_replay_ns, nodes, "
          "bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(entry_, capture.worker, capture.arm, capture.workload, costs.shape, costs.first_run_ns,
           costs.warm_runs, costs.warm_ns, costs.capture_ns, costs.instantiate_ns, costs.upload_ns,
           costs.first_replay_ns, costs.nodes, costs.bytes);
}

void RowWriter::notes(const std::vector<record::Note>& notes) {
  if (notes.empty()) {
    return;
  }
  Statement row = database_.prepare(
      "INSERT INTO note (entry, code, severity, place, text) VALUES (?, ?, ?, ?, ?)");
  for (const record::Note& note : notes) {
    row.run(entry_, note.code, record::name(note.severity), note.where, withheld(note.text));
  }
}

void RowWriter::pass(const record::Pass& pass) {
  database_
      .prepare(
          "INSERT INTO pass (id, entry, position, phase, start_ns, end_ns, superseded, why) "
          "VALUES (?, ?, ?, ?, ?, 0, 0, '')")
      .run(pass.id, entry_, pass.index, record::name(pass.phase), pass.start_ns);
}

void RowWriter::block(std::int64_t pass_id, const record::Block& block) {
  block_.run(block.id, entry_, pass_id, record::name(block.phase), block.workload, block.boundary,
             block.slot_order, block.taint, block.failed, withheld(block.failure));
  for (const record::Slot& item : block.slots) {
    slot(block.id, item);
  }
}

void RowWriter::slot(std::int64_t block_id, const record::Slot& slot) {
  slot_.run(slot.id, block_id, slot.position, slot.arm, slot.worker, slot.start_ns, slot.end_ns,
            slot.idle_gap_ns, slot.allocations, slot.failures, slot.digest);
  samples(slot.id, slot.samples);
  int ordinal = 0;
  for (const record::Value& value : slot.values) {
    value_.run(slot.id, ordinal++, value.seq, value.metric, value.value);
  }
  ordinal = 0;
  for (const record::Span& span : slot.spans) {
    span_.run(slot.id, ordinal++, span.seq, span.name, span.parent, span.start_ns, span.duration_ns,
              span.count);
  }
}

void RowWriter::samples(std::int64_t slot_id, const std::vector<record::Sample>& samples) {
  for (const record::Sample& sample : samples) {
    written_.add(slot_id, sample.seq, sample.warmup, sample.start_ns, sample.duration_ns,
                 static_cast<int>(sample.status));
  }
  std::size_t next = 0;
  for (; next + kSampleRows <= samples.size(); next += kSampleRows) {
    int index = 0;
    for (std::size_t row = 0; row < kSampleRows; ++row) {
      index = bind_sample(samples_, index, slot_id, samples[next + row]);
    }
    samples_.step();
  }
  for (; next < samples.size(); ++next) {
    bind_sample(sample_, 0, slot_id, samples[next]);
    sample_.step();
  }
}

}  // namespace abba::store
