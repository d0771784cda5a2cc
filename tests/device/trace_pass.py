#!/usr/bin/env python3
"""The trace pass on a GPU: the engine's worker under the tracer, on the smallest network.

    trace_pass.py --abba PROGRAM --laya PROGRAM [--keep FOLDER]

Runs an experiment of two arms (a transpose of its own after the attention, or none) with a trace pass, and demands of
what `abba trace` says: both arms traced whole; launches in every request as many as the worker declares; every launch in
a range of the engine's; a request's busy and idle time add up; the transposes are what B lacks; no measured sample of a
traced process; the run verifies and its trace opens as JSON for Perfetto.
--keep leaves run file and JSON there. Exits 1 on a difference; 77 if there is no GPU (1 if ABBA_REQUIRE_CUDA=1)."""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

LEVELS = {"rope": "row_block_32", "attention_output": "head_major"}
MANIFEST = {
    "id": "trace_tiny",
    "hypothesis": "written row by row, the attention needs no transpose",
    "independent_variable": "attention_output",
    "arms": {"A": {"label": "head_major", "factors": LEVELS},
             "B": {"label": "row_major", "factors": dict(LEVELS, attention_output="row_major")}},
    "settings": {"backend": "cuda", "precision": "bf16"},
    "device": "any",
    "files": [{"name": "checkpoint", "path": "tiny"}],
    "workloads": [{"id": "short", "input": {"shape": [1, 48], "seed": 1}, "boundaries": ["encoder"]},
                  {"id": "batch", "input": {"shape": [4, 100], "seed": 2}, "boundaries": ["encoder"]}],
    "protocol": {"preset": "quick", "passes": 2, "blocks": 1, "load": "expected", "on_taint": "keep",
                 "slot": {"warmup": 5, "requests": 20}},
    "outputs": "bitwise",
    "success": {"claim": "faster"},
    "traces": {"warmup": 3, "requests": 8},
}


class Findings:
    def __init__(self):
        self.count, self.wrong = 0, []

    def demand(self, holds, what):
        self.count += 1
        if not holds:
            self.wrong.append(what)


def call(*words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def check_slot(findings, slot):
    where = f"{slot['workload']}, arm {slot['arm']}"
    typical, kernels = slot["typical_request"], slot["kernels"]
    launches = sum(row["count"] for row in kernels)
    # A product that the library splits along K ends with a kernel of its own, which counts as part of the one launch.
    own = launches - sum(row["count"] for row in kernels if "splitk" in row["name"].lower() and "reduce" in row["name"].lower())
    findings.demand(slot["status"] == "complete", f"{where}: {slot['status']}")
    findings.demand(slot["requests"] == 8, f"{where}: {slot['requests']} requests of 8 have their rows")
    findings.demand(slot["declared_launches"] > 10, f"{where}: the worker declares {slot['declared_launches']} launches")
    findings.demand(own == 8 * slot["declared_launches"],
                    f"{where}: {own} launches in 8 requests, declared are {slot['declared_launches']} in each: "
                    f"{[(row['name'], row['count']) for row in kernels]}")
    findings.demand(8 * typical["launches"] == launches, f"{where}: {typical['launches']} launches in the middle request")
    findings.demand(abs(sum(row["share"] for row in kernels) - 1) < 1e-9, f"{where}: shares do not add up to 1")
    findings.demand(0 < typical["kernels_ns"] < typical["wall_ns"],
                    f"{where}: {typical['kernels_ns']} ns of kernels in {typical['wall_ns']} ns")
    # Each figure is a median of its own, so that they add up only nearly.
    parts = typical["busy_ns"] + sum(typical[f"idle_{place}_ns"] for place in ("before", "between", "after"))
    findings.demand(abs(parts / typical["wall_ns"] - 1) < 0.1, f"{where}: parts make {parts} ns of {typical['wall_ns']}")
    findings.demand(0.5 < slot["ratio"] < 50, f"{where}: traced over untraced is {slot['ratio']:.3g}")
    findings.demand(any("rope" in row["name"] for row in kernels), f"{where}: no kernel is named after rope")
    findings.demand(any(row["kind"] == "host-to-device" and row["bytes"] > 0 for row in slot["copies"]),
                    f"{where}: no upload among the copies")
    findings.demand(any("Launch" in row["name"] for row in slot["calls"]), f"{where}: no launch among the calls")
    outer = [row for row in slot["ranges"] if row["depth"] == 0]
    findings.demand(sum(row["launches"] for row in outer) == launches and all(row["name"] for row in outer),
                    f"{where}: ranges hold {[(row['name'], row['launches']) for row in outer]} of {launches} launches")
    layers = [row for row in slot["ranges"] if row["name"] == "encoder layer"]
    findings.demand(len(layers) == 1 and layers[0]["depth"] > 0 and layers[0]["launches"] > 0,
                    f"{where}: the ranges of layers are {layers}")


def check(findings, slots):
    findings.demand([(slot["workload"], slot["arm"]) for slot in slots] ==
                    [("short", "A"), ("short", "B"), ("batch", "A"), ("batch", "B")], f"traced were {len(slots)} slots")
    for slot in slots:
        check_slot(findings, slot)
    for a, b in zip(slots[::2], slots[1::2]):
        transposes = sum(row["count"] for row in a["kernels"] if "transpose" in row["name"]) // 8
        findings.demand(transposes > 0 and not any("transpose" in row["name"] for row in b["kernels"]),
                        f"{a['workload']}: {transposes} transposes in A, and some in B")
        findings.demand(a["declared_launches"] - b["declared_launches"] == transposes,
                        f"{a['workload']}: B declares {b['declared_launches']} launches, A {a['declared_launches']}")


def check_run(findings, abba, file, folder):
    call(abba, "verify", file, cwd=folder)
    call(abba, "trace", file, "--perfetto", "perfetto.json", cwd=folder)
    events = json.loads((folder / "perfetto.json").read_text())["traceEvents"]
    findings.demand(sum(event["ph"] == "X" for event in events) > 1000, f"{len(events)} events for Perfetto")
    findings.demand("## Traces" in call(abba, "report", file, cwd=folder), "the report shows no traces")
    rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    both, = rows.execute("SELECT count(*) FROM slot t JOIN block tb ON tb.id = t.block JOIN slot m ON m.worker = t.worker "
                         "JOIN block mb ON mb.id = m.block WHERE tb.phase = 'trace' AND mb.phase <> 'trace'").fetchone()
    findings.demand(both == 0, f"{both} slots were measured in a traced process")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--abba", required=True, type=pathlib.Path)
    parser.add_argument("--laya", required=True, type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    abba, laya = options.abba.resolve(), options.laya.resolve()
    doctor = subprocess.run([laya, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    cuda = json.loads(doctor)["cuda"]
    if not cuda["available"]:
        print(f"no GPU to trace: {cuda['reason']}")
        sys.exit(1 if os.environ.get("ABBA_REQUIRE_CUDA") == "1" else 77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "abba.json").write_text('{"schema": "abba.project/1"}\n')
        (folder / "trace_tiny.json").write_text(json.dumps(dict(MANIFEST, worker=[str(laya), "worker"])))
        call(laya, "checkpoint", "make", "--config", "tiny", "--seed", "1", "--out", "tiny", cwd=folder)
        call(abba, "run", "trace_tiny.json", "--exploratory", "--require", "cuda", "--output", "./run.sqlite", cwd=folder)
        shown = call(abba, "show", "run.sqlite", cwd=folder)
        if " N073 " in shown or " N074 " in shown or " N075 " in shown:
            sys.exit(f"an arm was not traced:\n{shown}")
        slots = json.loads(call(abba, "trace", "run.sqlite", "--json", cwd=folder))["slots"]
        findings = Findings()
        check(findings, slots)
        check_run(findings, abba, folder / "run.sqlite", folder)
        for slot in slots:
            print(f"{slot['workload']}, arm {slot['arm']}: {slot['typical_request']['launches']} launches a request, "
                  f"traced/untraced {slot['ratio']:.3f}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for made in ("run.sqlite", "perfetto.json"):
                shutil.copy(folder / made, options.keep)
    # A canary: a launch too many.
    slots[0]["kernels"][0]["count"] += 1
    canary = Findings()
    check(canary, slots)
    findings.demand(canary.wrong, "CANARY one launch more was not noticed")
    for line in findings.wrong:
        print("  " + line)
    print(f"{findings.count} demands, {len(findings.wrong)} not met")
    sys.exit(1 if findings.wrong else 0)


if __name__ == "__main__":
    main()
