#!/usr/bin/env python3
"""Compiles every header by itself: a header that needs another one included first is refused.

Usage: headers_alone.py ROOT CXX. Runs as many compilers as there are CPUs this process may use.
"""
import concurrent.futures
import os
import subprocess
import sys


def compile_alone(root, compiler, header):
    standard = "-std=c++17" if header.startswith("harness/worker_kit/") else "-std=c++20"
    source = f'#include "{header}"\nint main() {{ return 0; }}\n'
    done = subprocess.run([compiler, standard, "-I", root, "-Wall", "-Wextra", "-fsyntax-only", "-x", "c++", "-"],
                          input=source, capture_output=True, text=True, cwd=root, check=False)
    return done.stderr if done.returncode != 0 else ""


def main():
    root, compiler = sys.argv[1], sys.argv[2]
    listing = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.h"],
                             check=True, capture_output=True, text=True).stdout.split()
    # Not those that need a toolkit, which a machine may lack.
    headers = [h for h in listing if h.startswith(("engine/", "harness/", "experiments/"))
               and "/cuda/" not in h and not h.startswith("harness/trace/collect/") and not h.endswith("_cuda.h")]
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for header, error in zip(headers, pool.map(lambda h: compile_alone(root, compiler, h), headers)):
            if error:
                broken += 1
                print(f"{header} does not compile alone:\n{error}")
    print(f"{len(headers)} headers, {broken} do not compile alone")
    return 1 if broken or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
