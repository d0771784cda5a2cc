// The whole grid, what is required of it, and the page that shows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/gate_grid.h"
#include "tests/simulation/grid.h"

namespace abba::simulation {

// How much is simulated: the full form is published, the short one runs with the tests. Both are
// judged alike, by what was seen and not by how far it may be off.
struct Size {
  std::vector<std::string> plans;
  std::uint64_t null_runs = 0;    // of each model and plan, without an effect
  std::uint64_t effect_runs = 0;  // of each other cell
  std::vector<double> effects;
  GateSize gate;
  std::uint64_t margin_runs = 0;
  int theory_draws = 0;
};
[[nodiscard]] Size full_size();
[[nodiscard]] Size short_size();

struct Grid {
  Size size;
  std::vector<Cell> cells;  // effect 0 first, claim "faster" ("disjoint-pass-means" in two-pass)
  std::vector<GateRow> gate;
  // Claim "equivalent" within 2 %, `standard`: each model without an effect and at 2 %, then
  // independent noise without an effect and ten times as large.
  std::vector<Cell> margin;
  std::vector<double> looks_theory;  // of the standard plan, for size.effects, independent noise
};

// Says on standard error how far it is.
[[nodiscard]] Grid simulate_grid(const Size& size, int threads);

struct Requirement {
  std::string text;
  std::string seen;
  bool met = false;
};
[[nodiscard]] std::vector<Requirement> requirements(const Grid& grid);

// Markdown; the same grid gives the same text.
[[nodiscard]] std::string page(const Grid& grid, const std::vector<Requirement>& required);

// The cell of `cells` with that plan, model and effect.
[[nodiscard]] const Cell& find(const Grid& grid, const std::string& plan, std::string_view model,
                               double effect);

}  // namespace abba::simulation
