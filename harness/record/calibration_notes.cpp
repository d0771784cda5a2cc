#include "harness/record/calibration_notes.h"

namespace abba::record {
namespace {

constexpr NoteEntry kNotes[] = {
    {kNoCalibration, Severity::kInfo,
     "No calibration record of this machine class was there when the run began, so how often the "
     "harness is wrong here is not known. Measure it with `abba calibrate`.",
     "Run `abba calibrate` on this machine."},
    {kStaleCalibration, Severity::kInfo,
     "The newest calibration record of this machine class is more than 30 days older than the run. "
     "Repeat `abba calibrate`.",
     "Run `abba calibrate` again."},
    {kFailedCalibration, Severity::kDoubt,
     "The newest calibration of this machine class did not hold: the harness gave more wrong "
     "answers than its plan allows, or missed known effects. Read the record before believing a "
     "verdict from there.",
     "Read the rows that fail in the record; quiet the machine and calibrate again."},
};

}  // namespace

std::span<const NoteEntry> calibration_notes() {
  return kNotes;
}

}  // namespace abba::record
