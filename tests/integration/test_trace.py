"""A trace pass from the manifest to the report, by a worker that traces itself."""

import json
import pathlib
import sqlite3
import sys
import unittest
import zipfile

from project import ABBA, ENVIRONMENT, SOURCE, ProjectTest, sleepy_manifest

TRACED = SOURCE / "tests/integration/workers/traced.py"


def traced_manifest(settings=None, **changes):
    manifest = sleepy_manifest(
        id="traced", hypothesis="one kernel is less than two", independent_variable="norm",
        arms={"A": {"factors": {"norm": "plain"}}, "B": {"factors": {"norm": "fused"}}},
        worker=[sys.executable, "-B", str(TRACED)], settings=settings or {},
        workloads=[{"id": "w1", "input": {"n": 3}}, {"id": "w2", "input": {"n": 3}}],
        traces={"warmup": 2, "requests": 4})
    manifest.update(changes)
    return manifest


class Trace(ProjectTest):
    def setUp(self):
        super().setUp()
        # Both are only named to the worker: this one loads neither.
        tracer = self.root / "libabba_trace.so"
        tracer.write_bytes(b"")
        self.set_variable("ABBA_TRACE_LIBRARY", str(tracer))
        self.set_variable("ABBA_TRACE_CUPTI", str(tracer))

    def set_variable(self, name, value):
        before = ENVIRONMENT.get(name)
        ENVIRONMENT[name] = value
        self.addCleanup(lambda: ENVIRONMENT.pop(name) if before is None
                        else ENVIRONMENT.update({name: before}))

    def run_traced(self, *words, settings=None, **changes):
        path = self.write(traced_manifest(settings, **changes))
        self.abba("register", path)
        self.abba("run", path, *words)
        return self.run_file()

    def traces(self, file, *words):
        return json.loads(self.abba("trace", file, "--json", *words).stdout)["slots"]

    def notes(self, file, code):
        return self.query(file, f"SELECT place, text FROM note WHERE code = '{code}'")

    def test_traces_are_recorded_stored_and_shown(self):
        file = self.run_traced()
        slots = self.traces(file)
        self.assertEqual([(slot["workload"], slot["arm"]) for slot in slots],
                         [("w1", "A"), ("w1", "B"), ("w2", "A"), ("w2", "B")])
        a, b = slots[:2]
        for slot, launches in ((a, 3), (b, 2)):
            self.assertEqual((slot["status"], slot["requests"], slot["mode"], slot["cupti_version"]),
                             ("complete", 4, "made up", 130001))
            self.assertEqual(slot["typical_request"]["launches"], launches)
            self.assertEqual(slot["declared_launches"], launches)
            self.assertEqual(slot["typical_request"]["kernels_ns"], launches * 100_000)
            self.assertEqual(slot["typical_request"]["copies_ns"], 20_000)
            self.assertGreater(slot["untraced_ns"], 3e6)
            self.assertAlmostEqual(slot["ratio"], slot["traced_ns"] / slot["untraced_ns"])
        for slot in slots:
            typical = slot["typical_request"]
            self.assertEqual(typical["overlapped_ns"], 0)
            self.assertEqual(typical["busy_ns"], typical["kernels_ns"] + typical["copies_ns"])
            self.assertEqual(typical["idle_between_ns"], 30_000 + 50_000 * (typical["launches"] - 1))
        self.assertEqual([(row["name"], row["count"], row["share"]) for row in b["kernels"]],
                         [("norm_fused", 4, 0.5), ("void product<float, 4>(float const*, int)", 4, 0.5)])
        self.assertEqual([(row["name"], row["depth"], row["count"], row["launches"], row["kernel_ns"])
                          for row in a["ranges"]],
                         [("request", 0, 4, 12, 1_200_000), ("layer", 1, 4, 12, 1_200_000)])
        self.assertEqual(a["copies"], [{"kind": "host-to-device", "count": 4, "bytes": 16384,
                                        "total_ns": 80_000}])
        self.assertEqual({row["name"]: row["count"] for row in a["calls"]},
                         {"cudaLaunchKernel": 12, "cudaMemcpyAsync": 4})
        self.assertEqual(self.traces(file, "--arm", "B", "--workload", "w2"), slots[3:])

    def test_the_run_verifies_and_its_report_shows_the_traces(self):
        file = self.run_traced()
        self.abba("verify", file)
        samples = self.query(file, "SELECT warmup, count(*) FROM sample JOIN slot ON slot.id = sample.slot "
                                   "JOIN block ON block.id = slot.block WHERE phase = 'trace' GROUP BY warmup")
        self.assertEqual(samples, [(0, 16), (1, 8)])
        self.assertEqual(self.query(file, "SELECT count(*) FROM v_slot WHERE phase = 'trace' AND counts"), [(0,)])
        # No measured slot is of a process that had a tracer.
        self.assertEqual(self.query(file, "SELECT count(DISTINCT slot.worker) FROM slot JOIN block ON block.id = "
                                          "slot.block WHERE phase = 'trace'"), [(2,)])
        self.assertEqual(self.query(file, "SELECT count(*) FROM slot t JOIN block tb ON tb.id = t.block JOIN slot m "
                                          "ON m.worker = t.worker JOIN block mb ON mb.id = m.block "
                                          "WHERE tb.phase = 'trace' AND mb.phase = 'measured'"), [(0,)])
        report = self.abba("report", file).stdout
        self.assertIn("## Traces", report)
        self.assertIn("| `norm_fused` | 1 | 100.0 µs |", report)
        self.assertRegex(report, r"(?m)^\| `norm_mean` +\| 1 +\| 0 +\| 100\.0 µs +\| 0 s? *")
        self.assertIn("<h2>Traces</h2>", self.abba("report", file, "--html").stdout)
        text = self.abba("trace", file).stdout
        self.assertIn("| `product<float, 4>` | 1 | 100.0 µs |", text)
        self.assertIn("| · layer | 1 |", text)

    def test_canary_a_changed_row_of_a_trace_does_not_verify(self):
        file = self.run_traced()
        connection = sqlite3.connect(file)
        connection.execute("UPDATE trace_kernel SET end_ns = end_ns - 1 WHERE ordinal = 3")
        connection.commit()
        connection.close()
        self.assertIn("chain", self.abba("verify", file, exit_code=7).stderr)

    def test_a_file_for_perfetto_is_always_the_same(self):
        file = self.run_traced()
        for name in ("one.json", "two.json"):
            self.abba("trace", file, "--perfetto", name)
        text = (self.root / "one.json").read_text()
        self.assertEqual(text, (self.root / "two.json").read_text())
        events = json.loads(text)["traceEvents"]
        kernels = [event for event in events if event.get("args", {}).get("grid") == [64, 2, 1]]
        self.assertEqual(len(kernels), 2 * 4 * (3 + 2))
        self.assertEqual({event["dur"] for event in kernels}, {100.0})
        titles = [event["args"]["name"] for event in events if event["name"] == "process_name"]
        self.assertEqual(titles, ["w1, arm A", "w1, arm B", "w2, arm A", "w2, arm B"])
        self.abba("trace", file, "--perfetto", "one.json", exit_code=2)

    def test_only_what_the_manifest_names_is_traced(self):
        file = self.run_traced(traces={"arms": ["B"], "workloads": ["w2"]})
        slots = self.traces(file)
        self.assertEqual([(slot["workload"], slot["arm"], slot["requests"]) for slot in slots],
                         [("w2", "B", 10)])
        self.assertIn("no trace of that arm", self.abba("trace", file, "--arm", "A", exit_code=2).stderr)
        self.abba("verify", file)

    def test_an_arm_without_a_trace_is_a_note(self):
        for fault, code, expected in (("nothing", "N075", "never called"), ("garbage", "N074", "is no trace"),
                                      ("die", "N074", "exit code 3")):
            with self.subTest(fault):
                file = self.run_traced(settings={"fault": fault})
                self.assertIn(expected, self.notes(file, code)[0][1])
                self.assertEqual({slot["arm"] for slot in self.traces(file)}, {"A"})
                self.assertEqual(self.query(file, "SELECT state FROM run"), [("finished",)])
                self.abba("verify", file)
                self.abba("explain", code)
                self.doCleanups()
                self.setUp()

    def test_a_trace_that_lacks_records_says_so(self):
        for fault, expected in (("cut", "ended before"), ("dropped", "3 records were dropped")):
            with self.subTest(fault):
                file = self.run_traced(settings={"fault": fault})
                self.assertIn(expected, self.notes(file, "N076")[0][1])
                self.assertEqual({slot["arm"]: slot["status"] for slot in self.traces(file)},
                                 {"A": "complete", "B": "incomplete"})
                self.doCleanups()
                self.setUp()

    def test_the_real_tracer_without_cupti_says_so_and_harms_nothing(self):
        library = pathlib.Path(ABBA).parent.parent / "lib/libabba_trace.so"
        if not library.exists():
            self.skipTest("this build has no tracer: no CUDA toolkit")
        self.set_variable("ABBA_TRACE_LIBRARY", str(library))  # CUPTI stays the empty file
        file = self.run_traced(settings={"fault": "real"})
        self.assertIn("CUPTI cannot be loaded", self.notes(file, "N076")[0][1])
        self.assertEqual(len(self.notes(file, "N075")), 2)  # both workloads of arm B
        self.assertEqual({slot["arm"]: slot["status"] for slot in self.traces(file)},
                         {"A": "complete", "B": "incomplete"})
        self.assertEqual(self.query(file, "SELECT exit_code FROM worker WHERE pass = -2"), [(0,), (0,)])
        self.abba("verify", file)

    def test_too_many_rows_keep_the_first_requests_whole(self):
        # Each request has 3 * 3000 kernels and calls and some more in A.
        file = self.run_traced(settings={"rows": 3000}, traces={"arms": ["A"], "workloads": ["w1"], "requests": 4})
        slot, = self.traces(file)
        self.assertEqual((slot["requests"], slot["typical_request"]["launches"]), (2, 9000))
        self.assertEqual(slot["cut"], 2 * (2 * 9000 + 4))
        self.assertIn("2 requests are stored", self.notes(file, "N077")[0][1])
        self.abba("verify", file)

    def test_without_a_tracer_the_run_is_whole_and_says_so(self):
        self.set_variable("ABBA_TRACE_CUPTI", str(self.root / "nowhere.so"))
        file = self.run_traced()
        self.assertEqual(len(self.notes(file, "N073")), 2)
        self.assertIn("nowhere.so", self.abba("show", file).stdout)
        self.assertIn("None was recorded", self.abba("report", file).stdout)
        self.assertIn("holds no trace", self.abba("trace", file, exit_code=2).stderr)
        self.abba("verify", file)

    def test_names_that_tell_of_this_machine_are_withheld(self):
        file = self.run_traced(settings={"range": "~/project"})
        stored = self.query(file, "SELECT DISTINCT name FROM trace_range WHERE name LIKE '%private%'")
        self.assertEqual(len(stored), 1, stored)
        self.assertIn("/home/someone/project", self.abba("trace", file).stdout)
        self.abba("export", file, "--out", "bundle.zip")
        self.abba("verify", "bundle.zip")
        with zipfile.ZipFile(self.root / "bundle.zip") as bundle:
            for name in bundle.namelist():
                self.assertNotIn(b"/home/someone", bundle.read(name), name)


if __name__ == "__main__":
    unittest.main()
