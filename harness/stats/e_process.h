// Evidence that may be looked at after every pass: a bet against "no difference" whose fair value
// stays 1 however often one looks. No plan uses it; a later one may.
#pragma once

#include <vector>

namespace abba::stats {

inline constexpr double kEProcessRho2 = 0.5;

// log E_n for n = 1.., with x_i = values_i / scale, S = sum x_i, V = sum x_i^2:
//   E_n = (1 + rho2 V)^(-1/2) exp(rho2 S^2 / (2 (1 + rho2 V))),
// the mixture over lambda ~ N(0, rho2) of exp(lambda S - lambda^2 V / 2). If the sign of each value
// is a fair coin given its size and the past (what the random start of ABBA/BAAB brings about where
// the arms are equal), the mixture's expectation is at most 1 at any stopping time (de la Pena,
// Annals of Probability 27, 1999; Robbins, Annals of Mathematical Statistics 41, 1970).
// `scale` comes from the plan, never from these values. The logarithm, because E itself overflows.
// Empty if a value is not finite or scale or rho2 are not positive numbers.
[[nodiscard]] std::vector<double> log_e_process(const std::vector<double>& values, double scale,
                                                double rho2 = kEProcessRho2);

// The first n with E_n >= 1/alpha, or -1. Under "no difference" it is ever reached with probability
// at most alpha (Ville). 0 < alpha < 1, else -1.
[[nodiscard]] int first_decided(const std::vector<double>& log_e, double alpha);

}  // namespace abba::stats
