#include "harness/stats/notes.h"

#include <utility>

namespace abba::stats {
namespace {

using record::Severity;

constexpr record::NoteEntry kNotes[] = {
    {kTooFewPasses, Severity::kInvalid,
     "Fewer than 6 complete passes: none of the verdict words can be concluded. Run more passes.",
     "Run more passes: resume the run, or register a plan with at least 6."},
    {kBetweenLooks, Severity::kInvalid,
     "The run ended between two looks of its plan (or beyond the last), where the registered rule "
     "says nothing. Resume it, or register a plan with that many passes.",
     "Resume the run, or register a plan whose looks include that number of passes."},
    {kUnusableTime, Severity::kInvalid,
     "A measured request has a time (or value) that is zero, negative or not a number. The worker "
     "or its clock is wrong; no sample is dropped to hide it.",
     "Mend the worker's clock or value; `abba worker-check` tries it."},
    {kSlotsMissing, Severity::kInvalid,
     "A block does not hold the slots of both arms that its order names, so it has no contrast.",
     "Look at the worker's end in `abba show`, then run again."},
    {kUnequalCounts, Severity::kInvalid,
     "Slots of one block have different numbers of measured requests: the arms were not treated "
     "alike.",
     "Use a worker that answers the number of requests it is asked for."},
    {kSampleTwice, Severity::kInvalid, "Two samples of one slot carry the same sequence number.",
     "Mend the worker: each request of a slot has its own number."},
    {kNoVariance, Severity::kInvalid,
     "All pass values are exactly equal. Measured times vary; these are not measured times, or the "
     "clock is too coarse for them. No interval exists.",
     "Time something longer, or mend a clock that is too coarse."},
    {kTaintRemains, Severity::kInvalid,
     "Tainted blocks remain that were not replaced by clean ones. The registered rule does not "
     "allow a conclusion; the tainted data are shown.",
     "Quiet the machine and run again; or register `load`: expected if company is part of the "
     "question."},
    {kNothingMeasured, Severity::kInvalid, "There is no usable measured sample.",
     "Look at `abba show` for why blocks failed, then run again."},
    {kOutputsDiffer, Severity::kInvalid,
     "Outputs of the arms differ beyond the registered rule, so their times do not compare the "
     "same work.",
     "Make the arms compute the same, or register the limits within which they may differ."},
    {kManyFailed, Severity::kInvalid, "More than 1 % of the measured requests failed.",
     "Look at the failure text in `abba show`; mend the request or the worker."},
    {kSomeFailed, Severity::kDoubt,
     "Some measured requests failed (at most 1 %). They are counted and have no time.",
     "Look at the failure text in `abba show`; a request that fails quickly may flatter its arm."},
    {kTaintReplaced, Severity::kInfo,
     "Tainted blocks were replaced by clean ones. The result with them stands beside.",
     "Compare the two results; if they part, run again on a quieter machine."},
    {kPassRerun, Severity::kInfo,
     "A pass was interrupted, kept, and rerun whole; the interrupted one is in no statistic.",
     "Nothing; the superseded pass can be seen in `abba show`."},
    {kBlockFailed, Severity::kDoubt,
     "A block failed (a worker died, hung or answered wrongly): no sample "
     "of it is used.",
     "Look at the worker's last lines in `abba show`."},
    {kPassIncomplete, Severity::kDoubt,
     "A pass is incomplete and was not rerun; it is in no statistic.",
     "Resume the run to have the pass whole."},
    {kSensitivityDisagrees, Severity::kDoubt,
     "A sensitivity analysis (signed rank or sign flip) disagrees with the primary one, so the "
     "verdict is inconclusive.",
     "Look at the pass effects for one or two far ones; run more passes."},
    {kStoppedEarly, Severity::kInfo,
     "The run stopped early at a look. An estimate at which a run stops early tends to be too "
     "large.",
     "Do not quote the estimate without its interval; a run with one look has no such bias."},
    {kCannotShowEquivalence, Severity::kDoubt,
     "With the noise seen, this plan cannot show equivalence within the harm limit.",
     "Register the number of passes that is named, or a wider harm limit if that is what harms."},
    {kNoHarmLimit, Severity::kInfo,
     "No harm limit is declared, so `equivalent` cannot be concluded.",
     "Declare `success.harm_limit`: the largest change that would be harmless."},
    {kArmsEqual, Severity::kInfo,
     "Code, factors, files and inputs of both arms are equal: this is an A/A run, from which no "
     "speed claim may be printed.",
     "Nothing; such a run feeds `abba power` and `abba calibrate`."},
    {kArmsDifferInAa, Severity::kDoubt, "The manifest declares an A/A run, but the arms differ.",
     "Make the arms equal, or name what differs as the independent variable."},
    {kCarryOver, Severity::kInvalid,
     "The first slot of a block differs from later ones of the same arm by more than the limit: "
     "the wash-out does not suffice.",
     "Give slots more warm-up or an idle gap, and register again."},
    {kCarryOverUnknown, Severity::kInfo,
     "Carry-over cannot be estimated: no arm runs twice in a block of this order.",
     "Use order ABBA/BAAB if carry-over may matter."},
    {kExposureDiffers, Severity::kInvalid,
     "The arms were exposed to different conditions, beyond the limit in the whole interval.",
     "Find what kept one arm company (or slowed its clock) and run again without it."},
    {kExposureUnread, Severity::kInfo,
     "No reading of the environment is stored for the slots, so exposure balance was not checked.",
     "Nothing on this machine; elsewhere `abba doctor` says what can be read."},
    {kWorkersReused, Severity::kDoubt,
     "Workers lived through several passes: memory layout and placement were drawn once, and the "
     "interval does not cover another draw.",
     "Use `workers`: fresh-per-pass, as `standard` does."},
    {kBothFailReference, Severity::kDoubt,
     "Both arms fail the comparison with the reference alike. Times are shown; claims about "
     "agreement with the reference are blocked.",
     "Compare the baseline with its reference first."},
    {kDisjointIsNoTest, Severity::kInfo,
     "Disjoint pass means are no test: if nothing differs, four exchangeable pass means fall apart "
     "by arm in 2 of 6 orders, one workload of three.",
     "Run the change under `standard` for a verdict with an error rate."},
    {kP95WithoutInterval, Severity::kInfo,
     "A p95 is shown without an interval: fewer than 72 requests stand behind it.",
     "Measure at least 72 requests an arm for a p95, 368 for a p99."},
    {kDriftRemains, Severity::kDoubt,
     "Blocks of one pair have no opposite neighbour in their pass, so a linear drift does not "
     "cancel inside the pass.",
     "Use an even number of blocks, or order ABBA/BAAB."},
    {kInnerTimesPartial, Severity::kInfo,
     "Times of this inner boundary are stored for some of the requests only.",
     "Nothing if the stored requests suffice; else time that boundary as the outermost."},
    {kPassIndexTwice, Severity::kInvalid, "Two passes that count carry the same index.",
     "The file was not written by `abba run`; run `abba verify`."},
    {kSeveralFactors, Severity::kDoubt,
     "Several factors differ between the arms on purpose: no effect can be laid to one of them.",
     "Run one experiment for each factor."},
    {kNoEvidence, Severity::kDoubt,
     "No profile is cited as evidence that this change is worth trying.",
     "Profile first and name the row under `evidence`."},
    {kBadHarmLimit, Severity::kInvalid,
     "The declared harm limit is no fraction between 0 and 1, so the success rule has no meaning.",
     "Write a fraction such as 0.02 as `success.harm_limit`."},
    {kSlotDigestsDiffer, Severity::kInvalid,
     "Digests of the outputs taken in the slots differ between slots, though bitwise equality is "
     "registered.",
     "Find why the result changes between requests (an unset input, a race), or register limits."},
    {kUnknownAnalysis, Severity::kInvalid,
     "This program does not know the version of the analysis that the run names, so it judges "
     "nothing.",
     "Use the program that wrote the run, or a newer one."},
    {kClockStepped, Severity::kInvalid,
     "The clock stepped: requests of one slot start out of order, or a slot ends before it starts. "
     "No time of such a clock can be trusted.",
     "Mend the worker's clock (a steady one never goes back) and run again."},
    {kControlMoved, Severity::kDoubt,
     "A negative control moved: a span that the change cannot touch differs between the arms. "
     "Something else differs too, so the run is suspect.",
     "Find what else differs between the arms before you believe the primary effect."},
    {kControlOpen, Severity::kInfo,
     "A negative control could not be shown to stay equivalent: its interval is wider than the "
     "limit.",
     "Nothing if the control is much shorter than the request; else run more passes."},
    {kControlUnrecorded, Severity::kDoubt,
     "A negative control is declared, but no slot recorded a span of that name in both arms.",
     "Name a span that the worker records; a report lists them as parts of a request."},
    {kInterleavedUnjudged, Severity::kInfo,
     "The arms ran interleaved, request by request, so what was read of the environment held for "
     "both: no arm's conditions could be told from the other's, and their balance was not judged.",
     "Use order ABBA/BAAB if the change may itself slow a clock or draw power."},
    {kMeansPartFromMedians, Severity::kDoubt,
     "The ranges of pass means are disjoint on the other side than the medians: a few slow "
     "requests decide the means.",
     "Look at the samples of each pass; run the change under `standard` for a verdict."},
    {kPowerCapDiffers, Severity::kInfo,
     "One arm ran at its power cap for more of the time. What it draws is part of the change, so "
     "the end-to-end difference stands; the one in clock cycles is shown beside it.",
     "Nothing if the machine's power limit is part of the question; else compare in cycles."},
};

}  // namespace

std::span<const record::NoteEntry> note_table() {
  return kNotes;
}

const record::NoteEntry* find_note(std::string_view code) {
  return record::find_note(kNotes, code);
}

record::Note make_note(std::string_view code, std::string where, std::string text) {
  return record::make_note(kNotes, code, std::move(where), std::move(text));
}

}  // namespace abba::stats
