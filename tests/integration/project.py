"""A project folder of its own for each test, and the built abba driven as a person would."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import run_rows

ABBA = os.environ["ABBA_PROGRAM"]
SAXPY = os.environ["ABBA_SAXPY"]
SOURCE = pathlib.Path(os.environ["ABBA_SOURCE_DIR"])
SLEEPY = SOURCE / "tests/integration/workers/sleepy.py"
SAXPY_PY = SOURCE / "experiments/peers/saxpy_worker.py"
ENVIRONMENT = dict(os.environ, ABBA_WORKER_KIT=str(SOURCE / "harness/worker_kit"),
                   PYTHONDONTWRITEBYTECODE="1", GIT_CONFIG_GLOBAL="/dev/null",
                   GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t", GIT_COMMITTER_NAME="t",
                   GIT_COMMITTER_EMAIL="t@t")


def sleepy_manifest(**changes):
    """Six passes of one ABBA block, 1 + 3 requests a slot, fresh workers."""
    manifest = {
        "id": "sleepy",
        "hypothesis": "the fast pace takes less time",
        "independent_variable": "pace",
        "arms": {"A": {"factors": {"pace": "slow"}}, "B": {"factors": {"pace": "fast"}}},
        "worker": [sys.executable, "-B", str(SLEEPY)],
        "settings": {"request_ms": 2},
        "workloads": [{"id": "w1", "input": {"n": 3}}],
        "success": {"claim": "faster"},
        "protocol": {"preset": "standard", "passes": 6, "blocks": 1, "load": "expected",
                     "on_taint": "keep", "slot": {"warmup": 1, "requests": 3}},
    }
    manifest.update(changes)
    return manifest


def saxpy_manifest(worker, **changes):
    manifest = sleepy_manifest(
        id="saxpy", hypothesis="unrolling helps", independent_variable="loop",
        arms={"A": {"factors": {"loop": "plain"}}, "B": {"factors": {"loop": "unrolled"}}},
        worker=[str(word) for word in worker], settings={},
        workloads=[{"id": "small", "input": {"n": 512}}, {"id": "large", "input": {"n": 4096}}])
    manifest.update(changes)
    return manifest


class ProjectTest(unittest.TestCase):
    query = staticmethod(run_rows.query)

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="abba-it-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        (self.root / "abba.json").write_text('{"schema": "abba.project/1"}\n')
        (self.root / "manifests").mkdir()

    def write(self, manifest, name=None):
        path = self.root / "manifests" / f"{name or manifest['id']}.json"
        path.write_text(json.dumps(manifest, indent=1))
        return path

    def abba(self, *words, exit_code=0, cwd=None, **more):
        done = subprocess.run([ABBA, *map(str, words)], cwd=cwd or self.root, env=ENVIRONMENT,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=100, **more)
        self.assertEqual(done.returncode, exit_code,
                         f"abba {words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        if exit_code not in (0,):
            self.assertRegex(done.stderr, r"(?m)^abba: ")
        self.assertNotIn("terminate called", done.stderr)
        return done

    def start(self, *words):
        process = subprocess.Popen([ABBA, *map(str, words)], cwd=self.root, env=ENVIRONMENT,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, exit_code):
        out, err = process.communicate(timeout=100)
        self.assertEqual(process.returncode, exit_code, f"stdout: {out}\nstderr: {err}")
        return out, err

    def run_files(self, folder="results"):
        return sorted((self.root / folder).rglob("*.sqlite"))

    def run_file(self):
        files = self.run_files()
        self.assertEqual(len(files), 1, files)
        return files[0]

    def count_so_far(self, sql):
        """What a live run's file counts; 0 while the file or its tables are still being made."""
        try:
            return self.query(self.run_file(), sql)[0][0]
        except (AssertionError, sqlite3.Error):
            return 0

    def measured_blocks(self):
        return self.count_so_far("SELECT count(*) FROM block WHERE phase = 'measured'")

    def wait_for_blocks(self, process, count):
        deadline = time.monotonic() + 60
        while self.measured_blocks() < count:
            if process.poll() is not None:
                self.fail("ended too early: " + repr(process.communicate()))
            self.assertLess(time.monotonic(), deadline, "no blocks in time")
            time.sleep(0.02)

    def complete_passes(self, show):
        return len(re.findall(r"(?m)^pass +measured \d+: (?!.*superseded)", show))

    def show(self, file):
        return self.abba("show", file).stdout

