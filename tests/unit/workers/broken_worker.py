"""A worker that breaks one rule: broken_worker.py [--break RULE]. Without it, it keeps them all."""

import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../harness/worker_kit"))
import abba_worker  # noqa: E402

RULE = sys.argv[sys.argv.index("--break") + 1] if "--break" in sys.argv else ""


class Subject(abba_worker.Worker):
    name, version, stages = "broken", "1", ["x", "y"]
    factors = {"loop": ["plain", "fast"]}
    boundaries = ["request", {"name": "inner", "parent": "request"}]
    workload_form = {"example": {"n": 3}}
    requests = 0

    def prepare(self, workload):
        self.n = workload["input"]["n"]

    def request(self):
        self.requests += 1
        with self.span("inner"):
            self.x = [i + 0.5 for i in range(self.n)]
        if RULE == "digest-repeatable" and self.recorder is not None:
            self.x[0] = self.requests

    def outputs(self, stages, values):
        print("a stray print does not reach the protocol")
        tensors = [abba_worker.floats("x", self.x), abba_worker.floats("y", self.x[:1])]
        return tensors[:1] if RULE == "outputs-answered" else tensors


class Session(abba_worker.Session):
    def hello(self, message=None):
        answer = super().hello(message)
        if RULE == "hello-valid":
            answer["boundaries"] = []
        if RULE == "describe-equals-hello" and message is None:
            answer["version"] = "2"
        return answer

    def load(self, message):
        if RULE == "unknown-level-refused":
            message["factors"] = {name: level for name, level in message["factors"].items()
                                  if level in ("plain", "fast")}
        answer = super().load(message)
        if RULE == "load-effective":
            answer["factors"] = {"loop": "plain"}
        return answer

    def prepare(self, message):
        answer = super().prepare(message)
        if RULE == "prepare-ready":
            answer["ready"] = False
        return answer

    def slot(self, message):
        if RULE == "hang":
            time.sleep(60)
        if RULE == "die":
            print("about to die", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if RULE == "exit":
            os._exit(7)
        if RULE == "unknown-workload-refused":
            message["workload"] = next(iter(self.workloads))
        asked = message["workload"]
        answer = super().slot(message)
        breaks = {
            "unknown-workload-refused": {"workload": asked},
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
        answer.update(breaks.get(RULE, {}))
        return answer

    def shutdown(self, message):
        global stay
        stay = RULE == "ignore-sigterm"
        if RULE == "shutdown-exits-zero":
            os._exit(3)
        return super().shutdown(message)

    def answer(self, line):
        text = super().answer(line)
        if RULE == "garbage-survived" and "bad_json" in text:
            os._exit(1)
        if RULE == "unknown-message-refused" and "unknown_message" in text:
            return json.dumps({"type": "whatever"})
        if not text.startswith('{"type":"slot"'):
            return text
        if RULE == "garbage":
            return "Segmentation fault (just kidding)"
        if RULE == "nan":
            return text.replace('"duration_ns":[', '"duration_ns":[NaN,', 1)
        if RULE == "oversize":
            return '{"type":"' + "x" * (65 << 20) + '"}'
        if RULE == "twice":
            return text + "\n" + text
        if RULE == "other-type":
            return '{"type":"prepare"}'
        return text


abba_worker.Session = Session
stay = RULE in ("end-of-input-ends", "ignore-sigterm") and "--describe" not in sys.argv
if RULE == "flood":
    for i in range(200_000):
        sys.stderr.write(f"line {i} {'x' * 50}\n")
    sys.stderr.write("y" * (4 << 20))
    sys.stderr.write("\nthe last line\n")
    sys.stderr.flush()
if RULE == "ignore-sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    abba_worker.run(Subject())
finally:
    if stay:
        time.sleep(60)
