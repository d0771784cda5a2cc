#!/usr/bin/env python3
"""Compares the engine with what the original package answered (goldens/), in fp32.

    parity.py --decide TOOL --decode TOOL --laya PROGRAM

The tools are abba_decide_lines and abba_tokenize_lines. Gates: token ids and markers identical, |difference| of a
logit at most 2e-4, of a probability at most 1e-5, answers and usage equal as JSON text; what the original refuses is refused.
ABBA_PARITY_FIXTURES=DIR compares a checkpoint of your own as well: DIR/goldens.jsonl.xz or .jsonl, made by
`original_oracle.py --make --checkpoint CHECKPOINT --out DIR`. Needs the standard library alone. Canaries must be
flagged: an id, an answer, a count, a refusal changed, and the same requests in bf16. Exits 1 on any difference, 77 if the
English vocabulary is not installed (1 if ABBA_REQUIRE_ORACLE=1).
"""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import original_goldens  # noqa: E402

LOGIT_LIMIT, PROBABILITY_LIMIT = 2e-4, 1e-5


class Report:
    """Differences of one file of goldens; the first three are printed."""

    def __init__(self, name, quiet=False):
        self.name, self.quiet, self.differences = name, quiet, 0
        self.logit = self.probability = 0.0

    def differs(self, kind, what):
        self.differences += 1
        if self.differences <= 3 and not self.quiet:
            print(f"DIFFERS {self.name}, {kind}: {what[:400]}")

    def farthest(self, kind, what, mine, wanted, limit):
        if len(mine) != len(wanted):
            self.differs(kind, f"{len(mine)} {what}, the original has {len(wanted)}")
            return 0.0
        apart = max(abs(a - b) for a, b in zip(mine, wanted))
        if not apart <= limit:
            self.differs(kind, f"{what} apart by {apart:.3g}, the limit is {limit:g}")
        return apart


def run_tool(tool, arguments, values):
    lines = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    done = subprocess.run([tool, *arguments], input=lines, capture_output=True, text=True, check=False)
    results = done.stdout.removesuffix("\n").split("\n")
    if done.returncode or len(results) != len(values):
        sys.exit(f"{tool} ended with {done.returncode} after {len(results)} of {len(values)} lines: {done.stderr.strip()}")
    return results


def compare_row(report, kind, mine, wanted):
    for key in ("ids", "markers"):
        if mine[key] != wanted[key]:
            place = next((i for i, (a, b) in enumerate(zip(mine[key], wanted[key])) if a != b), min(map(len, (mine[key], wanted[key]))))
            report.differs(kind, f"{key} differ at {place}: {mine[key][place:place + 8]}, the original {wanted[key][place:place + 8]}")
    logit = report.farthest(kind, "logits", mine["logits"], wanted["logits"], LOGIT_LIMIT)
    size = max(1.0, *map(abs, wanted["act"]))  # action logits of a trained checkpoint are in the thousands
    report.farthest(kind, "action logits", mine["act"], wanted["act"], LOGIT_LIMIT * size)
    probability = report.farthest(kind, "probabilities", mine["p"], wanted["p"], PROBABILITY_LIMIT)
    report.logit, report.probability = max(report.logit, logit), max(report.probability, probability)


def compare(report, goldens, results):
    for golden, result in zip(goldens, results):
        kind = golden["kind"]
        if ("refused" in golden) != ("refused" in result):
            report.differs(kind, f"engine: {result.get('refused', 'an answer')}; original: {golden.get('refused', 'an answer')}")
        elif "refused" not in golden:
            if len(result["rows"]) != len(golden["rows"]):
                report.differs(kind, f"{len(result['rows'])} rows, the original has {len(golden['rows'])}")
            for mine, wanted in zip(result["rows"], golden["rows"]):
                compare_row(report, kind, mine, wanted)
            # As text: 0.0 and -0.0, 1 and 1.0, and the order of members count.
            for part in ("answers", "usage"):
                mine, wanted = json.dumps(result[part]), json.dumps(golden[part])
                if mine != wanted:
                    report.differs(kind, f"{part}\n  engine   {mine}\n  original {wanted}")
    return report


def tampered(goldens):
    """Each golden with one thing wrong that a comparison must notice: (what, goldens)."""
    answered = next(golden for golden in goldens if len(golden.get("answers", {})) > 1)
    for what in ("an id", "a marker", "a logit", "an answer", "the order of answers", "a count of tokens", "a refusal"):
        golden = copy.deepcopy(answered)
        row, (key, answer) = golden["rows"][-1], list(golden["answers"].items())[-1]
        if what == "an id":
            row["ids"][len(row["ids"]) // 2] += 1
        elif what == "a marker":
            row["markers"][0] += 1
        elif what == "a logit":
            row["logits"][0] += 3 * LOGIT_LIMIT
        elif what == "an answer":
            answer["confidence"] = round(answer["confidence"] + 1e-4, 4)
        elif what == "a count of tokens":
            golden["usage"]["input_tokens"] += 1
        elif what == "the order of answers":
            golden["answers"] = dict(reversed(golden["answers"].items()))
        else:
            golden = {"kind": golden["kind"], "request": golden["request"], "refused": "ValueError"}
        yield what, golden


def check_canaries(goldens, results, bf16):
    wrong = []
    by_kind = {golden["kind"]: result for golden, result in zip(goldens, results)}
    for what, golden in tampered(goldens):
        if not compare(Report(what, quiet=True), [golden], [by_kind[golden["kind"]]]).differences:
            wrong.append(what)
    if not compare(Report("bf16", quiet=True), goldens[:len(bf16)], bf16).differences:
        wrong.append("bf16 in place of fp32")
    for what in wrong:
        print(f"CANARY {what} was not noticed")
    return len(wrong)


def check_goldens(options, header, goldens, checkpoint, with_canaries=True):
    report = Report(header["family"])
    requests = [golden["request"] for golden in goldens]
    results = [json.loads(line) for line in run_tool(options.decide, [checkpoint], requests)]
    compare(report, goldens, results)
    canaries = 0
    if with_canaries:
        bf16 = [json.loads(line) for line in run_tool(options.decide, [checkpoint, "bf16"], requests[:12])]
        canaries = check_canaries(goldens, results, bf16)
    rows = sum(len(golden.get("rows", [])) for golden in goldens)
    print(f"{header['family']}: {len(goldens)} requests, {rows} rows, {report.differences} differences, logits apart by at most "
          f"{report.logit:.2g}, probabilities by {report.probability:.2g}; the original: laya {header['versions']['laya']}, "
          f"torch {header['versions']['torch']}")
    return report.differences + canaries


def require_bound(header, path, facts):
    """A golden counts for the checkpoint, the scripts and the pins it was made with."""
    for key in ("model_sha256", "tokenizer_sha256"):
        if header["checkpoint"][key] != facts[key]:
            raise original_goldens.BadFixture(f"{path}: made with another checkpoint ({key} {header['checkpoint'][key][:12]}, here "
                                              f"{facts[key][:12]}); run original_oracle.py --make")


def require_current(header, path):
    if header["scripts_sha256"] != original_goldens.scripts_digest():
        raise original_goldens.BadFixture(f"{path}: made by other scripts than those that lie here; run original_oracle.py --make")
    other = {name: version for name, version in original_goldens.pinned().items() if header["versions"].get(name) != version}
    if other:
        raise original_goldens.BadFixture(f"{path}: made with {header['versions']}, but requirements.lock pins {other}; run "
                                          "original_oracle.py --install and --make")


def report_native(options):
    """Says which native parts are another version than native_pins.json names; that decides nothing."""
    with open(os.path.join(HERE, "native_pins.json"), encoding="utf-8") as file:
        pins = json.load(file)
    done = subprocess.run([options.laya, "worker", "--describe"], capture_output=True, text=True, check=False)
    facts = json.loads(done.stdout).get("facts", {}) if done.returncode == 0 else {}
    for part, version in pins.items():
        for text in facts.values():
            if isinstance(text, str) and text.startswith(part + " ") and not text.startswith(f"{part} {version}"):
                print(f"NOTE {text} here, native_pins.json names {version}: see UPGRADE.md")


def check_families(options):
    differences = 0
    for family in original_goldens.FAMILIES:
        path = os.path.join(original_goldens.FOLDER, f"{family}.jsonl.xz")
        header, goldens = original_goldens.read(path)
        require_current(header, path)
        with tempfile.TemporaryDirectory() as folder:
            try:
                checkpoint, facts = original_goldens.make_checkpoint(family, options.laya, folder)
            except original_goldens.NoVocabulary as reason:
                print(f"{family}: {reason}")
                options.skipped.append(family)
                continue
            require_bound(header, path, facts)
            differences += check_goldens(options, header, goldens, checkpoint)
    return differences


def check_decode(options):
    """Published digits of random logits through the decoder: numpy's float32 exp and log, bit by bit."""
    path = os.path.join(original_goldens.FOLDER, "decode.jsonl.xz")
    header, rows = original_goldens.read(path)
    require_current(header, path)
    requests = []
    for row in rows:
        count = len(row["logits"])
        criteria = {"choice": {f"l{i}": None for i in range(count)}, "score": [f"s{i}" for i in range(count)]}.get(row["kind"])
        requests.append({"question": {"type": row["kind"], "instructions": "?", "criteria": criteria}, "logits": row["logits"],
                         "act": [0.0, 0.0], "temperature": [row["temperature"]] * 3, "by_options": {}})
    builtin = os.path.normpath(os.path.join(HERE, "../../engine/checkpoint/data"))
    wrong = 0
    for row, line in zip(rows, run_tool(options.decode, [builtin, "--answers"], requests)):
        answer = json.loads(line)
        numbers = [1 - answer["noul"], answer["noul"]] if row["kind"] == "noul" else list(answer["probabilities"].values())
        numbers += [answer["confidence"]] + ([answer["score"]] if row["kind"] == "score" else [])
        skip = 1 if row["kind"] == "noul" else 0  # the probability of false is not published
        wrong += numbers[skip:] != row["numbers"][skip:]
    hanging = sum(row["hangs_on_exp"] for row in rows)
    print(f"decode: {len(rows)} rows, {hanging} of them with a digit that hangs on the last bit of exp or log, {wrong} differ")
    if hanging < 100:
        print("CANARY too few rows hang on the last bit of exp or log")
    return wrong + (hanging < 100)


def check_own(options, folder):
    """Fixtures of any checkpoint, from ABBA_PARITY_FIXTURES."""
    tried = [os.path.join(folder, name) for name in ("goldens.jsonl.xz", "goldens.jsonl")]
    path = next(filter(os.path.exists, tried), None)
    if path is None:
        raise original_goldens.BadFixture(f"ABBA_PARITY_FIXTURES={folder}: neither {tried[0]} nor {tried[1]} exists")
    header, goldens = original_goldens.read(path)
    try:
        checkpoint = os.path.join(folder, header["checkpoint"]["path"])
        require_bound(header, path, original_goldens.checkpoint_facts(checkpoint))
    except (OSError, KeyError, TypeError) as reason:
        raise original_goldens.BadFixture(f"{path}: the checkpoint it names cannot be read: {type(reason).__name__} {reason}") from None
    return check_goldens(options, header, goldens, checkpoint, with_canaries=False)  # any requests will do


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--decide", "--decode", "--laya"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    options.skipped = []
    own = os.environ.get("ABBA_PARITY_FIXTURES")
    try:
        report_native(options)
        differences = check_own(options, own) if own else 0
        differences += check_families(options) + check_decode(options)
    except original_goldens.BadFixture as reason:
        print(f"parity.py: {reason}", file=sys.stderr)
        return 1
    if options.skipped and not differences:
        return 1 if os.environ.get("ABBA_REQUIRE_ORACLE") == "1" else 77
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
