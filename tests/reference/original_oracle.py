#!/usr/bin/env python3
"""What the original package answers: makes the goldens that parity.py compares the engine with.

    original_oracle.py --install              the pinned packages into .venv-original (about 6 GB), once
    original_oracle.py --make                 all goldens beside this file, again
    original_oracle.py --check                runs the package anew and compares with the goldens
    original_oracle.py --make --checkpoint DIR --out DIR2
                                              fixtures of any checkpoint, for ABBA_PARITY_FIXTURES=DIR2
    original_oracle.py --lock                 requirements.lock anew from requirements.in

Runs nowhere but by hand: the package and torch are large. Versions other than the pinned ones are reported, and
refused for goldens. Exits 1 on a difference, 2 on bad usage, 4 if the environment is not as pinned.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
ENVIRONMENT = os.path.join(ROOT, ".venv-original")
MAX_ATTEMPTS = 60

sys.path.insert(0, HERE)
import original_goldens  # noqa: E402
import original_requests  # noqa: E402


def fail(code, message):
    print(f"original_oracle.py: {message}", file=sys.stderr)
    sys.exit(code)


def run(*argv):
    done = subprocess.run(argv, check=False)
    if done.returncode:
        fail(4, f"{' '.join(argv[:4])} ... ended with {done.returncode}")


def install():
    run(sys.executable, "-m", "venv", ENVIRONMENT)
    run(os.path.join(ENVIRONMENT, "bin", "pip"), "install", "--disable-pip-version-check", "--no-deps", "--require-hashes",
        "-r", original_goldens.LOCK)


def lock():
    """Every wheel that pip would install for requirements.in, with its hash; pip is the one that resolves."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        run(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
        run(os.path.join(folder, "venv", "bin", "pip"), "install", "--disable-pip-version-check", "--dry-run", "--quiet",
            "--report", report, "-r", os.path.join(HERE, "requirements.in"))
        with open(report, encoding="utf-8") as file:
            items = json.load(file)["install"]
    lines = sorted(f"{item['metadata']['name'].lower()}=={item['metadata']['version']} "
                   f"--hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}" for item in items)
    with open(original_goldens.LOCK, "w", encoding="utf-8") as file:
        file.write("# Made by original_oracle.py --lock from requirements.in; UPGRADE.md says when.\n" + "\n".join(lines) + "\n")


def enter_environment():
    python = os.path.join(ENVIRONMENT, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(ENVIRONMENT):
        return
    if not os.path.exists(python):
        fail(4, f"no environment at {ENVIRONMENT}; run original_oracle.py --install")
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


def require_pinned():
    found, pinned = original_goldens.installed(), original_goldens.pinned()
    other = [f"{name} {found.get(name, 'missing')} (pinned {version})" for name, version in pinned.items()
             if found.get(name) != version]
    if other:
        fail(4, "the environment is not as requirements.lock pins it: " + ", ".join(other) + "; run --install, or change "
                "the pins as UPGRADE.md says")
    return found


def decided(original, family, kind):
    """A request of a kind whose published digits do not hang on the order of fp32 additions."""
    attempts = [0] * original_requests.MOST_QUESTIONS
    for _ in range(MAX_ATTEMPTS):
        request = original_requests.request(family, kind, attempts)
        golden = original.answer(request)
        undecided = [] if "refused" in golden else original.undecided(golden)
        if not undecided:
            return {"kind": kind, "drawn_again": sum(attempts), "request": request} | golden
        for index in undecided:
            attempts[index] += 1
    fail(1, f"{family}, {kind}: {MAX_ATTEMPTS} attempts, each with a digit that fp32 does not decide")


def require_published(original):
    import original_published

    mistakes = original_published.mistakes(original)
    if mistakes:
        fail(1, "this package is not the original that is meant: " + "; ".join(mistakes))
    print("english: published rows and answers reproduced", flush=True)


def goldens_of(family, checkpoint, versions, checkpoint_facts):
    from original_model import DECIDED_LOGIT, Original

    original = Original(checkpoint)
    if family == "english":
        require_published(original)
    items = [decided(original, family, kind) for kind in original_requests.KINDS]
    header = {"schema": original_goldens.SCHEMA, "family": family, "checkpoint": checkpoint_facts, "versions": versions,
              "scripts_sha256": original_goldens.scripts_digest(), "decided_logit": DECIDED_LOGIT, "precision": "fp32",
              "requests": len(items), "drawn_again": sum(item["drawn_again"] for item in items)}
    print(f"{family}: {len(items)} requests, {sum(len(item.get('rows', [])) for item in items)} rows, "
          f"{header['drawn_again']} drawn again", flush=True)
    return header, items


def make_families(options, folder, keep):
    for family in options.family or original_goldens.FAMILIES:
        with tempfile.TemporaryDirectory() as temporary:
            checkpoint, facts = original_goldens.make_checkpoint(family, options.laya, temporary)
            header, items = goldens_of(family, checkpoint, options.versions, facts)
        keep(family, header, items, os.path.join(folder, f"{family}.jsonl.xz"))


def write(family, header, items, path):
    original_goldens.write(path, header, items)
    print(f"{path}: {os.path.getsize(path)} bytes")


def compare(family, header, items, path):
    _, before = original_goldens.read(path)
    wrong = [now["kind"] for now, then in zip(items, before) if now != then]
    if wrong or len(items) != len(before):
        fail(1, f"{family}: the package answers otherwise now for {', '.join(wrong[:5]) or 'another number of requests'}")


def decode_rows(options):
    """Rows of logits whose digits a correctly rounded exp would change, and others: numpy's arithmetic pinned."""
    from original_decode import rows

    path = os.path.join(original_goldens.FOLDER, "decode.jsonl.xz")
    header = {"schema": original_goldens.SCHEMA, "family": "decode", "versions": options.versions,
              "scripts_sha256": original_goldens.scripts_digest()}
    (write if options.make else compare)("decode", header, rows(), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for action in ("--install", "--lock", "--make", "--check"):
        parser.add_argument(action, action="store_true")
    parser.add_argument("--laya", default=os.path.join(ROOT, "build/release/bin/abba-laya"))
    parser.add_argument("--family", action="append", choices=original_goldens.FAMILIES)
    parser.add_argument("--checkpoint")
    parser.add_argument("--out")
    options = parser.parse_args()
    if bool(options.checkpoint) != bool(options.out) or not (options.install or options.lock or options.make or options.check):
        parser.error("give --install, --lock, --make or --check; --checkpoint and --out belong together")
    if options.lock:
        lock()
    if options.install:
        install()
    if not (options.make or options.check):
        return 0
    enter_environment()
    options.versions = require_pinned()
    if options.checkpoint:
        facts = original_goldens.checkpoint_facts(options.checkpoint)
        header, items = goldens_of("own", options.checkpoint, options.versions, facts)
        os.makedirs(options.out, exist_ok=True)
        write("own", header, items, os.path.join(options.out, "goldens.jsonl.xz"))
        return 0
    os.makedirs(original_goldens.FOLDER, exist_ok=True)
    make_families(options, original_goldens.FOLDER, write if options.make else compare)
    if not options.family:
        decode_rows(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
