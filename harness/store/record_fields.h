// The members of every record struct, named once: fields(archive, value) calls archive(name,
// member) for each, in order. The JSON forms in the run file and the tests' comparison both come
// from here; a test counts the members of each struct, so that a new one cannot be forgotten.
#pragma once

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

// One struct's list: ABBA_FIELDS(Type, ABBA_F(a) ABBA_F(b)).
#define ABBA_F(member) archive(#member, value.member);
#define ABBA_FIELDS(Type, ...)                         \
  template <typename Archive>                          \
  void fields(Archive& archive, record::Type& value) { \
    __VA_ARGS__                                        \
  }

namespace abba::store {

ABBA_FIELDS(FileDecl, ABBA_F(name) ABBA_F(path) ABBA_F(sha256) ABBA_F(source_repo)
                          ABBA_F(source_revision) ABBA_F(make))
ABBA_FIELDS(Arm, ABBA_F(id) ABBA_F(label) ABBA_F(factors) ABBA_F(rev) ABBA_F(worker) ABBA_F(program)
                     ABBA_F(reads) ABBA_F(inject))
ABBA_FIELDS(BuildRecipe, ABBA_F(commands) ABBA_F(executable))
ABBA_FIELDS(Work, ABBA_F(items) ABBA_F(bytes) ABBA_F(flops))
ABBA_FIELDS(Workload, ABBA_F(id) ABBA_F(input) ABBA_F(work) ABBA_F(boundaries) ABBA_F(rotate))
ABBA_FIELDS(SlotRule, ABBA_F(warmup_requests) ABBA_F(warmup_ms) ABBA_F(min_requests) ABBA_F(min_ms)
                          ABBA_F(max_requests) ABBA_F(max_ms))
ABBA_FIELDS(Timeouts, ABBA_F(hello_s) ABBA_F(load_s) ABBA_F(prepare_s) ABBA_F(slot_s)
                          ABBA_F(outputs_s) ABBA_F(graph_capture_s) ABBA_F(shutdown_s))
ABBA_FIELDS(Limits, ABBA_F(max_wall_s) ABBA_F(max_requests) ABBA_F(max_runs) ABBA_F(timeouts))
ABBA_FIELDS(Protocol, ABBA_F(preset) ABBA_F(feasibility) ABBA_F(passes) ABBA_F(looks)
                          ABBA_F(workers) ABBA_F(blocks) ABBA_F(order) ABBA_F(workload_order)
                              ABBA_F(slot) ABBA_F(arrival) ABBA_F(interval_ms) ABBA_F(placement)
                                  ABBA_F(cache) ABBA_F(readiness) ABBA_F(load) ABBA_F(on_taint)
                                      ABBA_F(seed) ABBA_F(idle_gap_ms) ABBA_F(limits))
ABBA_FIELDS(StageLimit, ABBA_F(nrms) ABBA_F(max_abs))
ABBA_FIELDS(Reference, ABBA_F(worker) ABBA_F(settings) ABBA_F(file))
ABBA_FIELDS(Outputs,
            ABBA_F(rule) ABBA_F(limits) ABBA_F(reference_limits) ABBA_F(stages) ABBA_F(reference))
ABBA_FIELDS(Success, ABBA_F(claim) ABBA_F(primary) ABBA_F(metric) ABBA_F(boundary) ABBA_F(at_least)
                         ABBA_F(harm_limit) ABBA_F(confidence) ABBA_F(controls))
ABBA_FIELDS(DeviceWish,
            ABBA_F(wanted) ABBA_F(compute_capability) ABBA_F(sm_count) ABBA_F(memory_bytes))
ABBA_FIELDS(AffinityWish, ABBA_F(cpus) ABBA_F(numa_node) ABBA_F(bind_memory))
ABBA_FIELDS(Evidence, ABBA_F(run) ABBA_F(row) ABBA_F(share))
ABBA_FIELDS(Manifest,
            ABBA_F(id) ABBA_F(title) ABBA_F(hypothesis) ABBA_F(rationale) ABBA_F(prior_data)
                ABBA_F(evidence) ABBA_F(reference_environment) ABBA_F(independent_variable)
                    ABBA_F(combined) ABBA_F(a) ABBA_F(b) ABBA_F(worker) ABBA_F(settings)
                        ABBA_F(files) ABBA_F(build) ABBA_F(fixed_hashes) ABBA_F(device)
                            ABBA_F(affinity) ABBA_F(workloads) ABBA_F(protocol) ABBA_F(outputs)
                                ABBA_F(success) ABBA_F(sources) ABBA_F(bind_registered)
                                    ABBA_F(traces) ABBA_F(graph_capture) ABBA_F(gate)
                                        ABBA_F(expanded) ABBA_F(path))

ABBA_FIELDS(PlannedBlock, ABBA_F(workload) ABBA_F(slot_order) ABBA_F(interleaved))
ABBA_FIELDS(PlannedPass, ABBA_F(index) ABBA_F(phase) ABBA_F(fresh_workers) ABBA_F(start_order)
                             ABBA_F(padding_seed) ABBA_F(blocks))
ABBA_FIELDS(Plan, ABBA_F(passes) ABBA_F(looks))
ABBA_FIELDS(SlotCounts, ABBA_F(workload) ABBA_F(warmup) ABBA_F(requests))
ABBA_FIELDS(Registration,
            ABBA_F(lock_digest) ABBA_F(manifest_digest) ABBA_F(registered_utc) ABBA_F(seed)
                ABBA_F(decisions) ABBA_F(sources) ABBA_F(commit) ABBA_F(supersedes))
ABBA_FIELDS(Binding, ABBA_F(name) ABBA_F(value))

ABBA_FIELDS(BoundaryDecl, ABBA_F(name) ABBA_F(unit) ABBA_F(clock) ABBA_F(parent))
ABBA_FIELDS(MetricDecl, ABBA_F(name) ABBA_F(unit) ABBA_F(direction))
ABBA_FIELDS(LevelDecl, ABBA_F(name) ABBA_F(exactness) ABBA_F(exact_to))
ABBA_FIELDS(FactorDecl, ABBA_F(name) ABBA_F(levels) ABBA_F(default_level) ABBA_F(hot))
ABBA_FIELDS(WorkerHello, ABBA_F(name) ABBA_F(version) ABBA_F(source_stamp) ABBA_F(files_to_hash)
                             ABBA_F(boundaries) ABBA_F(metrics) ABBA_F(factors) ABBA_F(capabilities)
                                 ABBA_F(stages) ABBA_F(facts) ABBA_F(raw))
ABBA_FIELDS(LoadReply,
            ABBA_F(settings) ABBA_F(factors) ABBA_F(device) ABBA_F(memory) ABBA_F(setup_ns))
ABBA_FIELDS(PrepareReply, ABBA_F(work) ABBA_F(facts) ABBA_F(first_request_ns))
ABBA_FIELDS(Sample, ABBA_F(seq) ABBA_F(warmup) ABBA_F(start_ns) ABBA_F(duration_ns) ABBA_F(status))
ABBA_FIELDS(Span, ABBA_F(seq) ABBA_F(name) ABBA_F(parent) ABBA_F(start_ns) ABBA_F(duration_ns)
                      ABBA_F(count))
ABBA_FIELDS(Value, ABBA_F(seq) ABBA_F(metric) ABBA_F(value))

ABBA_FIELDS(WorkerProcess, ABBA_F(id) ABBA_F(arm) ABBA_F(pass) ABBA_F(pid) ABBA_F(command_digest)
                               ABBA_F(setup_ns) ABBA_F(last_stderr) ABBA_F(exit_code) ABBA_F(cpus))
ABBA_FIELDS(Identity, ABBA_F(source) ABBA_F(key) ABBA_F(value))
ABBA_FIELDS(EnvironmentReading, ABBA_F(slot) ABBA_F(time_ns) ABBA_F(moment) ABBA_F(key)
                                    ABBA_F(value) ABBA_F(unit) ABBA_F(text))
ABBA_FIELDS(TraceKernel,
            ABBA_F(name) ABBA_F(device) ABBA_F(stream) ABBA_F(correlation) ABBA_F(graph_node)
                ABBA_F(start_ns) ABBA_F(end_ns) ABBA_F(grid) ABBA_F(block) ABBA_F(registers)
                    ABBA_F(static_shared_bytes) ABBA_F(dynamic_shared_bytes))
ABBA_FIELDS(TraceCopy, ABBA_F(kind) ABBA_F(device) ABBA_F(stream) ABBA_F(correlation) ABBA_F(bytes)
                           ABBA_F(start_ns) ABBA_F(end_ns))
ABBA_FIELDS(TraceApi,
            ABBA_F(name) ABBA_F(thread) ABBA_F(correlation) ABBA_F(start_ns) ABBA_F(end_ns))
ABBA_FIELDS(TraceRange, ABBA_F(name) ABBA_F(thread) ABBA_F(start_ns) ABBA_F(end_ns))
ABBA_FIELDS(Trace, ABBA_F(kernels) ABBA_F(copies) ABBA_F(calls) ABBA_F(ranges))
ABBA_FIELDS(Slot,
            ABBA_F(id) ABBA_F(block) ABBA_F(position) ABBA_F(arm) ABBA_F(worker) ABBA_F(start_ns)
                ABBA_F(end_ns) ABBA_F(idle_gap_ns) ABBA_F(allocations) ABBA_F(failures)
                    ABBA_F(digest) ABBA_F(samples) ABBA_F(spans) ABBA_F(values) ABBA_F(trace))
ABBA_FIELDS(Block,
            ABBA_F(id) ABBA_F(pass) ABBA_F(phase) ABBA_F(workload) ABBA_F(boundary)
                ABBA_F(slot_order) ABBA_F(taint) ABBA_F(failed) ABBA_F(failure) ABBA_F(slots))
ABBA_FIELDS(Pass, ABBA_F(id) ABBA_F(index) ABBA_F(phase) ABBA_F(superseded) ABBA_F(why)
                      ABBA_F(start_ns) ABBA_F(end_ns) ABBA_F(blocks))
ABBA_FIELDS(OutputCheck,
            ABBA_F(input) ABBA_F(stage) ABBA_F(arm) ABBA_F(against) ABBA_F(digest) ABBA_F(equal)
                ABBA_F(within) ABBA_F(nrms) ABBA_F(max_abs) ABBA_F(ulp) ABBA_F(first_divergence))
ABBA_FIELDS(CaptureCosts, ABBA_F(shape) ABBA_F(first_run_ns) ABBA_F(warm_runs) ABBA_F(warm_ns)
                              ABBA_F(capture_ns) ABBA_F(instantiate_ns) ABBA_F(upload_ns)
                                  ABBA_F(first_replay_ns) ABBA_F(nodes) ABBA_F(bytes))
ABBA_FIELDS(GraphCapture, ABBA_F(worker) ABBA_F(arm) ABBA_F(workload) ABBA_F(costs))
ABBA_FIELDS(Note, ABBA_F(code) ABBA_F(severity) ABBA_F(where) ABBA_F(text))
ABBA_FIELDS(RunRecord,
            ABBA_F(file) ABBA_F(run_id) ABBA_F(state) ABBA_F(state_text) ABBA_F(started_utc)
                ABBA_F(finished_utc) ABBA_F(exploratory) ABBA_F(resumed) ABBA_F(analysis_version)
                    ABBA_F(program_version) ABBA_F(manifest) ABBA_F(registration) ABBA_F(plan)
                        ABBA_F(bindings) ABBA_F(hello) ABBA_F(load) ABBA_F(counts) ABBA_F(workers)
                            ABBA_F(identity) ABBA_F(environment) ABBA_F(passes)
                                ABBA_F(output_checks) ABBA_F(graph_captures) ABBA_F(notes)
                                    ABBA_F(prepared) ABBA_F(head_digest))

ABBA_FIELDS(Interval, ABBA_F(low) ABBA_F(high) ABBA_F(level))
ABBA_FIELDS(ArmSummary, ABBA_F(arm) ABBA_F(pass) ABBA_F(count) ABBA_F(failures) ABBA_F(mean)
                            ABBA_F(median) ABBA_F(p95) ABBA_F(min) ABBA_F(mad))
ABBA_FIELDS(Verdict,
            ABBA_F(workload) ABBA_F(metric) ABBA_F(boundary) ABBA_F(primary) ABBA_F(word)
                ABBA_F(reason) ABBA_F(effect) ABBA_F(deciding) ABBA_F(plain95) ABBA_F(passes)
                    ABBA_F(pass_sd) ABBA_F(detectable) ABBA_F(passes_needed) ABBA_F(hodges_lehmann)
                        ABBA_F(signed_rank) ABBA_F(sign_flip_p) ABBA_F(sensitivity_agrees)
                            ABBA_F(pass_effects) ABBA_F(pass_indices) ABBA_F(summaries)
                                ABBA_F(p_difference) ABBA_F(p_equivalence) ABBA_F(signed_rank_p)
                                    ABBA_F(carry_over) ABBA_F(carry_over_effect) ABBA_F(blocks_used)
                                        ABBA_F(blocks_tainted) ABBA_F(blocks_failed))
ABBA_FIELDS(Analysis, ABBA_F(version) ABBA_F(same_hash_law) ABBA_F(passes) ABBA_F(look)
                          ABBA_F(looks) ABBA_F(look_level) ABBA_F(stopped_early) ABBA_F(criterion)
                              ABBA_F(headline) ABBA_F(verdicts) ABBA_F(notes))

}  // namespace abba::store

#undef ABBA_F
#undef ABBA_FIELDS
