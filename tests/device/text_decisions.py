#!/usr/bin/env python3
"""The same decisions on a GPU as on the CPU, both in bf16, for text requests.

    text_decisions.py --decide TOOL --laya PROGRAM

TOOL is abba_decide_lines. The requests are all of tests/reference/goldens and the named ones of experiments/requests,
each family's on its small checkpoint.
Tokens, markers and what is refused must be equal. A question's decision has changed if another option is chosen than on
the CPU, which was surer of its choice than MARGIN; no probability may be further off than twice MARGIN. Canaries must be
noticed. Exits 1 on a difference; 77 if there is no GPU or no vocabulary (1 if ABBA_REQUIRE_CUDA=1 or ABBA_REQUIRE_ORACLE=1)."""
import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import original_goldens  # noqa: E402

# Of a probability: network_checks_test holds bf16 on either device that near to fp32, so the two lie within twice that.
MARGIN = 0.03


def answers(tool, checkpoint, backend, requests):
    lines = "".join(json.dumps(request, ensure_ascii=False) + "\n" for request in requests)
    done = subprocess.run([tool, checkpoint, "bf16", backend], input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{tool} {checkpoint} bf16 {backend} ended with {done.returncode}: {done.stderr.strip()}")
    results = [json.loads(line) for line in done.stdout.removesuffix("\n").split("\n")]
    if len(results) != len(requests):
        sys.exit(f"{tool} gave {len(results)} answers to {len(requests)} requests")
    return results


class Count:
    def __init__(self):
        self.rows = self.ties = 0
        self.farthest, self.differences = 0.0, []

    def row(self, where, cpu, gpu):
        self.rows += 1
        for key in ("ids", "markers"):
            if cpu[key] != gpu[key]:
                return self.differences.append(f"{where}: {key} differ")
        apart = max(abs(a - b) for a, b in zip(cpu["p"], gpu["p"], strict=True))
        self.farthest = max(self.farthest, apart)
        if not apart <= 2 * MARGIN:  # so that NaN counts
            self.differences.append(f"{where}: a probability is {apart:.3g} off")
        chosen, other = cpu["p"].index(max(cpu["p"])), gpu["p"].index(max(gpu["p"]))
        if chosen != other:
            if cpu["p"][chosen] - cpu["p"][other] > MARGIN:
                self.differences.append(f"{where}: option {other} in place of {chosen}")
            else:
                self.ties += 1

    def request(self, where, cpu, gpu):
        if ("refused" in cpu) != ("refused" in gpu) or len(cpu.get("rows", ())) != len(gpu.get("rows", ())):
            return self.differences.append(f"{where}: refused by one, or rows missing")
        for number, (one, other) in enumerate(zip(cpu.get("rows", ()), gpu.get("rows", ()))):
            self.row(f"{where}, row {number}", one, other)


def canaries(cpu):
    """What must be noticed: (name, results)."""
    place = next((i for i, result in enumerate(cpu) if result.get("rows") and
                  max(result["rows"][0]["p"]) - min(result["rows"][0]["p"]) > 4 * MARGIN), None)
    if place is None:
        sys.exit("no question is decided clearly enough for the canaries")
    for name in ("the likeliest and the least likely option exchanged", "an id", "a row missing", "refused"):
        changed = copy.deepcopy(cpu)
        row = changed[place]["rows"][0]
        if name == "an id":
            row["ids"][0] += 1
        elif name == "a row missing":
            changed[place]["rows"].pop()
        elif name == "refused":
            changed[place] = {"refused": "made up"}
        else:
            low, high = row["p"].index(min(row["p"])), row["p"].index(max(row["p"]))
            row["p"][low], row["p"][high] = row["p"][high], row["p"][low]
        yield name, changed


def compare(cpu, gpu):
    count = Count()
    for number, (one, other) in enumerate(zip(cpu, gpu, strict=True)):
        count.request(f"request {number}", one, other)
    return count


def requests_of(family):
    _, goldens = original_goldens.read(os.path.join(original_goldens.FOLDER, f"{family}.jsonl.xz"))
    named = [json.loads(file.read_text()) for file in sorted((ROOT / "experiments/requests").glob("*.json"))]
    return [golden["request"] for golden in goldens] + named


def check(options, family, folder):
    checkpoint, _ = original_goldens.make_checkpoint(family, options.laya, folder)
    requests = requests_of(family)
    cpu = answers(options.decide, checkpoint, "cpu", requests)
    count = compare(cpu, answers(options.decide, checkpoint, "cuda", requests))
    missed = [name for name, changed in canaries(cpu) if not compare(cpu, changed).differences]
    print(f"{family}: {len(requests)} requests, {count.rows} questions, {len(count.differences)} decisions differ, {count.ties} "
          f"between options closer than {MARGIN}, probabilities off by at most {count.farthest:.3g}")
    for line in count.differences[:5] + [f"CANARY {name} was not noticed" for name in missed]:
        print("  " + line)
    return count.rows, len(count.differences) + len(missed)


def skip(variable, why):
    print(why)
    sys.exit(1 if os.environ.get(variable) == "1" else 77)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decide", required=True)
    parser.add_argument("--laya", required=True)
    options = parser.parse_args()
    doctor = subprocess.run([options.laya, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    cuda = json.loads(doctor)["cuda"]
    if not cuda["available"]:
        skip("ABBA_REQUIRE_CUDA", f"no GPU to ask: {cuda['reason']}")
    rows = wrong = 0
    for family in original_goldens.FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found, result = check(options, family, folder)
            except original_goldens.NoVocabulary as reason:
                skip("ABBA_REQUIRE_ORACLE", f"{family}: {reason}")
        rows, wrong = rows + found, wrong + result
    print(f"{rows} questions in all, {wrong} differences")
    sys.exit(1 if wrong or rows < 200 else 0)


if __name__ == "__main__":
    main()
