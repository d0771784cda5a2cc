// The SQL of each layout of the run file. A layout that was published is never edited: a change is
// a new step after it. What the columns mean is in README.md; `entry` is the commit (row of chain)
// that brought a row. Columns marked M may change later, and every change is a row of `change`.
#pragma once

namespace abba::store {

inline constexpr char kSchemaVersion1[] = R"sql(
CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, description TEXT NOT NULL) STRICT;
CREATE TABLE chain (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL,
  previous TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE TABLE change (entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  ordinal INTEGER NOT NULL, tbl TEXT NOT NULL, row INTEGER NOT NULL, col TEXT NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY (entry, ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE private (key TEXT PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  commitment TEXT NOT NULL, salt TEXT, text TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE document (entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (entry, name)) STRICT, WITHOUT ROWID;

CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1),
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  run_id TEXT NOT NULL, manifest_id TEXT NOT NULL, lock_digest TEXT NOT NULL,
  started_utc TEXT NOT NULL, exploratory INTEGER NOT NULL, analysis_version TEXT NOT NULL,
  program_version TEXT NOT NULL,
  state TEXT NOT NULL /* M */, state_text TEXT NOT NULL /* M */, finished_utc TEXT NOT NULL /* M */,
  resumed INTEGER NOT NULL /* M */) STRICT;
CREATE TABLE arm (id TEXT PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  label TEXT NOT NULL, factors TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE workload (id TEXT PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL, work_items REAL, work_bytes REAL, work_flops REAL)
  STRICT, WITHOUT ROWID;
CREATE TABLE binding (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  name TEXT NOT NULL UNIQUE, value TEXT NOT NULL) STRICT;
CREATE TABLE slot_count (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  workload TEXT NOT NULL UNIQUE REFERENCES workload, warmup INTEGER NOT NULL,
  requests INTEGER NOT NULL) STRICT;
CREATE TABLE worker (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  arm TEXT NOT NULL, pass INTEGER NOT NULL, pid INTEGER NOT NULL, command_digest TEXT NOT NULL,
  exit_code INTEGER NOT NULL /* M */, cpus TEXT NOT NULL /* M */, setup_ns TEXT NOT NULL /* M */,
  last_stderr TEXT NOT NULL /* M: a key of private, or empty */) STRICT;
CREATE TABLE identity (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  source TEXT NOT NULL, key TEXT NOT NULL, value TEXT /* NULL: in private, key identity/ID */)
  STRICT;

CREATE TABLE pass (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL, phase TEXT NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL /* M */, superseded INTEGER NOT NULL /* M */, why TEXT NOT NULL /* M */)
  STRICT;
CREATE TABLE block (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  pass INTEGER NOT NULL REFERENCES pass, phase TEXT NOT NULL,
  workload TEXT NOT NULL REFERENCES workload, boundary TEXT NOT NULL, slot_order TEXT NOT NULL,
  taint TEXT NOT NULL, failed INTEGER NOT NULL, failure TEXT NOT NULL) STRICT;
CREATE TABLE slot (id INTEGER PRIMARY KEY, block INTEGER NOT NULL REFERENCES block,
  position INTEGER NOT NULL, arm TEXT NOT NULL REFERENCES arm, worker INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, idle_gap_ns INTEGER NOT NULL,
  allocations INTEGER NOT NULL, failures INTEGER NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE TABLE sample (slot INTEGER NOT NULL REFERENCES slot, seq INTEGER NOT NULL,
  warmup INTEGER NOT NULL, t_start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  status INTEGER NOT NULL, PRIMARY KEY (slot, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE value (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  seq INTEGER NOT NULL, metric TEXT NOT NULL, value REAL, PRIMARY KEY (slot, ordinal))
  STRICT, WITHOUT ROWID;
CREATE TABLE span (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  seq INTEGER NOT NULL, name TEXT NOT NULL, parent TEXT NOT NULL, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (slot, ordinal))
  STRICT, WITHOUT ROWID;
CREATE TABLE environment (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  slot INTEGER, time_ns INTEGER NOT NULL, moment TEXT NOT NULL, key TEXT NOT NULL,
  value REAL, unit TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE output_check (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  input TEXT NOT NULL, stage TEXT NOT NULL, arm TEXT NOT NULL, against TEXT NOT NULL,
  digest TEXT NOT NULL, equal INTEGER NOT NULL, within INTEGER NOT NULL, nrms REAL, max_abs REAL,
  ulp REAL, first_divergence TEXT NOT NULL) STRICT;
CREATE TABLE note (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  code TEXT NOT NULL, severity TEXT NOT NULL, place TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE verdict (entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  ordinal INTEGER NOT NULL, workload TEXT NOT NULL, metric TEXT NOT NULL, boundary TEXT NOT NULL,
  is_primary INTEGER NOT NULL, word TEXT NOT NULL, effect REAL, low REAL, high REAL, level REAL,
  reason TEXT NOT NULL, PRIMARY KEY (entry, ordinal)) STRICT, WITHOUT ROWID;

CREATE TABLE graph_capture (id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES chain DEFERRABLE INITIALLY DEFERRED,
  worker INTEGER NOT NULL, arm TEXT NOT NULL REFERENCES arm,
  workload TEXT NOT NULL REFERENCES workload, shape TEXT NOT NULL, first_run_ns INTEGER,
  warm_runs INTEGER, warm_ns INTEGER, capture_ns INTEGER, instantiate_ns INTEGER,
  upload_ns INTEGER, first_replay_ns INTEGER, nodes INTEGER, bytes INTEGER) STRICT;
CREATE TABLE trace_kernel (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  name TEXT NOT NULL, device INTEGER NOT NULL, stream INTEGER NOT NULL,
  correlation INTEGER NOT NULL, graph_node INTEGER, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER,
  block_y INTEGER, block_z INTEGER, registers INTEGER, static_shared_bytes INTEGER,
  dynamic_shared_bytes INTEGER, PRIMARY KEY (slot, ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE trace_copy (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL, device INTEGER NOT NULL, stream INTEGER NOT NULL,
  correlation INTEGER NOT NULL, bytes INTEGER NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, PRIMARY KEY (slot, ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE trace_api (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  name TEXT NOT NULL, thread INTEGER NOT NULL, correlation INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, PRIMARY KEY (slot, ordinal))
  STRICT, WITHOUT ROWID;
CREATE TABLE trace_range (slot INTEGER NOT NULL REFERENCES slot, ordinal INTEGER NOT NULL,
  name TEXT NOT NULL, thread INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  PRIMARY KEY (slot, ordinal)) STRICT, WITHOUT ROWID;

CREATE INDEX block_entry ON block (entry);
CREATE INDEX slot_block ON slot (block);
CREATE INDEX environment_entry ON environment (entry);
CREATE INDEX environment_slot ON environment (slot);
CREATE INDEX note_entry ON note (entry);

CREATE VIEW v_slot AS
  WITH ranked AS (
    SELECT slot, duration_ns, row_number() OVER (PARTITION BY slot ORDER BY duration_ns) AS place,
      count(*) OVER (PARTITION BY slot) AS n
    FROM sample WHERE warmup = 0 AND status = 0),
  summary AS (
    SELECT slot, n, avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns,
      max(duration_ns) AS max_ns,
      avg(CASE WHEN place IN ((n + 1) / 2, n / 2 + 1) THEN duration_ns END) AS median_ns,
      avg(CASE WHEN place IN ((n + 1) / 2, n / 2 + 1) THEN ln(max(duration_ns, 1)) END)
        AS median_log
    FROM ranked GROUP BY slot)
  SELECT slot.id AS slot, pass.id AS pass, pass.position AS pass_index, pass.phase,
    block.id AS block,
    block.workload, block.boundary, slot.position, slot.arm, coalesce(n, 0) AS n, slot.failures,
    mean_ns, median_ns, median_log, min_ns, max_ns,
    pass.superseded = 0 AND block.failed = 0 AND pass.phase = 'measured' AS counts,
    block.taint
  FROM slot JOIN block ON block.id = slot.block JOIN pass ON pass.id = block.pass
    LEFT JOIN summary ON summary.slot = slot.id;
CREATE VIEW v_contrast AS
  SELECT pass, pass_index, block, workload, boundary, taint,
    avg(CASE arm WHEN 'B' THEN median_log END) - avg(CASE arm WHEN 'A' THEN median_log END)
      AS contrast
  FROM v_slot WHERE counts GROUP BY block;
CREATE VIEW v_pass AS
  SELECT pass, pass_index, phase, workload, boundary, arm, sum(n) AS n, sum(failures) AS failures,
    sum(mean_ns * n) / sum(n) AS mean_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns
  FROM v_slot WHERE counts GROUP BY pass, workload, boundary, arm;
CREATE VIEW v_verdict_input AS
  WITH walsh AS (
    SELECT a.workload, a.boundary, a.pass, a.pass_index, (a.contrast + b.contrast) / 2 AS average
    FROM v_contrast a JOIN v_contrast b ON b.pass = a.pass AND b.workload = a.workload
      AND b.boundary = a.boundary AND b.block >= a.block
    WHERE a.contrast IS NOT NULL AND b.contrast IS NOT NULL),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY pass, workload, boundary ORDER BY average) AS place,
      count(*) OVER (PARTITION BY pass, workload, boundary) AS n
    FROM walsh)
  SELECT workload, boundary, pass, pass_index,
    avg(CASE WHEN place IN ((n + 1) / 2, n / 2 + 1) THEN average END) AS pass_value
  FROM ranked GROUP BY workload, boundary, pass ORDER BY workload, pass_index;
)sql";

}  // namespace abba::store
