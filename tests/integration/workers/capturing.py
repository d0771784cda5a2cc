"""A worker that stands in for one with captured graphs: at the level "graph" the first request of a
process is slow, and the later ones replay. What a test wants wrong is in the settings."""

import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, os.environ["ABBA_WORKER_KIT"])
import abba_worker  # noqa: E402


class Capturing(abba_worker.Worker):
    name, version, stages = "capturing", "1", ["answer"]
    factors = {"launch": ["eager", "graph"]}

    def load(self, settings, files, factors, device):
        self.settings, self.captures = settings, 0
        return {}

    def prepare(self, workload):
        self.n = workload["input"]["n"]

    def request(self):
        time.sleep(0.004 if self.level["launch"] == "eager" else 0.002)

    def outputs(self, stages, values):
        return [abba_worker.floats("answer", [float(self.n)])]

    def graph_capture(self):
        self.captures += 1
        at = self.settings.get("at", {})  # {"A/w1": what goes wrong}, by level
        wrong = at.get(f"{self.level['launch']}/{self.captures}", "")
        if wrong == "die":
            print("told to die", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if wrong == "hang":
            time.sleep(60)
        if wrong == "wait":
            waiting = pathlib.Path(self.settings["waiting"])
            waiting.write_text("")
            time.sleep(1)
        if wrong == "refuse":
            raise abba_worker.Refused("too_large", "no graph of this shape")
        start = abba_worker.now_ns()
        self.request()
        costs = {"shape": f"[{self.n}]", "first_run_ns": self.first_request_ns, "warm_runs": 1,
                 "warm_ns": abba_worker.now_ns() - start}
        if self.level["launch"] == "graph":
            costs.update(capture_ns=3_000_000, instantiate_ns=2_000_000, upload_ns=1_000_000,
                         first_replay_ns=2_500_000, nodes=31, bytes=2_097_152)
        if wrong == "negative":
            costs["capture_ns"] = -5
        if wrong == "misspelt":
            costs["instanciate_ns"] = 5
        return [costs]


class Session(abba_worker.Session):
    """Writes down which messages each process got."""

    def answer(self, line):
        log = os.environ.get("ABBA_TEST_MESSAGES")
        if log:
            message = json.loads(line)
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {message['type']}\n")
        return super().answer(line)


if os.environ.get("ABBA_TEST_INCAPABLE"):
    del Capturing.graph_capture
abba_worker.Session = Session
abba_worker.run(Capturing())
