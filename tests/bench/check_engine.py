#!/usr/bin/env python3
"""Runs bench_engine and holds its counters against what the project promises.

Usage: check_engine.py BENCH_ENGINE [CPU]. Pins itself to CPU (default: the last one it may use). Prints
one line a promise; exit code 1 if one is broken, 2 if the bench did not run.
"""
import json
import os
import subprocess
import sys

LEAST_OF_LIBRARY = 0.80
MOST_OVER_PRODUCTS = 1.35
LEAST_BF16_GFLOPS = 300.0  # on one AVX512_BF16 thread


def promises(benchmark):
    """(what, value, limit, kept) of each promise a benchmark carries."""
    if "of_library" in benchmark:
        value = benchmark["of_library"]
        yield "products of the library's own loop", value, LEAST_OF_LIBRARY, value >= LEAST_OF_LIBRARY
        if "avx512_bf16" in benchmark.get("label", ""):
            value = benchmark["gflops"]
            yield "GFLOP/s in bf16", value, LEAST_BF16_GFLOPS, value >= LEAST_BF16_GFLOPS
    if "over_products" in benchmark:
        value = benchmark["over_products"]
        yield "forward over its products", value, MOST_OVER_PRODUCTS, value <= MOST_OVER_PRODUCTS


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    cpu = int(sys.argv[2]) if len(sys.argv) == 3 else max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    done = subprocess.run([sys.argv[1], "--benchmark_format=json"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return 2
    broken = 0
    for benchmark in json.loads(done.stdout)["benchmarks"]:
        for what, value, limit, kept in promises(benchmark):
            broken += not kept
            verdict = "kept" if kept else "BROKEN"
            print(f"{benchmark['name'].split('/iter')[0]}: {what} {value:.2f} (limit {limit:.2f}): {verdict}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
