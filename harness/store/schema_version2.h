// The second layout of the run file: v_verdict_input gives the pass values of every order of slots,
// as the statistics do. Neighbouring blocks AB and BA are one contrast (linear drift cancels in
// their mean), and so are neighbouring pairs of interleaved requests in opposite order; what finds
// no partner stands alone. Requests are interleaved where the only two slots of a block overlap in
// time. Within a run of items whose order alternates, partners are 1 and 2, 3
// and 4, ...; an item that does not alternate with the one before it begins a new run.
#pragma once

namespace abba::store {

inline constexpr char kSchemaVersion2[] = R"sql(
DROP VIEW v_verdict_input;
CREATE VIEW v_pair AS
  SELECT pass.id AS pass, pass.position AS pass_index, block.id AS block, block.workload,
    block.boundary, block.taint, a.seq, ln(CAST(b.duration_ns AS REAL) / a.duration_ns) AS contrast,
    CASE WHEN a.t_start_ns <= b.t_start_ns THEN 'AB' ELSE 'BA' END AS letters
  FROM block JOIN pass ON pass.id = block.pass
    JOIN slot slot_a ON slot_a.block = block.id AND slot_a.arm = 'A'
    JOIN slot slot_b ON slot_b.block = block.id AND slot_b.arm = 'B'
    JOIN sample a ON a.slot = slot_a.id JOIN sample b ON b.slot = slot_b.id AND b.seq = a.seq
  WHERE pass.superseded = 0 AND block.failed = 0 AND pass.phase = 'measured'
    AND a.warmup = 0 AND a.status = 0 AND a.duration_ns > 0
    AND b.warmup = 0 AND b.status = 0 AND b.duration_ns > 0
    AND (SELECT count(*) FROM slot WHERE slot.block = block.id) = 2
    AND slot_a.start_ns < slot_b.end_ns AND slot_b.start_ns < slot_a.end_ns;
CREATE VIEW v_pass_contrast AS
  WITH pair AS MATERIALIZED (SELECT * FROM v_pair),
  item AS MATERIALIZED (
    SELECT pass, pass_index, block, workload, boundary, taint, seq, contrast, letters,
      block AS family FROM pair
    UNION ALL
    SELECT pass, pass_index, block, c.workload, c.boundary, c.taint, 0, contrast, slot_order, 0
    FROM (SELECT * FROM v_contrast) c JOIN (SELECT id, slot_order FROM block) b ON b.id = c.block
    WHERE contrast IS NOT NULL AND block NOT IN (SELECT block FROM pair)),
  clean AS (SELECT DISTINCT pass, workload, boundary FROM item WHERE taint = ''),
  kept AS (
    SELECT * FROM item WHERE taint = ''
      OR (pass, workload, boundary) NOT IN (SELECT pass, workload, boundary FROM clean)),
  follows AS (
    SELECT *, length(letters) = 2 AND length(lag(letters) OVER near) = 2
      AND letters <> lag(letters) OVER near AS alternates
    FROM kept WINDOW near AS (PARTITION BY pass, workload, boundary, family ORDER BY block, seq)),
  alternating AS (
    SELECT *, sum(NOT coalesce(alternates, 0)) OVER (PARTITION BY pass, workload, boundary, family
      ORDER BY block, seq ROWS UNBOUNDED PRECEDING) AS run
    FROM follows),
  placed AS (
    SELECT *, row_number() OVER (PARTITION BY pass, workload, boundary, family, run
      ORDER BY block, seq) - 1 AS place
    FROM alternating)
  SELECT pass, pass_index, workload, boundary, min(block) AS block, count(*) AS items,
    avg(contrast) AS contrast
  FROM placed GROUP BY pass, workload, boundary, family, run, place / 2;
CREATE VIEW v_verdict_input AS
  WITH numbered AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY pass, workload, boundary) AS number
    FROM v_pass_contrast),
  walsh AS (
    SELECT a.workload, a.boundary, a.pass, a.pass_index, (a.contrast + b.contrast) / 2 AS average
    FROM numbered a JOIN numbered b ON b.pass = a.pass AND b.workload = a.workload
      AND b.boundary = a.boundary AND b.number >= a.number),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY pass, workload, boundary ORDER BY average) AS place,
      count(*) OVER (PARTITION BY pass, workload, boundary) AS n
    FROM walsh)
  SELECT workload, boundary, pass, pass_index,
    avg(CASE WHEN place IN ((n + 1) / 2, n / 2 + 1) THEN average END) AS pass_value
  FROM ranked GROUP BY workload, boundary, pass ORDER BY workload, pass_index;
)sql";

}  // namespace abba::store
