// Noise of a benchmark machine, with known truth: what each request takes beyond the time that the
// program needs, on the log scale. One model each for the faults that the field reports, and all of
// them together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/prng.h"

namespace abba::simulation {

// Log scale: 0.01 = 1 %. Zero switches a part off.
struct NoiseModel {
  std::string_view name;
  std::string_view text;      // for the table
  double request_sd = 0.04;   // of each request
  bool heavy = false;         // Student's t with 3 degrees of freedom for requests and luck
  double ar1 = 0;             // correlation of neighbouring requests, across slots too
  double drift = 0;           // per 1,000 requests of the machine
  double shift_sd = 0;        // of a level that is redrawn ...
  double shift_chance = 0;    // ... with this chance before each slot
  double clock_drop = 0;      // of the slow one of two clocks, between which the machine ...
  double switch_chance = 0;   // ... switches with this chance before each slot
  double luck_sd = 0;         // of each process, drawn once at its start
  double ramp = 0;            // of a process's first request, falling to a third ...
  double ramp_requests = 40;  // ... over so many
};

[[nodiscard]] const std::vector<NoiseModel>& noise_models();

// The same model with every part so many times as large.
[[nodiscard]] NoiseModel louder(NoiseModel model, double times);

// One machine with two processes, A and B, in time.
class Machine {
 public:
  Machine(const NoiseModel& model, std::uint64_t seed);

  // This machine as it stands (clocks, level, trend, processes), from here on with draws of its
  // own.
  [[nodiscard]] Machine future(std::uint64_t seed) const;

  void start_processes();  // new ones: their luck and their warm-up
  void start_slot();       // clocks and levels may change here
  double request(bool is_b);

 private:
  double draw();  // sd 1

  const NoiseModel model_;
  base::Random random_;
  double correlated_ = 0;
  double trend_ = 0;
  double level_ = 0;
  bool slow_ = false;
  double luck_[2] = {0, 0};
  double heat_[2] = {0, 0};
  double cooling_;
};

}  // namespace abba::simulation
