#!/usr/bin/env python3
"""Compares harness/stats with SciPy and statsmodels, number for number.

    statistics_oracle.py TOOL --environment VENV [--seed N]

TOOL is abba_statistics_lines. Every function of estimates, tests, intervals, levels and power, on drawn and on
awkward values (ties, zeros, two values, far tails). The bootstrap, which is random, is held against another one
that makes its resamples in full. Each number of each answer has a canary: the same comparison with it alone moved
by a millionth (the bootstrap: by two fifths of a standard deviation) must be flagged. Exits 1 on any difference, 77 if the environment is missing
(1 if ABBA_REQUIRE_ORACLE=1).
"""
import argparse
import glob
import json
import os
import random
import subprocess
import sys

TOLERANCE = 1e-9


def missing(environment):
    if all(glob.glob(os.path.join(environment, "lib", "python3*", "site-packages", name))
           for name in ("scipy", "statsmodels")):
        return None
    return f"no scipy and statsmodels below {environment}; run ./dev setup_oracle"


def run_tool(tool, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([tool], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{tool} failed ({done.returncode}): {done.stderr.strip()}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        sys.exit(f"{tool} gave {len(answers)} answers to {len(requests)} requests; each must have one line")
    return answers


def close(a, b, tolerance):
    return len(a) == len(b) and all(abs(x - y) <= tolerance * max(abs(x), abs(y), 1e-290) for x, y in zip(a, b))


class Oracle:
    """The same functions by other people: each takes a request and gives the numbers expected."""

    def __init__(self):
        import numpy
        from scipy import integrate, stats
        from statsmodels.stats import multitest, power, weightstats
        self.np, self.stats, self.integrate = numpy, stats, integrate
        self.multitest, self.power, self.weightstats = multitest, power, weightstats

    def student_interval(self, r):
        interval = self.stats.ttest_1samp(r["x"], 0).confidence_interval(r["level"])
        return [interval.low, interval.high]

    def student_p(self, r):
        return [self.stats.ttest_1samp(r["x"], 0).pvalue]

    def tost_p(self, r):
        return [self.weightstats.DescrStatsW(r["x"]).ttost_mean(r["low"], r["high"])[0]]

    def signed_rank_p(self, r):
        values = self.np.array([x for x in r["x"] if x != 0])  # Wilcoxon's rule for zeros
        every_pattern = self.stats.PermutationMethod(n_resamples=1 << 20)
        ties = len(set(abs(values))) < len(values)
        return [self.stats.wilcoxon(values, method=every_pattern if ties else "exact").pvalue]

    def sign_flip_p(self, r):
        mean = lambda x, axis: self.np.mean(x, axis=axis)
        return [self.stats.permutation_test((r["x"],), mean, permutation_type="samples", vectorized=True,
                                            n_resamples=1 << 20).pvalue]

    def hodges_lehmann(self, r):
        x = self.np.array(r["x"])
        i, j = self.np.triu_indices(len(x))
        return [self.np.median((x[i] + x[j]) / 2)]

    def holm(self, r):
        return [float(b) for b in self.multitest.multipletests(r["p"], r["alpha"], method="holm")[0]]

    def benjamini_hochberg(self, r):
        rejected, adjusted, _, _ = self.multitest.multipletests(r["p"], r["rate"], method="fdr_bh")
        return [float(x) for pair in zip(adjusted, rejected) for x in pair]

    def quantile_interval(self, r):
        value = self.np.quantile(r["x"], r["p"])
        interval = self.stats.quantile_test(r["x"], p=r["p"]).confidence_interval(r["level"])
        if self.np.isnan(interval.low) or self.np.isnan(interval.high):
            return [value]
        ordered = sorted(r["x"])
        law = self.stats.binom(len(ordered), r["p"])
        lower, upper = ordered.index(interval.low) + 1, ordered.index(interval.high) + 1
        return [value, interval.low, interval.high, law.cdf(upper - 1) - law.cdf(lower - 1)]

    def student_quantile(self, r):
        return [self.stats.t.ppf(r["p"], r["df"])]

    def noncentral_t_upper_p(self, r):
        return [self.stats.nct.sf(r["t"], r["df"], r["shift"])]

    def binomial_cdf(self, r):
        return [self.stats.binom.cdf(r["k"], r["n"], r["p"])]

    def proportion_interval(self, r):
        interval = self.stats.binomtest(r["k"], r["n"]).proportion_ci(r["level"], method="exact")
        return [interval.low, interval.high]

    def two_sided_power(self, r):
        power = self.power.TTestPower().power(r["effect"], r["n"], r["alpha"], alternative="two-sided")
        if self.np.isnan(power):  # its far tail, below 1e-12 there, is not a number; then the near one alone
            power = self.stats.nct.sf(self.stats.t.isf(r["alpha"] / 2, r["n"] - 1), r["n"] - 1,
                                      r["effect"] * r["n"] ** 0.5)
        return [power]

    def one_sided_power(self, r):
        return [self.power.TTestPower().power(r["effect"], r["n"], r["alpha"], alternative="larger")]

    def log_e_process(self, r):
        """The mixture itself, integrated: E_n = integral of exp(l S - l^2 V / 2) over l ~ N(0, rho2)."""
        result = []
        total = squares = 0.0
        for value in r["x"]:
            x = value / r["scale"]
            total, squares = total + x, squares + x * x
            law = self.stats.norm(0, r["rho2"] ** 0.5)
            bet = lambda l, s=total, v=squares, law=law: self.np.exp(l * s - l * l * v / 2) * law.pdf(l)
            result.append(self.np.log(self.integrate.quad(bet, -20, 20, epsabs=0, epsrel=1e-12, limit=400,
                                                          points=[-1, 0, 1])[0]))
        return result

    def bootstrap(self, r):
        """Resamples made in full, request by request."""
        np, rng = self.np, self.np.random.default_rng(1)
        hl = lambda d: self.hodges_lehmann({"x": d})[0]

        def contrast(block, draw):
            of = lambda b: np.mean([np.quantile(draw(np.array(s["x"])), r["p"]) for s in block if s["b"] == b])
            return of(True) - of(False)

        resampled = lambda x: x[rng.integers(len(x), size=len(x))]
        passes, effects = r["passes"], []
        for _ in range(r["resamples"]):
            chosen = [passes[i] for i in rng.integers(len(passes), size=len(passes))]
            effects.append(np.mean([hl([contrast(blocks[i], resampled) for i in rng.integers(len(blocks), size=len(blocks))])
                                    for blocks in chosen]))
        estimate = np.mean([hl([contrast(b, lambda x: x) for b in blocks]) for blocks in passes])
        return [estimate, np.mean(effects), np.std(effects, ddof=1), *np.quantile(effects, [0.025, 0.975])]

    def expected(self, request):
        return [float(x) for x in getattr(self, request["f"])(request)]


def interval_is_the_test_turned_round(oracle, request, answer):
    """SciPy has no signed-rank interval: just outside of ours its test rejects, just inside it does not."""
    x, alpha = oracle.np.array(request["x"]), 1 - request["level"]
    p = lambda centre: oracle.stats.wilcoxon(x - centre, method="exact").pvalue
    if not answer:
        return p(min(x) - 1) > alpha  # even a centre below all values is not rejected
    low, high, level = answer
    step = 1e-9 * max(1.0, abs(low), abs(high))
    worst = max(p(low - step), p(high + step))
    return (worst <= alpha < min(p(low + step), p(high - step))) and abs(1 - worst - level) < 1e-9


def drawn(rng, count, shift=0.0, scale=1.0):
    return [shift + scale * rng.gauss(0, 1) for _ in range(count)]


def slots(rng, passes, blocks, count):
    """Passes of ABBA blocks with luck of each arm in each pass."""
    result = []
    for _ in range(passes):
        luck = [rng.gauss(0, 0.3), 0.5 + rng.gauss(0, 0.3)]
        result.append([[{"b": b, "x": sorted(drawn(rng, count, luck[b]))} for b in (False, True, True, False)]
                       for _ in range(blocks)])
    return result


def make_requests(rng):
    awkward = [[0.1, 0.1, -0.1, 0.3, 0.0, 0.07, -0.2], [1.0, -1.0, 2.0, -2.0, 3.0, 3.0], [0.0, 0.0, 0.5, 0.25, 0.125, 1, 2]]
    sets = [drawn(rng, n, rng.choice([0, 0.5, -3]), rng.choice([1e-4, 1, 50])) for n in (2, 3, 6, 8, 12) for _ in range(4)]
    requests = []
    for x in sets + awkward:
        requests += [{"f": "student_p", "x": x}, {"f": "hodges_lehmann", "x": x},
                     {"f": "tost_p", "x": x, "low": -0.4, "high": 0.6}, {"f": "signed_rank_p", "x": x}]
        requests += [{"f": "student_interval", "x": x, "level": level} for level in (0.9, 0.95, 0.9875)]
        if len(x) >= 6:
            requests.append({"f": "sign_flip_p", "x": x})
    for x in sets:
        requests += [{"f": "signed_rank_interval", "x": x, "level": level} for level in (0.9, 0.95)]
    for n in (1, 2, 5, 20, 60):
        for _ in range(3):
            p = [rng.random() ** 3 for _ in range(n)]
            requests += [{"f": "holm", "p": p, "alpha": 0.05}, {"f": "benjamini_hochberg", "p": p, "rate": 0.1}]
    for n in (1, 5, 6, 10, 71, 72, 100, 367, 368, 1000):
        for p in (0.25, 0.5, 0.95, 0.99):
            requests.append({"f": "quantile_interval", "x": drawn(rng, n), "p": p, "level": 0.95})
    for df in (1, 5, 11, 500):
        requests += [{"f": "student_quantile", "p": p, "df": df} for p in (0.5, 0.8, 0.975, 0.99875, 0.9999)]
        requests += [{"f": "noncentral_t_upper_p", "t": t, "df": df, "shift": shift}
                     for t in (-1, 2.5, 4.4) for shift in (0, 1, 7)]
    for n, k in ((1, 0), (10, 3), (59, 0), (200, 16), (10000, 487), (10000, 10000)):
        requests += [{"f": "binomial_cdf", "k": k, "n": n, "p": p} for p in (0.05, 0.5, 0.99)]
        requests.append({"f": "proportion_interval", "k": k, "n": n, "level": 0.95})
    for n in (2, 6, 8, 12, 40):
        for effect in (0.0, 0.3, 1.0, 2.0):
            requests += [{"f": f, "n": n, "effect": effect, "alpha": a}
                         for f in ("two_sided_power", "one_sided_power") for a in (0.05, 0.025, 0.0004)]
    requests += [{"f": "log_e_process", "x": drawn(rng, 12, shift), "scale": 0.8, "rho2": 0.5} for shift in (0, 0.5, 1.5)]
    requests += [{"f": "bootstrap", "passes": slots(rng, passes, blocks, count), "resamples": 3000, "p": p}
                 for passes, blocks, count, p in ((12, 2, 6, 0.5), (8, 3, 7, 0.5), (12, 2, 10, 0.9))]
    return requests


def agrees(oracle, request, answer, expected):
    if request["f"] == "signed_rank_interval":
        return interval_is_the_test_turned_round(oracle, request, answer)
    if request["f"] == "bootstrap":  # two random samples of 3,000: four standard errors of sd and mean, and the same point
        sd = expected[2]
        return (close(answer[:1], expected[:1], TOLERANCE) and abs(answer[1] - expected[1]) < 6 * sd / 3000 ** 0.5
                and abs(answer[2] / sd - 1) < 0.075 and all(abs(a - b) < 0.2 * sd for a, b in zip(answer[3:], expected[3:])))
    loose = request["f"] in ("noncentral_t_upper_p", "two_sided_power", "one_sided_power")
    return close(answer, expected, 1e-7 if loose else TOLERANCE)


def spoilt(request, answer):
    """The answer with one number a little wrong, for each of its numbers: what the comparison must notice."""
    for index, x in enumerate(answer):
        if request["f"] == "bootstrap":  # twice the widest tolerance of `agrees`
            wrong = x + 0.4 * answer[2]
        else:
            wrong = x * (1 + 1e-6) if x else 1e-6
        yield index, answer[:index] + [wrong] + answer[index + 1:]


def compare(oracle, requests, answers):
    seen, wrong, silent = {}, [], set()
    for request, answer in zip(requests, answers):
        name = request["f"]
        expected = [] if name == "signed_rank_interval" else oracle.expected(request)
        seen[name] = seen.get(name, 0) + 1
        if not agrees(oracle, request, answer, expected):
            wrong.append(f"{json.dumps(request)[:200]}\n  here {answer}\n  theirs {expected}")
        silent.update(f"{name}, number {index + 1}" for index, wrong_one in spoilt(request, answer)
                      if agrees(oracle, request, wrong_one, expected))
    for name, count in sorted(seen.items()):
        print(f"{name}: {count}")
    if silent:
        wrong.append(f"canaries were not noticed: {'; '.join(sorted(silent))}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--environment", required=True)
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    reason = missing(options.environment)
    if reason:
        print(reason)
        return 1 if os.environ.get("ABBA_REQUIRE_ORACLE") == "1" else 77
    python = os.path.join(options.environment, "bin", "python")
    if os.path.realpath(sys.prefix) != os.path.realpath(options.environment):
        os.execv(python, [python, *sys.argv])
    requests = make_requests(random.Random(options.seed))
    wrong = compare(Oracle(), requests, run_tool(options.tool, requests))
    for line in wrong[:20]:
        print(line)
    print(f"{len(wrong)} differences" if wrong else f"all {len(requests)} agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
