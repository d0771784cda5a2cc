#!/usr/bin/env python3
"""Runs one registered manifest many times and tabulates what each run said, with the same-hash law on and off.

    run_trials.py ABBA MANIFEST COUNT OUT.csv

One row a run: verdict of the primary workload under the law and without it, effect, the interval that
decided, the pass effects and both medians. Every run is in the table, whatever it shows; a run that broke is a row
too. Runs that are there already (from the same registration) are kept and count.
"""
import csv
import glob
import json
import os
import subprocess
import sys

COLUMNS = ["run", "state", "words_law_on", "word_law_off", "effect_percent", "interval_low_percent",
           "interval_high_percent", "level", "pass_sd_percent", "median_a_us", "median_b_us", "pass_log_ratios"]


def report(abba, run_file, *flags):
    done = subprocess.run([abba, "report", run_file, "--json", *flags], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def percent(fraction):
    return "" if fraction is None else f"{100 * fraction:.3f}"


def medians(verdict):
    pooled = {s["arm"]: s["median"] for s in verdict["summaries"] if s["pass"] in (-1, None)}
    return [f"{pooled[arm] / 1000:.2f}" if arm in pooled else "" for arm in ("A", "B")]


def row(abba, run_file):
    on, off = report(abba, run_file), report(abba, run_file, "--law-off")
    primary_on = next(v for v in on["verdicts"] if v["primary"])
    primary = next(v for v in off["verdicts"] if v["primary"])
    deciding = primary["deciding"] or {}
    return [off["run"]["id"], off["run"]["state"], primary_on["word"], primary["word"], percent(primary["effect"]),
            percent(deciding.get("low")), percent(deciding.get("high")), deciding.get("level"),
            percent(primary["pass_sd"]), *medians(primary),
            " ".join(f"{p['log_ratio']:.5f}" for p in primary["pass_effects"])]


def main():
    abba, manifest, count, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    name = os.path.splitext(os.path.basename(manifest))[0]
    results = os.path.join(os.path.dirname(os.path.abspath(manifest)), "..", "results", name)
    subprocess.run([abba, "register", manifest], check=True, stdout=subprocess.DEVNULL)
    have = len(glob.glob(os.path.join(results, "*.sqlite")))
    for number in range(have, count):
        done = subprocess.run([abba, "run", manifest, "--quiet"], check=False)
        print(f"{name}: run {number + 1} of {count}, exit {done.returncode}", flush=True)
    with open(out, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for run_file in sorted(glob.glob(os.path.join(results, "*.sqlite"))):
            writer.writerow(row(abba, run_file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
