#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/store/chain.h"
#include "harness/store/open_run.h"
#include "harness/store/private_words.h"
#include "harness/store/record_json.h"
#include "harness/store/run_file.h"
#include "harness/store/slot_rows.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using record::RunRecord;

[[noreturn]] void malformed(const Database& database, const std::string& what) {
  throw Error(ErrorCode::kBadInput, database.path(), "is damaged: " + what);
}

int small(const Statement& row, int column, const Database& database) {
  const std::int64_t value = row.integer(column);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    malformed(database, "the number " + std::to_string(value) + " is out of range");
  }
  return static_cast<int>(value);
}

template <typename Enum>
Enum named(const Statement& row, int column, const Database& database) {
  const auto value = record::parse_name<Enum>(row.bytes(column));
  if (!value) {
    malformed(database, "the unknown word \"" + row.text(column).substr(0, 40) + "\"");
  }
  return *value;
}

std::string private_text(Database& database, const std::string& key) {
  Statement row = database.prepare("SELECT text FROM private WHERE key = ?");
  row.bind(0, key);
  return row.step() ? row.text(0) : std::string();
}

// The latest document of that name, or null.
Json document(Database& database, std::string_view name) {
  Statement row =
      database.prepare("SELECT text FROM document WHERE name = ? ORDER BY entry DESC LIMIT 1");
  row.bind(0, name);
  return row.step() ? base::parse_json(row.bytes(0), database.path() + ": " + std::string(name))
                    : Json();
}

void read_run_row(Database& database, RunRecord& run) {
  Statement row = database.prepare(
      "SELECT run_id, started_utc, exploratory, analysis_version, program_version, state, "
      "state_text, finished_utc, resumed FROM run");
  if (!row.step()) {
    malformed(database, "it holds no run");
  }
  run.run_id = row.text(0);
  run.started_utc = row.text(1);
  run.exploratory = row.integer(2) != 0;
  run.analysis_version = row.text(3);
  run.program_version = row.text(4);
  run.state = named<record::RunState>(row, 5, database);
  run.state_text = filled_text(database, row.bytes(6));
  run.finished_utc = row.text(7);
  run.resumed = small(row, 8, database);
  run.head_digest = database.text("SELECT digest FROM chain ORDER BY seq DESC LIMIT 1");
}

// Members that files of this layout may lack because they are older: the expanded form has them.
void add_later_members(const Json& expanded, Json& fields) {
  constexpr const char* kLater[] = {"reference_environment"};
  for (const char* name : kLater) {
    const Json* value = expanded.find(name);
    if (fields.find(name) == nullptr && value != nullptr) fields.set(name, *value);
  }
}

void read_declared(Database& database, RunRecord& run) {
  Json fields = document(database, "manifest_fields");
  const Json expanded = document(database, "manifest");
  if (!fields.is_object()) {
    malformed(database, "the document manifest_fields is no object");
  }
  add_later_members(expanded, fields);
  fields.set("expanded", expanded);
  fields.set("path", private_text(database, "manifest/path"));
  from_json(fields, database.path() + ": manifest", run.manifest);
  from_json(document(database, "registration"), database.path() + ": registration",
            run.registration);
  from_json(document(database, "plan"), database.path() + ": plan", run.plan);
}

void read_hello(Database& database, const Json& stored, const std::string& where,
                record::WorkerHello& hello) {
  Json json = stored;
  const std::string hidden = private_text(database, json.get_string("private", where));
  json.set("files_to_hash", Json::array());
  json.set("raw", Json());
  if (!hidden.empty()) {
    const Json members = base::parse_json(hidden, where);
    json.set("files_to_hash", members.at("files_to_hash", where));
    json.set("raw", members.at("raw", where));
  }
  from_json(json, where, hello);
}

// Answers of workers, by arm or by arm and workload: the latest of each name.
void read_answers(Database& database, RunRecord& run) {
  Statement rows = database.prepare(
      "SELECT name, text FROM document WHERE name LIKE '%/%' ORDER BY entry, name");
  while (rows.step()) {
    const std::string name = rows.text(0);
    const std::string where = database.path() + ": " + name;
    const std::string kind = name.substr(0, name.find('/'));
    const std::string of = name.substr(name.find('/') + 1);
    const Json json = filled_json(database, base::parse_json(rows.bytes(1), where));
    if (kind == "hello") {
      read_hello(database, json, where, run.hello[of]);
    } else if (kind == "load") {
      from_json(json, where, run.load[of]);
    } else if (kind == "prepared") {
      from_json(json, where, run.prepared[of]);
    }
  }
}

void read_workers(Database& database, RunRecord& run) {
  Statement rows = database.prepare(
      "SELECT id, arm, pass, pid, command_digest, exit_code, cpus, setup_ns, last_stderr FROM "
      "worker ORDER BY id");
  while (rows.step()) {
    record::WorkerProcess& worker = run.workers.emplace_back();
    worker.id = rows.integer(0);
    worker.arm = rows.text(1);
    worker.pass = small(rows, 2, database);
    worker.pid = rows.integer(3);
    worker.command_digest = rows.text(4);
    worker.exit_code = small(rows, 5, database);
    const std::string where = database.path() + ": worker " + std::to_string(worker.id);
    const std::string lines = private_text(database, rows.text(8));
    const Json json = Json::object(
        {{"cpus", base::parse_json(rows.bytes(6), where)},
         {"setup_ns", base::parse_json(rows.bytes(7), where)},
         {"last_stderr", lines.empty() ? Json::array() : base::parse_json(lines, where)}});
    for (const Json& cpu : json.get_array("cpus", where)) {
      worker.cpus.push_back(static_cast<int>(cpu.is_int() ? cpu.as_int() : -1));
    }
    for (const Json& line : json.get_array("last_stderr", where)) {
      worker.last_stderr.push_back(line.is_string() ? line.as_string() : line.dump());
    }
    if (!json.at("setup_ns").is_object()) {
      malformed(database, "the set-up times of a worker are no object");
    }
    for (const auto& [key, value] : json.at("setup_ns").as_object()) {
      worker.setup_ns[key] = json.at("setup_ns").get_double(key, where);
    }
  }
}

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  return row.kind(column) == Statement::Kind::kNull ? std::nullopt
                                                    : std::optional(row.integer(column));
}

void read_graph_captures(Database& database, RunRecord& run) {
  Statement rows = database.prepare(
      "SELECT worker, arm, workload, shape, first_run_ns, warm_runs, warm_ns, capture_ns, "
      "instantiate_ns, upload_ns, first_replay_ns, nodes, bytes FROM graph_capture ORDER BY id");
  while (rows.step()) {
    record::GraphCapture& capture = run.graph_captures.emplace_back();
    capture.worker = rows.integer(0);
    capture.arm = rows.text(1);
    capture.workload = rows.text(2);
    record::CaptureCosts& costs = capture.costs;
    costs.shape = rows.text(3);
    int column = 4;
    for (auto* cost : {&costs.first_run_ns, &costs.warm_runs, &costs.warm_ns, &costs.capture_ns,
                       &costs.instantiate_ns, &costs.upload_ns, &costs.first_replay_ns,
                       &costs.nodes, &costs.bytes}) {
      *cost = optional_integer(rows, column++);
    }
  }
}

void read_preflight(Database& database, RunRecord& run) {
  Statement bindings = database.prepare("SELECT name, value FROM binding ORDER BY id");
  while (bindings.step()) {
    run.bindings.push_back({bindings.text(0), bindings.text(1)});
  }
  Statement counts =
      database.prepare("SELECT workload, warmup, requests FROM slot_count ORDER BY id");
  while (counts.step()) {
    run.counts.push_back({counts.text(0), counts.integer(1), counts.integer(2)});
  }
  Statement identity = database.prepare(
      "SELECT source, identity.key, coalesce(value, private.text, '') FROM identity LEFT JOIN "
      "private ON private.key = 'identity/' || identity.id ORDER BY identity.id");
  while (identity.step()) {
    run.identity.push_back(
        {identity.text(0), identity.text(1), filled_text(database, identity.bytes(2))});
  }
  Statement checks = database.prepare(
      "SELECT input, stage, arm, against, digest, equal, within, nrms, max_abs, ulp, "
      "first_divergence FROM output_check ORDER BY id");
  while (checks.step()) {
    run.output_checks.push_back({checks.text(0), checks.text(1), checks.text(2), checks.text(3),
                                 checks.text(4), checks.integer(5) != 0, checks.integer(6) != 0,
                                 checks.real(7), checks.real(8), checks.real(9), checks.text(10)});
  }
  read_graph_captures(database, run);
  Statement notes = database.prepare("SELECT code, severity, place, text FROM note ORDER BY id");
  while (notes.step()) {
    run.notes.push_back({notes.text(0), named<record::Severity>(notes, 1, database), notes.text(2),
                         filled_text(database, notes.bytes(3))});
  }
}

void read_environment(Database& database, RunRecord& run) {
  Statement rows = database.prepare(
      "SELECT coalesce(slot, -1), time_ns, moment, key, value, unit, text FROM environment "
      "ORDER BY id");
  while (rows.step()) {
    run.environment.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3),
                               rows.real(4), rows.text(5), filled_text(database, rows.bytes(6))});
  }
}

void read_passes(Database& database, RunRecord& run) {
  Statement rows = database.prepare(
      "SELECT id, position, phase, superseded, why, start_ns, end_ns FROM pass ORDER BY id");
  while (rows.step()) {
    record::Pass& pass = run.passes.emplace_back();
    pass.id = rows.integer(0);
    pass.index = small(rows, 1, database);
    pass.phase = named<record::Phase>(rows, 2, database);
    pass.superseded = rows.integer(3) != 0;
    pass.why = filled_text(database, rows.bytes(4));
    pass.start_ns = rows.integer(5);
    pass.end_ns = rows.integer(6);
  }
}

void read_blocks(Database& database, RunRecord& run) {
  std::unordered_map<std::int64_t, record::Pass*> passes;
  for (record::Pass& pass : run.passes) {
    passes[pass.id] = &pass;
  }
  Statement rows = database.prepare(
      "SELECT id, pass, phase, workload, boundary, slot_order, taint, failed, failure FROM block "
      "ORDER BY id");
  while (rows.step()) {
    const auto pass = passes.find(rows.integer(1));
    if (pass == passes.end()) {
      malformed(database, "a block belongs to no pass");
    }
    record::Block& block = pass->second->blocks.emplace_back();
    block.id = rows.integer(0);
    block.pass = pass->second->index;
    block.phase = named<record::Phase>(rows, 2, database);
    block.workload = rows.text(3);
    block.boundary = rows.text(4);
    block.slot_order = rows.text(5);
    block.taint = rows.text(6);
    block.failed = rows.integer(7) != 0;
    block.failure = filled_text(database, rows.bytes(8));
  }
}

SlotsById read_slots(Database& database, RunRecord& run) {
  std::unordered_map<std::int64_t, record::Block*> blocks;
  for (record::Pass& pass : run.passes) {
    for (record::Block& block : pass.blocks) {
      blocks[block.id] = &block;
    }
  }
  Statement rows = database.prepare(
      "SELECT id, block, position, arm, worker, start_ns, end_ns, idle_gap_ns, allocations, "
      "failures, digest FROM slot ORDER BY id");
  while (rows.step()) {
    const auto block = blocks.find(rows.integer(1));
    if (block == blocks.end()) {
      malformed(database, "a slot belongs to no block");
    }
    record::Slot& slot = block->second->slots.emplace_back();
    slot.id = rows.integer(0);
    slot.block = rows.integer(1);
    slot.position = small(rows, 2, database);
    slot.arm = rows.text(3);
    slot.worker = rows.integer(4);
    slot.start_ns = rows.integer(5);
    slot.end_ns = rows.integer(6);
    slot.idle_gap_ns = rows.integer(7);
    slot.allocations = rows.integer(8);
    slot.failures = rows.integer(9);
    slot.digest = rows.text(10);
  }
  SlotsById slots;  // only now: the vectors no longer grow
  for (auto& [id, block] : blocks) {
    for (record::Slot& slot : block->slots) {
      slots[slot.id] = &slot;
    }
  }
  return slots;
}

}  // namespace

RunRecord read_run(const std::string& path, const ReadOptions& options) {
  Database database = open_run(path, {.check = options.check, .max_bytes = options.max_bytes});
  database.execute("BEGIN");  // one state of the file, also while the run goes on
  RunRecord run;
  run.file = path;
  read_run_row(database, run);
  read_declared(database, run);
  read_answers(database, run);
  read_preflight(database, run);
  read_workers(database, run);
  read_passes(database, run);
  read_blocks(database, run);
  const SlotsById slots = read_slots(database, run);
  if (options.samples) {
    read_samples(database, slots);
    read_traces(database, slots);
  }
  if (options.environment) {
    read_environment(database, run);
  }
  return run;
}

RunTexts read_texts(const std::string& path) {
  Database database = open_run(path, {});
  return {database.text("SELECT text FROM document WHERE name = 'manifest_text'"),
          document(database, "lock")};
}

std::optional<record::Analysis> read_analysis(const std::string& path) {
  Database database = open_run(path, {});
  const Json json = document(database, "analysis");
  if (json.is_null()) {
    return std::nullopt;
  }
  record::Analysis analysis;
  from_json(json, path + ": analysis", analysis);
  analysis.headline = filled_text(database, analysis.headline);
  for (record::Verdict& verdict : analysis.verdicts) {
    verdict.reason = filled_text(database, verdict.reason);
  }
  for (record::Note& note : analysis.notes) {
    note.text = filled_text(database, note.text);
  }
  return analysis;
}

}  // namespace abba::store
