#include "harness/run/notes.h"

#include <utility>

namespace abba::run {
namespace {

using record::Severity;

constexpr record::NoteEntry kTable[] = {
    {kOutputsNotChecked, Severity::kDoubt,
     "The results of the arms were not compared: the worker declares no outputs, or the manifest "
     "asks for no rule. A faster arm may compute something else.",
     "Use a worker with outputs and register a rule for them."},
    {kParityBlocked, Severity::kDoubt,
     "A reference check failed in the baseline too, so no claim of parity with the reference may "
     "be made from this run; the comparison of A with B stands.",
     "Make the baseline agree with its reference first."},
    {kSlotDigestsDiffer, Severity::kInvalid,
     "Under a bitwise rule the arms' last measured results in a block differ, though their outputs "
     "agreed before: they did not do the same work while they were timed.",
     "Find what the arms do otherwise under load (a race, an unset input), or register "
     "`limits` in place of `bitwise`."},
    {kDigestUnsteady, Severity::kDoubt,
     "One arm's result of the same request changed between two slots.",
     "Find the source of the change (a race, an unset input) before trusting either arm."},
    {kBlockTainted, Severity::kInfo,
     "Something outside the experiment disturbed a block; the whole block leaves the statistic, "
     "in both arms.",
     "Nothing if it is rare; else quiet the machine."},
    {kBlockRepeated, Severity::kInfo,
     "A tainted block was measured once more right away, as registered (on_taint: repeat-once).",
     "Nothing if it is rare; else quiet the machine."},
    {kWorkerFailed, Severity::kDoubt,
     "A worker died, hung or answered wrongly in a block; its last lines are stored, no sample was "
     "invented.",
     "Read the worker's last lines with `abba show`."},
    {kPassSuperseded, Severity::kInfo,
     "A pass was interrupted. What it measured is kept, enters no statistic, and the pass is "
     "measured again whole.",
     "Nothing; the pass was measured again whole."},
    {kStoppedAtLook, Severity::kInfo,
     "The registered rule ended the run at a look before its last pass. Estimates of runs that "
     "stop early tend to be too large.",
     "Quote the interval, not the estimate alone."},
    {kStopped, Severity::kDoubt,
     "The run was stopped before its plan was carried out; everything measured is kept.",
     "Go on with `abba run --resume`."},
    {kResumed, Severity::kInfo,
     "The run was interrupted and continued with new workers whose bindings were found equal.",
     "Nothing; bindings were found equal."},
    {kRequestsFailed, Severity::kDoubt, "Requests failed inside a slot; they are stored as failed.",
     "Read the failure text with `abba show`."},
    {kCpusShared, Severity::kDoubt,
     "Harness and workers share a CPU, so the harness may disturb what it measures.",
     "Give the run a machine (or an affinity) with at least two CPUs."},
    {kNotCompared, Severity::kInfo,
     "A registered source could not be compared on this machine, for the reason given.",
     "Run on the machine where the source can be read, if it matters."},
    {kSpanOutside, Severity::kDoubt,
     "A worker reported a span that does not lie inside its parent; its breakdown is not to be "
     "trusted.",
     "Mend the worker's spans; the outermost time is not affected."},
    {kBindingChanged, Severity::kInvalid,
     "An executable, library or file of an arm changed while the run went on; measuring stopped "
     "there.",
     "Do not build while a run goes on; run again."},
    {kRegisteredJustNow, Severity::kInfo,
     "The experiment was registered by the same command that ran it, so the registration proves "
     "little more than the run itself.",
     "Register and commit before measuring if others are to believe it."},
    {kMachineChanged, Severity::kDoubt,
     "The run was continued on a machine that describes itself otherwise than where it began (a "
     "restart, another kernel, other settings): passes before and after are not one machine's "
     "draw.",
     "Start a new run if the passes are to be one machine's."},
    {kDeviceDisagrees, Severity::kInfo,
     "Sources describe the device differently (the CUDA driver, the worker's CUDA runtime, NVML). "
     "All are stored; the CUDA driver's values are used.",
     "Nothing; the values are in the machine section."},
    {kDeviceUnconfirmed, Severity::kDoubt,
     "A worker does not say on which device it computes, so that it used the bound one rests on "
     "CUDA_VISIBLE_DEVICES alone.",
     "Let the worker answer `load` with the device's UUID."},
    {kDeviceUnchecked, Severity::kDoubt,
     "That no other process used the device could not be fully checked, for the reason given.",
     "Run as a user who may list the device's processes."},
    {kStaleReservation, Severity::kInfo,
     "A harness that died had left its reservation of the device behind; it was taken over.",
     "Nothing; look whether a process of the dead harness still runs."},
    {kOwnCounts, Severity::kInfo,
     "A program that prints its own samples printed another number of them than the plan asked "
     "for. All of them are kept, the first ones as the warm-ups that were asked for.",
     "Nothing if the counts suffice; else pass {requests} to the program."},
    {kLaterPassUnable, Severity::kInfo,
     "An arm has no part in a pass that the manifest asks for after the measured ones (graph "
     "capture, trace): its worker does not declare what that pass needs, "
     "or this machine lacks it.",
     "Use a worker that declares it, install what is named (a tracer needs libabba_trace.so and "
     "CUPTI), or name only the other arm in the manifest."},
    {kLaterPassFailed, Severity::kDoubt,
     "An arm's worker died, hung, answered wrongly or could not be started in a pass after the "
     "measured ones. What was measured is whole; of that pass only what it had answered before is "
     "stored.",
     "Read the worker's last lines with `abba show`; run again once it is mended."},
    {kNothingTraced, Severity::kInfo,
     "A trace was asked for and an arm did nothing that it could record: its worker computes on "
     "the "
     "CPU, or never called CUDA while requests were traced.",
     "Name only arms and workloads that use a GPU under `traces`."},
    {kTraceIncomplete, Severity::kDoubt,
     "A trace lacks records, for the reason given: counts and times of it are too small.",
     "Trace fewer requests, or see what the reason names; nothing that was measured is affected."},
    {kTraceCut, Severity::kInfo,
     "A traced slot had more rows than a run file keeps (40,000): the first requests are stored "
     "whole, the later ones not at all. Figures a request are of those that are stored.",
     "Nothing if some requests suffice; else name fewer `traces.requests`."},
    {kRebuilt, Severity::kInfo,
     "A program was built again since an earlier run of this registration; its code digest (text, "
     "data, device code) is the same, so it does the same.",
     "Nothing: the digests of both files stand in the ledger."},
    {kOtherMachine, Severity::kDoubt,
     "An earlier run of this registration was bound to another device or driver: the two runs are "
     "not repetitions on one machine.",
     "Run on the earlier machine, or judge each run by itself."},
};

}  // namespace

std::span<const record::NoteEntry> note_table() {
  return kTable;
}

record::Note make_note(std::string_view code, std::string where, std::string text) {
  return record::make_note(kTable, code, std::move(where), std::move(text));
}

}  // namespace abba::run
