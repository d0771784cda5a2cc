#!/usr/bin/env python3
"""cpu_digests_agree.py WITH WITHOUT: two builds of cpu_digests, one with CUDA compiled in and one without,
give the same digest at every stage. Its canary: other token rows must not give the same digests."""
import subprocess
import sys


def digests(program, cuda, *arguments):
    lines = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()
    if lines[0] != f"cuda compiled in: {cuda}":
        sys.exit(f"{program}: expected a build with cuda compiled in: {cuda}, found {lines[0]!r}")
    if len(lines) < 20:
        sys.exit(f"{program}: only {len(lines)} lines, the network has more stages")
    return lines[1:]


def main():
    with_cuda, without_cuda = sys.argv[1:]
    expected = digests(with_cuda, "yes")
    found = digests(without_cuda, "no")
    for ours, theirs in zip(expected, found, strict=True):
        if ours != theirs:
            sys.exit(f"first difference:\n  with CUDA    {ours}\n  without CUDA {theirs}")
    if set(expected) & set(digests(without_cuda, "no", "9")):
        sys.exit("canary: other token rows gave an equal digest, so the digests say nothing")
    print(f"{len(expected)} stages agree")


if __name__ == "__main__":
    main()
