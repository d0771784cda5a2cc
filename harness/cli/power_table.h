// What `abba power` says: the effect that the planned passes find and the passes that an effect
// needs, from the noise of stored A/A runs. Pure: numbers in, text or JSON out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/calibration/noise.h"
#include "harness/record/manifest.h"

namespace abba::cli {

// The plan whose passes are counted; as it stands, the preset `standard` for one workload.
struct PlannedPasses {
  int passes = 12;
  int looks = 2;
  int workloads = 1;  // of the primary family
  double error = 0.05;
  std::optional<double> harm_limit;
  // Of one look and, for differences, of one workload of the family (the first that Holm tests).
  [[nodiscard]] double look_alpha() const { return error / looks; }
  [[nodiscard]] double alpha() const { return look_alpha() / workloads; }
};

[[nodiscard]] PlannedPasses planned_passes(const record::Manifest& manifest);

class PowerTable {
 public:
  // `wanted_effect`: a fraction, 0.01 = 1 %; 0 = the usual ones, 0.25 to 5 %.
  PowerTable(const PlannedPasses& plan, double wanted_effect)
      : plan_(plan), wanted_effect_(wanted_effect) {}

  // One workload's paragraph for a terminal, and the same for programs.
  [[nodiscard]] std::string text(const calibration::WorkloadNoise& noise) const;
  [[nodiscard]] base::Json json(const calibration::WorkloadNoise& noise) const;
  // Without any A/A run: what follows from the count of passes alone.
  [[nodiscard]] std::string in_units_of_noise() const;

 private:
  [[nodiscard]] std::vector<double> effects() const;
  [[nodiscard]] double difference(double sd, double power) const;
  [[nodiscard]] double equivalence(double sd, double power) const;
  [[nodiscard]] int for_difference(double effect, double sd, double power) const;
  [[nodiscard]] int for_equivalence(double margin, double sd, double power) const;

  PlannedPasses plan_;
  double wanted_effect_;
};

}  // namespace abba::cli
