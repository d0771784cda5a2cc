"""Revisions of a repository as arms: each built in a worktree of its own by one recipe."""

import json
import signal
import subprocess
import sys
import time
import unittest

from project import ENVIRONMENT, ProjectTest, sleepy_manifest

WORKER = """#!{python} -B
import os, sys, time
sys.path.insert(0, os.environ["ABBA_WORKER_KIT"])
import abba_worker

class Revision(abba_worker.Worker):
    name, version, stages = "revision", "1", ["answer"]

    def prepare(self, workload):
        pass

    def request(self):
        time.sleep({seconds})

    def outputs(self, stages, values):
        return [abba_worker.floats("answer", [1.5])]

abba_worker.run(Revision())
"""

RECIPE = {"commands": [["sh", "-c", "cp worker.py {build}/worker"],
                       ["chmod", "+x", "{build}/worker"]],
          "executable": "worker"}


class Revisions(ProjectTest):
    def setUp(self):
        super().setUp()
        (self.root / ".gitignore").write_text(".abba/\nresults/\nreports/\n")
        self.git("init", "-q", "-b", "main")
        self.commit(0.03)
        self.git("checkout", "-q", "-b", "topic")
        self.commit(0.01)

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, env=ENVIRONMENT, check=True,
                              text=True, capture_output=True).stdout.strip()

    def worker(self, seconds):
        (self.root / "worker.py").write_text(
            WORKER.format(python=sys.executable, seconds=seconds))

    def commit(self, seconds):
        self.worker(seconds)
        self.git("add", ".")
        self.git("commit", "-q", "-m", f"{seconds} s")

    def manifest(self, a, b, **changes):
        manifest = sleepy_manifest(
            id="revisions", hypothesis="the topic takes less time", independent_variable="rev",
            arms={"A": {"rev": a}, "B": {"rev": b}}, worker=["worker"], settings={},
            build=json.loads(json.dumps(RECIPE)))
        manifest.update(changes)
        return self.write(manifest)

    def words(self):
        report = json.loads(self.abba("report", self.run_file(), "--json").stdout)
        return [verdict["word"] for verdict in report["verdicts"]]

    def bound(self):
        return dict(self.query(self.run_file(), "SELECT name, value FROM binding"))

    def test_two_revisions_from_manifest_to_verdict(self):
        path = self.manifest("main", "topic")
        self.abba("check", path)
        self.abba("register", path)
        (self.root / "worker.py").write_text("a dirty tree is nobody's arm\n")
        self.abba("run", "--quiet", path)
        self.assertEqual((self.root / "worker.py").read_text(), "a dirty tree is nobody's arm\n")
        self.assertEqual(self.words(), ["improved"])
        self.assertNotEqual(self.bound()["executable/A"], self.bound()["executable/B"])
        self.assertIn("internally consistent", self.abba("verify", self.run_file()).stdout)
        report = self.abba("report", self.run_file()).stdout
        self.assertIn("main", report)
        self.assertIn("topic", report)
        self.assertEqual(self.git("worktree", "list").count("\n"), 0)
        self.assertEqual(len(list((self.root / ".abba/builds").iterdir())), 2)
        # A branch that moved is another experiment; the builds of before are not taken for it.
        self.git("checkout", "-q", "--", "worker.py")
        self.commit(0.005)
        done = self.abba("run", path, exit_code=3)
        self.assertIn("tree/B", done.stderr)

    def test_the_working_tree_against_head(self):
        self.worker(0.002)
        path = self.manifest("HEAD", "worktree")
        self.abba("run", "--register", "--quiet", path)
        self.assertEqual(self.words(), ["improved"])
        self.worker(0.001)
        self.abba("run", path, exit_code=3)

    def test_one_tree_by_two_names_is_an_a_a_run_by_law(self):
        path = self.manifest("topic", "HEAD")
        self.abba("run", "--register", "--quiet", path)
        self.assertEqual(self.bound()["executable/A"], self.bound()["executable/B"])
        for word in self.words():
            self.assertNotIn(word, ("improved", "regressed"))
        self.assertRegex(self.abba("report", self.run_file()).stdout, "(?i)same.hash|A/A")
        self.assertEqual(len(list((self.root / ".abba/builds").iterdir())), 1, "built once")

    def test_a_failing_build_measures_nothing_and_says_why(self):
        recipe = json.loads(json.dumps(RECIPE))
        recipe["commands"].insert(0, ["sh", "-c", "grep -q 0.03 worker.py || "
                                                  "{ echo no such header >&2; exit 5; }"])
        path = self.manifest("main", "topic", build=recipe)
        self.abba("register", path)
        done = self.abba("run", path, exit_code=4)
        for part in ("arm B", "topic", "exit code 5", "no such header"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.run_files(), [])
        self.assertIn('"failed"', (self.root / ".abba/attempts").read_text())
        self.assertNotIn("run-started", self.abba("ledger", path).stdout)
        self.assertEqual(self.git("worktree", "list").count("\n"), 0)

    def test_ctrl_c_while_a_revision_is_built(self):
        recipe = json.loads(json.dumps(RECIPE))
        marker = self.root / "building"
        recipe["commands"].insert(0, ["sh", "-c", f"touch {marker}; sleep 30"])
        path = self.manifest("main", "topic", build=recipe)
        self.abba("register", path)
        process = self.start("run", path)
        deadline = time.monotonic() + 60
        while not marker.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, err = self.finish(process, 5)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertIn("stopped on request", err)
        self.assertEqual(self.run_files(), [])
        self.assertEqual(self.git("worktree", "list").count("\n"), 0)

    def test_a_revision_that_is_not_there(self):
        done = self.abba("register", self.manifest("main", "no-such-branch"), exit_code=2)
        self.assertIn("no-such-branch", done.stderr)


if __name__ == "__main__":
    unittest.main()
