"""The graph-capture pass, from the manifest to the report: what it stores, and what becomes of a run
whose workers fail in it."""

import csv
import io
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import project
from project import SOURCE, ProjectTest, sleepy_manifest

CAPTURING = SOURCE / "tests/integration/workers/capturing.py"
PASSES = 6


def capturing_manifest(pass_=None, **changes):
    manifest = sleepy_manifest(
        id="capturing", hypothesis="replaying a graph takes less time than launching one by one",
        independent_variable="launch",
        arms={"A": {"factors": {"launch": "eager"}}, "B": {"factors": {"launch": "graph"}}},
        worker=[sys.executable, "-B", str(CAPTURING)], settings={},
        workloads=[{"id": "w1", "input": {"n": 3}}, {"id": "w2", "input": {"n": 5}}],
        graph_capture={} if pass_ is None else pass_)
    manifest.update(changes)
    return manifest


class Capture(ProjectTest):
    def setUp(self):
        super().setUp()
        self.messages = pathlib.Path(tempfile.mkstemp(dir=self.root)[1])
        project.ENVIRONMENT["ABBA_TEST_MESSAGES"] = str(self.messages)
        self.addCleanup(project.ENVIRONMENT.pop, "ABBA_TEST_MESSAGES")

    def registered(self, manifest):
        path = self.write(manifest)
        self.abba("check", path)
        self.abba("register", path)
        return path

    def run_of(self, manifest, exit_code=0):
        self.abba("run", self.registered(manifest), "--quiet", exit_code=exit_code)
        file = self.run_file()
        self.assertIn("internally consistent", self.abba("verify", file).stdout)
        return file

    def counted(self, file):
        return self.query(file, "SELECT arm, workload FROM v_graph_capture ORDER BY arm, workload")

    def measured_passes(self, file):
        return self.query(file, "SELECT count(*) FROM pass WHERE phase = 'measured' AND NOT "
                                "superseded AND end_ns > 0")[0][0]

    def notes(self, file, code):
        return [text for text, in self.query(
            file, f"SELECT text FROM note WHERE code = '{code}' ORDER BY id")]

    def test_from_the_manifest_to_the_report(self):
        path = self.write(capturing_manifest())
        plan = self.abba("plan", path).stdout
        self.assertIn("graph_capture pass 1 (a fresh worker for A, then for B): w1 w2\n", plan)
        passes = json.loads(self.abba("plan", "--json", path).stdout)["passes"]
        self.assertEqual(passes[-1]["phase"], "graph_capture")
        file = self.run_of(capturing_manifest())
        self.assertEqual(self.counted(file), [("A", "w1"), ("A", "w2"), ("B", "w1"), ("B", "w2")])
        row, = self.query(file, "SELECT shape, warm_runs, capture_ns, instantiate_ns, upload_ns, "
                                "first_replay_ns, nodes, bytes FROM v_graph_capture "
                                "WHERE arm = 'B' AND workload = 'w2'")
        self.assertEqual(row, ("[5]", 1, 3_000_000, 2_000_000, 1_000_000, 2_500_000, 31, 2_097_152))
        eager, = self.query(file, "SELECT first_run_ns > 3000000, capture_ns, bytes FROM "
                                  "v_graph_capture WHERE arm = 'A' AND workload = 'w1'")
        self.assertEqual(eager, (1, None, None))
        self.assertRegex(self.abba("verify", file).stdout, r"(?m)^ +ok +captures\b")
        report = self.abba("report", file).stdout
        self.assertIn("## Warm-up and capture costs", report)
        self.assertRegex(report, r"\| w2 \| B \| \\\[5\\\] \| .* \| 3\.000 ms \| 2\.000 ms \| "
                                 r"1\.000 ms \| 2\.500 ms \| 31 \| 2,097,152 \|")
        self.assertRegex(report, r"w1: capture, instantiate and upload of B \(6\.000 ms\) are won "
                                 r"back after [2-5] requests")
        self.assertIn("capture costs", self.abba("report", "--html", file).stdout)
        captures = json.loads(self.abba("report", "--json", file).stdout)["graph_captures"]
        self.assertEqual(len(captures), 4)
        rows = list(csv.DictReader(io.StringIO(
            self.abba("export", "--csv", "--table", "v_graph_capture", file).stdout)))
        self.assertEqual([row["capture_ns"] for row in rows], ["", "", "3000000", "3000000"])
        self.assertRegex(self.show(file), r"(?m)^pass +graph_capture 1: 4 captures$")

    def test_its_workers_are_asked_for_no_timed_sample(self):
        file = self.run_of(capturing_manifest())
        asked = {}
        for line in self.messages.read_text().splitlines():
            pid, kind = line.split()
            asked.setdefault(int(pid), []).append(kind)
        rows = self.query(file, "SELECT DISTINCT w.pid, w.pass FROM worker w JOIN graph_capture g "
                                "ON g.worker = w.id")
        self.assertEqual(len(rows), 2)
        for pid, pass_ in rows:
            self.assertEqual(asked[pid], ["hello", "load", "prepare", "prepare", "graph_capture",
                                          "graph_capture", "shutdown"])
            self.assertEqual(pass_, -2)
        timed = {pid for pid, kinds in asked.items() if "slot" in kinds}
        self.assertEqual(timed & {pid for pid, _ in rows}, set())
        self.assertEqual(sum("graph_capture" in kinds for kinds in asked.values()), 2)

    def test_only_what_is_named(self):
        file = self.run_of(capturing_manifest({"arms": ["B"], "workloads": ["w2"]}))
        self.assertEqual(self.counted(file), [("B", "w2")])
        report = self.abba("report", file).stdout
        self.assertNotIn("are won back", report)  # the eager arm was not asked
        mistakes = self.abba("check", self.write(capturing_manifest({"workloads": ["w9"]}), "wrong"),
                             exit_code=2)
        self.assertIn("/graph_capture/workloads/0", mistakes.stderr)

    def test_a_worker_that_does_not_declare_it_is_a_note(self):
        project.ENVIRONMENT["ABBA_TEST_INCAPABLE"] = "1"
        self.addCleanup(project.ENVIRONMENT.pop, "ABBA_TEST_INCAPABLE")
        file = self.run_of(capturing_manifest())
        self.assertEqual(self.counted(file), [])
        self.assertEqual(self.notes(file, "N073"),
                         [f"worker {arm} does not declare \"graph_capture\"" for arm in "AB"])
        self.assertEqual(self.measured_passes(file), PASSES)
        self.assertIn("graph capture", self.abba("explain", "N073").stdout)
        self.assertIn("not answered, see the doubts", self.abba("report", file).stdout)

    def test_what_fails_in_it_is_a_note_and_the_rest_is_whole(self):
        said = {"die": "died during \"graph_capture\" with signal 9.*told to die",
                "hang": "did not answer \"graph_capture\" within 0.5 s and was killed",
                "negative": "\"capture_ns\" is no integer from 0",
                "misspelt": "\"instanciate_ns\" is no cost of a capture",
                "refuse": "refused \"graph_capture\": no graph of this shape"}
        for wrong, sentence in said.items():
            with self.subTest(wrong=wrong):
                manifest = capturing_manifest(id=f"wrong-{wrong}",
                                              settings={"at": {"graph/1": wrong}})
                manifest["protocol"]["limits"] = {"timeouts": {"graph_capture_s": 0.5}}
                path = self.registered(manifest)
                self.abba("run", path, "--quiet")
                file, = [one for one in self.run_files() if wrong in str(one)]
                self.assertIn("internally consistent", self.abba("verify", file).stdout)
                left = [("A", "w1"), ("A", "w2")] + [("B", "w2")] * (wrong == "refuse")
                self.assertEqual(self.counted(file), left)
                note, = self.notes(file, "N074")
                self.assertRegex(note, sentence)
                self.assertEqual(self.measured_passes(file), PASSES)
                self.assertRegex(self.show(file), r"(?m)^state +finished")
                verdicts = json.loads(self.abba("report", "--json", file).stdout)["verdicts"]
                self.assertEqual({verdict["passes"] for verdict in verdicts}, {PASSES})

    def test_an_interrupted_one_is_made_whole_when_the_run_goes_on(self):
        waiting = self.root / "waiting"
        manifest = capturing_manifest(settings={"at": {"graph/1": "wait"},
                                                "waiting": str(waiting)})
        path = self.registered(manifest)
        for how in ("ctrl-c", "kill"):
            waiting.unlink(missing_ok=True)
            process = self.start("run", path, *(["--resume"] if how == "kill" else []))
            deadline = time.monotonic() + 60
            while not waiting.exists():
                self.assertIsNone(process.poll(), "ended too early")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
            self.finish(process, 5 if how == "ctrl-c" else -signal.SIGKILL)
            file = self.run_file()
            self.assertIn("internally consistent", self.abba("verify", file).stdout)
            self.assertEqual(self.measured_passes(file), PASSES)
        blocks = self.query(file, "SELECT count(*) FROM block")
        self.abba("run", path, "--resume", "--quiet")
        self.assertEqual(self.query(file, "SELECT count(*) FROM block"), blocks)
        self.assertEqual(self.counted(file), [("A", "w1"), ("A", "w2"), ("B", "w1"), ("B", "w2")])
        self.assertEqual(self.query(file, "SELECT superseded FROM pass WHERE phase = "
                                          "'graph_capture' ORDER BY id"), [(1,), (1,), (0,)])
        self.assertIn("internally consistent", self.abba("verify", file).stdout)
        self.assertRegex(self.show(file), r"(?m)^state +finished")


if __name__ == "__main__":
    unittest.main()
