// The same-hash law: arms with equal code, factors, files and inputs make the run an A/A run.
#pragma once

#include "harness/record/run_record.h"

namespace abba::stats {

// Code: bindings named "KIND/A..." and "KIND/B..." are equal once the arm's letter is taken out
// (executables, arguments, libraries; two builds with one code digest are one program), and the
// commands' remaining words are equal. Factors: as declared and as the workers reported them.
// Files, settings and inputs are common to both arms by the manifest's form. Source trees are not
// compared: equal code from other documents is equal code. Without any bound code, false unless the
// manifest declares an A/A run.
[[nodiscard]] bool arms_are_equal(const record::RunRecord& run);

// The manifest says so (independent variable `none`).
[[nodiscard]] bool declared_equal(const record::RunRecord& run);

}  // namespace abba::stats
