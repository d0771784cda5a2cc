"""A worker that ends, hangs or lies in a slot: broken_worker.py [--break HOW]. Without it, it keeps every rule."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../harness/worker_kit"))
import abba_worker  # noqa: E402

HOW = sys.argv[sys.argv.index("--break") + 1] if "--break" in sys.argv else ""


class Subject(abba_worker.Worker):
    name, version, stages = "broken", "1", ["x", "y"]
    factors = {"loop": ["plain", "fast"]}
    boundaries = ["request", {"name": "inner", "parent": "request"}]
    workload_form = {"example": {"n": 3}}

    def prepare(self, workload):
        self.n = workload["input"]["n"]

    def request(self):
        with self.span("inner"):
            self.x = [i + 0.5 for i in range(self.n)]

    def outputs(self, stages, values):
        print("a stray print does not reach the protocol")
        return [abba_worker.floats("x", self.x), abba_worker.floats("y", self.x[:1])]


    def graph_capture(self):
        if HOW == "capture-hang":
            time.sleep(60)
        if HOW == "capture-refused":
            raise abba_worker.Refused("too_small", "three numbers need no graph")
        return [{"shape": "[3]", "warm_runs": 1, "warm_ns": 5,
                 "capture_ns": -1 if HOW == "capture-negative" else 7}]


class Session(abba_worker.Session):
    def slot(self, message):
        if HOW == "hang":
            time.sleep(60)
        if HOW == "die":
            print("about to die", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if HOW == "exit":
            os._exit(7)
        answer = super().slot(message)
        breaks = {
            "slot-id-echoed": {"slot_id": "another"},
            "samples-consistent": {"duration_ns": answer["duration_ns"][1:]},
            "negative": {"duration_ns": [-1] * len(answer["duration_ns"])},
            "fraction": {"duration_ns": [1.5] * len(answer["duration_ns"])},
            "backwards": {"start_ns": answer["start_ns"][::-1]},
            "spans-nested": {"spans": dict(answer["spans"], duration_ns=[10**12] * len(
                answer["spans"]["seq"]))},
            "metric": {"values": {"undeclared": [1.0] * len(answer["start_ns"])}},
            "warmup": {"warmup": message["warmup"] + 1},
            "digest": {"digest": "abc"},
        }
        answer.update(breaks.get(HOW, {}))
        return answer

    def answer(self, line):
        text = super().answer(line)
        if not text.startswith('{"type":"slot"'):
            return text
        if HOW == "garbage":
            return "Segmentation fault (just kidding)"
        if HOW == "nan":
            return text.replace('"duration_ns":[', '"duration_ns":[NaN,', 1)
        if HOW == "oversize":
            return '{"type":"' + "x" * (65 << 20) + '"}'
        if HOW == "twice":
            return text + "\n" + text
        if HOW == "other-type":
            return '{"type":"prepare"}'
        return text


abba_worker.Session = Session
if HOW == "flood":
    for i in range(200_000):
        sys.stderr.write(f"line {i} {'x' * 50}\n")
    sys.stderr.write("y" * (4 << 20))
    sys.stderr.write("\nthe last line\n")
    sys.stderr.flush()
if HOW == "ignore-sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    abba_worker.run(Subject())
finally:
    if HOW == "ignore-sigterm":
        time.sleep(60)
