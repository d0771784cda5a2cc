"""A project whose worker breaks where a test says, and what must hold after every fault."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import run_rows

ABBA = os.environ["ABBA_PROGRAM"]
WORKER = os.environ["ABBA_FAULTY_WORKER"]
SHIM = os.environ["ABBA_FAULT_SHIM"]
GPU = os.environ["ABBA_FAKE_GPU"]
PASSES, BLOCKS, WARMUPS, REQUESTS = 3, 2, 1, 2


def manifest(**changes):
    """Three passes of an AB and a BA block with fresh workers: starts 1 and 2 serve preflight,
    outputs and feasibility, 3 and 4 the first pass, 5 and 6 the second, 7 and 8 the third."""
    made = {
        "id": "faulty", "hypothesis": "the fast pace takes less time",
        "independent_variable": "pace",
        "arms": {"A": {"factors": {"pace": "slow"}}, "B": {"factors": {"pace": "fast"}}},
        "worker": [WORKER], "settings": {"request_us": 300},
        "workloads": [{"id": "w1", "input": {"n": 3}}],
        "outputs": "bitwise", "success": {"claim": "faster"},
        "protocol": {"preset": "standard", "passes": PASSES, "blocks": BLOCKS, "order": "AB/BA",
                     "load": "expected", "on_taint": "keep",
                     "slot": {"warmup": WARMUPS, "requests": REQUESTS}},
    }
    made.update(changes)
    return made


def require(holds, what):
    if not holds:
        raise AssertionError(what)


class FaultyProject:
    """A folder of its own; usable from several threads, one project each."""

    query = staticmethod(run_rows.query)

    def __init__(self, declared=None):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="abba-fault-"))
        self.faults = self.root / "faults"
        self.faults.mkdir()
        (self.root / "manifests").mkdir()
        (self.root / "abba.json").write_text('{"schema": "abba.project/1"}\n')
        self.manifest = self.root / "manifests/faulty.json"
        self.environment = dict(os.environ, ABBA_FAULTS=str(self.faults), LD_PRELOAD=SHIM,
                                GIT_CONFIG_GLOBAL="/dev/null")
        if declared is not None:
            self.manifest.write_text(json.dumps(declared))

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def with_device(self):
        libraries = self.root / "lib"
        libraries.mkdir()
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (libraries / name).symlink_to(GPU)
        self.environment["LD_LIBRARY_PATH"] = str(libraries)

    def plan(self, fault, message, start=0, slot=0):
        for old in ("struck", "starts", "go"):
            (self.faults / old).unlink(missing_ok=True)
        (self.faults / "plan").write_text(f"{fault} {message} {start} {slot}\n")

    def struck(self):
        return (self.faults / "struck").exists()

    def start(self, *words):
        return subprocess.Popen([ABBA, *map(str, words)], cwd=self.root, env=self.environment,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def abba(self, *words, code=0, meanwhile=None):
        process = self.start(*words)
        if meanwhile is not None:
            self.wait_for(self.struck, process)
            meanwhile(process)
        try:
            out, err = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"abba {words} hangs\n{out}\n{err}") from None
        require(process.returncode == code,
                f"abba {words}: exit {process.returncode}, not {code}\n{out}\n{err}")
        require("terminate called" not in err, err)
        return out, err

    def wait_for(self, seen, process):
        deadline = time.monotonic() + 60
        while not seen():
            if process.poll() is not None:
                raise AssertionError("ended too early: " + repr(process.communicate()))
            require(time.monotonic() < deadline, "nothing happened in time")
            time.sleep(0.005)

    def files(self, folder):
        return sorted((self.root / folder).rglob("*.sqlite"))

    def samples(self, file):
        return set(self.query(file, "SELECT slot, seq, t_start_ns, duration_ns FROM sample"))

    def check_file(self, file):
        """What holds of every run file whatever happened: the chain, whole slots, real samples."""
        out, _ = self.abba("verify", file)
        require("internally consistent" in out, out)
        answers = {tuple(map(int, line.split()))
                   for line in (self.faults / "answers").read_text().splitlines()
                   } if (self.faults / "answers").exists() else set()
        invented = {row[2:] for row in self.samples(file)} - answers
        require(not invented, f"samples that no worker answered: {invented}")
        ledger = self.faults / "captures"
        captures = {tuple(map(int, line.split())) for line in ledger.read_text().splitlines()
                    } if ledger.exists() else set()
        invented = set(self.query(
            file, "SELECT first_run_ns, capture_ns FROM graph_capture")) - captures
        require(not invented, f"captures that no worker answered: {invented}")
        torn = self.query(file, f"""SELECT slot.id FROM slot LEFT JOIN sample ON slot = slot.id
            GROUP BY slot.id HAVING count(*) <> {WARMUPS + REQUESTS}""")
        require(not torn, f"slots without all of their samples: {torn}")
        halves = self.query(file, """SELECT block.id FROM block LEFT JOIN slot ON block = block.id
            WHERE NOT failed GROUP BY block.id HAVING count(slot.id) <> 2""")
        require(not halves, f"blocks that are half but not marked so: {halves}")

    def check_nothing_half_written(self):
        stray = [path for path in self.root.rglob("*")
                 if re.search(r"\.(tmp|new|making-)", path.name)]
        require(not stray, f"left behind: {stray}")

    def counted_blocks(self, file):
        return self.query(file, """SELECT count(*) FROM block JOIN pass ON pass = pass.id
            WHERE pass.phase = 'measured' AND NOT failed AND NOT superseded""")[0][0]

    def check_whole(self, file):
        """A finished run: all passes are counted, and it can be reported."""
        self.check_file(file)
        show, _ = self.abba("show", file)
        require(re.search(r"(?m)^state +finished", show), show)
        require(self.counted_blocks(file) == PASSES * BLOCKS, show)
        self.abba("report", file)
        return show
