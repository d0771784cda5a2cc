#include "tests/simulation/noise.h"

#include <cmath>

namespace abba::simulation {

const std::vector<NoiseModel>& noise_models() {
  static const std::vector<NoiseModel> models = {
      {.name = "independent", .text = "each request 4 %, independent normal"},
      {.name = "heavy tails",
       .text = "requests and processes from Student's t with 3 degrees of freedom, cut at 50 sd",
       .heavy = true,
       .luck_sd = 0.003},
      {.name = "AR(1)", .text = "neighbouring requests correlated 0.8", .ar1 = 0.8},
      {.name = "linear drift", .text = "5 % slower each 1,000 requests", .drift = 0.05},
      {.name = "level shifts",
       .text = "before one slot in ten a new level, 2 %",
       .shift_sd = 0.02,
       .shift_chance = 0.1},
      {.name = "bimodal clocks",
       .text = "before one slot in six the clock switches between two, 5 % apart",
       .clock_drop = 0.05,
       .switch_chance = 1.0 / 6},
      {.name = "process luck", .text = "each process 0.5 %, drawn at its start", .luck_sd = 0.005},
      {.name = "warm-up ramp",
       .text = "a process begins 5 % slow and cools over 40 requests",
       .ramp = 0.05},
      {.name = "all together",
       .text = "all of the above, shifts and clocks at half their size",
       .heavy = true,
       .ar1 = 0.8,
       .drift = 0.05,
       .shift_sd = 0.01,
       .shift_chance = 0.1,
       .clock_drop = 0.025,
       .switch_chance = 1.0 / 6,
       .luck_sd = 0.005,
       .ramp = 0.05},
  };
  return models;
}

NoiseModel louder(NoiseModel model, double times) {
  for (double* part : {&model.request_sd, &model.drift, &model.shift_sd, &model.clock_drop,
                       &model.luck_sd, &model.ramp}) {
    *part *= times;
  }
  return model;
}

Machine::Machine(const NoiseModel& model, std::uint64_t seed)
    : model_(model), random_(seed), cooling_(std::exp(-1 / model.ramp_requests)) {
  correlated_ = draw();
}

Machine Machine::future(std::uint64_t seed) const {
  Machine machine = *this;
  machine.random_ = base::Random(seed);
  return machine;
}

double Machine::draw() {
  constexpr double kLongest =
      50;  // of heavy tails, in sd: seven times as long as the median request
  for (;;) {
    const double z = random_.normal();
    if (!model_.heavy) {
      return z;
    }
    double squares = 0;
    for (int i = 0; i < 3; ++i) {
      const double other = random_.normal();
      squares += other * other;
    }
    const double t = z / std::sqrt(squares);  // t(3) over sqrt(3), its standard deviation
    if (std::fabs(t) < kLongest) {
      return t;
    }
  }
}

void Machine::start_processes() {
  for (int arm = 0; arm < 2; ++arm) {
    luck_[arm] = model_.luck_sd > 0 ? model_.luck_sd * draw() : 0;
    heat_[arm] = model_.ramp;
  }
}

void Machine::start_slot() {
  if (model_.shift_chance > 0 && random_.uniform() < model_.shift_chance) {
    level_ = model_.shift_sd * draw();
  }
  if (model_.switch_chance > 0 && random_.uniform() < model_.switch_chance) {
    slow_ = !slow_;
  }
}

double Machine::request(bool is_b) {
  const int arm = is_b ? 1 : 0;
  const double fresh = draw();
  correlated_ = model_.ar1 * correlated_ + std::sqrt(1 - model_.ar1 * model_.ar1) * fresh;
  trend_ += model_.drift / 1000;
  const double heat = heat_[arm];
  heat_[arm] *= cooling_;
  return model_.request_sd * correlated_ + trend_ + level_ + (slow_ ? model_.clock_drop : 0) +
         luck_[arm] + heat;
}

}  // namespace abba::simulation
