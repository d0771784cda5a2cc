#include "harness/stats/notes.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace abba::stats {
namespace {

using record::Severity;

constexpr NoteEntry kNotes[] = {
    {"N001", Severity::kInvalid,
     "Fewer than 6 complete passes: none of the verdict words can be concluded. Run more passes."},
    {"N002", Severity::kInvalid,
     "The run ended between two looks of its plan (or beyond the last), where the registered rule "
     "says nothing. Resume it, or register a plan with that many passes."},
    {"N003", Severity::kInvalid,
     "A measured request has a time (or value) that is zero, negative or not a number. The worker "
     "or its clock is wrong; no sample is dropped to hide it."},
    {"N004", Severity::kInvalid,
     "A block does not hold the slots of both arms that its order names, so it has no contrast."},
    {"N005", Severity::kInvalid,
     "Slots of one block have different numbers of measured requests: the arms were not treated "
     "alike."},
    {"N006", Severity::kInvalid, "Two samples of one slot carry the same sequence number."},
    {"N007", Severity::kInvalid,
     "All pass values are exactly equal. Measured times vary; these are not measured times, or the "
     "clock is too coarse for them. No interval exists."},
    {"N008", Severity::kInvalid,
     "Tainted blocks remain that were not replaced by clean ones. The registered rule does not "
     "allow a conclusion; the tainted data are shown."},
    {"N009", Severity::kInvalid, "There is no usable measured sample."},
    {"N010", Severity::kInvalid,
     "Outputs of the arms differ beyond the registered rule, so their times do not compare the "
     "same work."},
    {"N011", Severity::kInvalid, "More than 1 % of the measured requests failed."},
    {"N012", Severity::kDoubt,
     "Some measured requests failed (at most 1 %). They are counted and have no time."},
    {"N013", Severity::kInfo,
     "Tainted blocks were replaced by clean ones. The result with them stands beside."},
    {"N014", Severity::kInfo,
     "A pass was interrupted, kept, and rerun whole; the interrupted one is in no statistic."},
    {"N015", Severity::kDoubt,
     "A block failed (a worker died, hung or answered wrongly): no sample "
     "of it is used."},
    {"N016", Severity::kDoubt, "A pass is incomplete and was not rerun; it is in no statistic."},
    {"N017", Severity::kDoubt,
     "A sensitivity analysis (signed rank or sign flip) disagrees with the primary one, so the "
     "verdict is inconclusive."},
    {"N018", Severity::kInfo,
     "The run stopped early at a look. An estimate at which a run stops early tends to be too "
     "large."},
    {"N019", Severity::kDoubt,
     "With the noise seen, this plan cannot show equivalence within the harm limit."},
    {"N020", Severity::kInfo, "No harm limit is declared, so `equivalent` cannot be concluded."},
    {"N021", Severity::kInfo,
     "Code, factors, files and inputs of both arms are equal: this is an A/A run, from which no "
     "speed claim may be printed."},
    {"N022", Severity::kDoubt, "The manifest declares an A/A run, but the arms differ."},
    {"N023", Severity::kInvalid,
     "The first slot of a block differs from later ones of the same arm by more than the limit: "
     "the wash-out does not suffice."},
    {"N024", Severity::kInfo,
     "Carry-over cannot be estimated: no arm runs twice in a block of this order."},
    {"N025", Severity::kInvalid,
     "The arms were exposed to different conditions, beyond the limit in the whole interval."},
    {"N026", Severity::kInfo,
     "No reading of the environment is stored for the slots, so exposure balance was not checked."},
    {"N027", Severity::kDoubt,
     "Workers lived through several passes: memory layout and placement were drawn once, and the "
     "interval does not cover another draw."},
    {"N028", Severity::kDoubt,
     "Both arms fail the comparison with the reference alike. Times are shown; claims about "
     "agreement with the reference are blocked."},
    {"N029", Severity::kInfo,
     "Disjoint pass means are no test: if nothing differs, four exchangeable pass means fall apart "
     "by arm in 2 of 6 orders, one workload of three."},
    {"N030", Severity::kInfo,
     "A p95 is shown without an interval: fewer than 72 requests stand behind it."},
    {"N031", Severity::kDoubt,
     "Blocks of one pair have no opposite neighbour in their pass, so a linear drift does not "
     "cancel inside the pass."},
    {"N032", Severity::kInfo,
     "Times of this inner boundary are stored for some of the requests only."},
    {"N033", Severity::kInvalid, "Two passes that count carry the same index."},
    {"N034", Severity::kDoubt,
     "Several factors differ between the arms on purpose: no effect can be laid to one of them."},
    {"N035", Severity::kDoubt, "No profile is cited as evidence that this change is worth trying."},
    {"N036", Severity::kInvalid,
     "The declared harm limit is no fraction between 0 and 1, so the success rule has no meaning."},
    {"N037", Severity::kInvalid,
     "Digests of the outputs taken in the slots differ between slots, though bitwise equality is "
     "registered."},
};

}  // namespace

std::span<const NoteEntry> note_table() {
  return kNotes;
}

const NoteEntry* find_note(std::string_view code) {
  const auto* found = std::find_if(std::begin(kNotes), std::end(kNotes),
                                   [&](const NoteEntry& entry) { return entry.code == code; });
  return found == std::end(kNotes) ? nullptr : found;
}

record::Note make_note(std::string_view code, std::string where, std::string text) {
  const NoteEntry* entry = find_note(code);
  ABBA_CHECK(entry != nullptr);
  return {std::string(code), entry->severity, std::move(where), std::move(text)};
}

}  // namespace abba::stats
