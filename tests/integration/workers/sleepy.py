"""A worker whose speed, answers and death a test decides."""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, os.environ["ABBA_WORKER_KIT"])
import abba_worker  # noqa: E402


class Sleepy(abba_worker.Worker):
    name, version, stages = "sleepy", "1", ["answer"]
    factors = {"pace": ["slow", "fast"], "answer": ["right", "wrong"]}
    hot = ["pace"]

    def load(self, settings, files, factors, device):
        self.request_s = settings.get("request_ms", 2) / 1000
        self.die_file = settings.get("die_file", "")
        self.die_once = settings.get("die_once", False)
        self.outputs_s = settings.get("outputs_s", 0)
        self.refuse_with = settings.get("refuse_with", "")  # once it was timed
        self.timed = False
        if "alone_in" in settings:
            self.require_alone(pathlib.Path(settings["alone_in"]))
        if "loading_file" in settings:
            pathlib.Path(settings["loading_file"]).write_text("")
            time.sleep(settings["load_s"])
        return {}

    @staticmethod
    def require_alone(folder):
        """Refuses to load while another worker of this folder is alive."""
        for other in folder.iterdir():
            if other.name != str(os.getpid()) and pathlib.Path("/proc", other.name).exists():
                raise abba_worker.Refused("company", f"worker {other.name} is alive too")
        (folder / str(os.getpid())).write_text("")

    def prepare(self, workload):
        self.input = workload["input"]
        self.requests = 0

    def request(self):
        self.requests += 1
        if self.requests > 1 and self.die_file and pathlib.Path(self.die_file).exists():
            print("sleepy: told to die", file=sys.stderr, flush=True)
            if self.die_once:
                pathlib.Path(self.die_file).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        self.timed = self.timed or self.recorder is not None
        time.sleep(self.request_s * (2 if self.level["pace"] == "slow" else 1))

    def outputs(self, stages, values):
        time.sleep(self.outputs_s)
        if self.refuse_with and self.timed:
            raise abba_worker.Refused("told_to", self.refuse_with)
        off = 1.0 if self.level["answer"] == "wrong" else 0.0
        return [abba_worker.floats("answer", [0.5, -2.25 + off, float(self.input["n"])])]


abba_worker.run(Sleepy())
