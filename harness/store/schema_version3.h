// The third layout of the run file: v_graph_capture gives the rows of graph_capture that count.
// Those of a superseded pass do not: ids of passes and workers come from one counter, so a pass has
// a smaller id than its workers and a greater one than those before it.
#pragma once

namespace abba::store {

inline constexpr char kSchemaVersion3[] = R"sql(
CREATE VIEW v_graph_capture AS
  SELECT arm, workload, shape, worker, first_run_ns, warm_runs, warm_ns, capture_ns,
    instantiate_ns, upload_ns, first_replay_ns, nodes, bytes
  FROM graph_capture
  WHERE worker > (SELECT max(id) FROM pass WHERE phase = 'graph_capture' AND superseded = 0)
  ORDER BY id;
)sql";

}  // namespace abba::store
