#!/usr/bin/env python3
"""Deviation of the logits of a checkpoint over the thirteen fixtures, each row's mean taken out and as they are.

    logit_spread.py PROGRAM CHECKPOINT [bf16 | fp32]

PROGRAM is abba-laya. Logits far closer together than 2 would make a comparison of decisions say little.
"""
import array
import base64
import glob
import json
import os
import statistics
import subprocess
import sys

FIXTURES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../experiments/fixtures"))


def main():
    program, checkpoint, precision = (sys.argv + ["bf16"])[1:4]
    worker = subprocess.Popen([program, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(message):
        worker.stdin.write(json.dumps(message) + "\n")
        worker.stdin.flush()
        answer = json.loads(worker.stdout.readline())
        if "error" in answer:
            sys.exit(f"{program}: {answer['error']['message']}")
        return answer

    ask({"type": "hello", "versions": ["abba.worker/1"]})
    ask({"type": "load", "settings": {"precision": precision}, "files": {"checkpoint": checkpoint, "fixtures": FIXTURES}})
    plain, centred = [], []
    for path in sorted(glob.glob(os.path.join(FIXTURES, "*.json"))):
        name = os.path.basename(path)[:-5]
        with open(path, encoding="utf-8") as file:
            counts = [len(row["markers"]) for row in json.load(file)["rows"]]
        ask({"type": "prepare", "workload": {"id": name, "input": {"fixture": name}}})
        answer = ask({"type": "outputs", "workload": name, "stages": ["logits"], "values": True})
        values = list(array.array("f", base64.b64decode(answer["tensors"][0]["values_f32"])))
        for count in counts:
            row, values = values[:count], values[count:]
            plain += row
            centred += [value - statistics.fmean(row) for value in row] if count > 1 else []
    ask({"type": "shutdown"})
    print(f"{len(plain)} logits: deviation {statistics.pstdev(plain):.2f}, within rows {statistics.pstdev(centred):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
