// How far a network's outputs lie from the double-precision reference, by the three checks of the
// numerics page. A limit on the final output alone fails correct code and passes broken code once
// the residual stream has outliers; hence branches with the reference's inputs, and a free run with
// the outlier channels left out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/model/network.h"
#include "engine/ops/reference/reference_network.h"

namespace abba::model {

inline constexpr double kTeacherForcedLimit = 0.006;  // nRMS of each branch
inline constexpr double kFreeRunningLimit = 0.02;     // nRMS of each stage, outliers left out
inline constexpr double kParityNrms = 0.005;          // the published pair, valid tokens
inline constexpr double kParityMaxAbs = 0.02;         // times max(1, largest |reference|)
inline constexpr double kOutlierFactor = 50.0;        // times the median channel RMS

// nrms = |values - reference| / |reference| over the rows a consumer reads (valid tokens, or token
// 0 and the markers in use); max_abs = largest |values - reference|; largest = largest |reference|.
struct StageError {
  std::string stage;
  double nrms = 0.0;
  double max_abs = 0.0;
  double largest = 0.0;
};

// Check 1: every layer is given the reference's input; the branches before each residual add.
std::vector<StageError> teacher_forced_errors(Network& network, LaunchPlan& plan,
                                              const Batch& batch,
                                              const ops::reference::NetworkRecord& reference);
// Check 2: the stages of a free run (embedding, layers, final, decision layers), channels whose
// reference exceeds kOutlierFactor times the median channel RMS left out.
std::vector<StageError> free_running_errors(Network& network, LaunchPlan& plan, const Batch& batch,
                                            const ops::reference::NetworkRecord& reference);
// Check 3: the same stages with every channel, for the published pair of limits.
std::vector<StageError> parity_errors(Network& network, LaunchPlan& plan, const Batch& batch,
                                      const ops::reference::NetworkRecord& reference);

// The stage of largest nrms; `errors` must not be empty.
const StageError& worst(std::span<const StageError> errors);
bool meets_parity_pair(const StageError& error);

}  // namespace abba::model
