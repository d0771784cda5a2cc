"""Programs without the protocol as arms, from manifest to verdict: their wall time, lines they
print, Google Benchmark's JSON, nvbench's JSON with its binary files."""

import json
import sys
import unittest

from project import ProjectTest, sleepy_manifest

# Times scatter a little: passes that are equal to the nanosecond are no measurement.
LINES = """
import random, sys
pace, count = sys.argv[1], int(sys.argv[2])
print("some other output")
for i in range(count):
    print("abba-sample w1", (2000 if pace == "slow" else 1000) + random.randrange(90))
"""

GOOGLE = """
import json, random, sys
pace, count = sys.argv[1], int(sys.argv[2])
time = 2.0 if pace == "slow" else 1.0
runs = [{"name": "bm/8", "run_name": "bm/8", "run_type": "iteration", "real_time": time + random.random() / 20,
         "time_unit": "us"} for i in range(count)]
runs.append({"name": "bm/8_mean", "run_name": "bm/8", "run_type": "aggregate", "real_time": 99,
             "time_unit": "s"})
print(json.dumps({"context": {}, "benchmarks": runs}))
"""

NVBENCH = """
import json, pathlib, random, struct, sys
pace, count, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
time = 2e-6 if pace == "slow" else 1e-6
times = [time + random.random() * 5e-8 for i in range(count)]
(out.parent / "0.bin").write_bytes(struct.pack(f"<{count}f", *times))
data = [{"name": "filename", "type": "string", "value": "0.bin"},
        {"name": "size", "type": "int64", "value": str(count)}]
summary = {"tag": "nv/json/bin:nv/cold/sample_times", "hint": "file/sample_times", "data": data}
out.write_text(json.dumps({"benchmarks": [{"name": "copy", "states": [
    {"name": "Device=0", "summaries": [summary]}]}]}))
print("progress of nvbench goes to standard output")
"""

EVERY_SLOT = "SELECT count(*), min(n), max(n), min(w), max(w) FROM (SELECT count(*) n, sum(warmup) w " \
             "FROM sample GROUP BY slot)"


class Program(ProjectTest):
    def manifest(self, script, reads, *words, **changes):
        path = self.root / "program.py"
        path.write_text(script)
        arms = {arm: {"program": [sys.executable, "-B", str(path), pace, *words], "reads": reads}
                for arm, pace in (("A", "slow"), ("B", "fast"))}
        manifest = sleepy_manifest(id="program", independent_variable="worker", arms=arms,
                                   settings={}, workloads=[{"id": "w1", "input": "bm/8"}])
        del manifest["worker"]
        manifest.update(changes)
        return manifest

    def measured(self, manifest, samples_a_slot):
        """Runs it as registered, checks all that is stored, gives the report's JSON and text."""
        path = self.write(manifest)
        self.abba("register", path)
        self.abba("run", "--quiet", path)
        file = self.run_file()
        slots, least, most, least_warmups, most_warmups = self.query(file, EVERY_SLOT)[0]
        self.assertEqual(slots, 7 * 4)
        self.assertEqual((least, most), (samples_a_slot, samples_a_slot))
        self.assertEqual((least_warmups, most_warmups), (1, 1))
        self.assertIn("internally consistent", self.abba("verify", file).stdout)
        words = json.loads(self.abba("report", file, "--json").stdout)
        for verdict in words["verdicts"]:
            self.assertEqual(verdict["word"], "improved", verdict)
        return self.abba("report", file).stdout

    def own_counts(self):
        return self.query(self.run_file(), "SELECT text FROM note WHERE code = 'N072' ORDER BY text")

    def test_wall_time_of_a_process(self):
        arms = {arm: {"program": ["sleep", seconds], "reads": "wall"}
                for arm, seconds in (("A", "0.02"), ("B", "0.002"))}
        manifest = sleepy_manifest(id="program", independent_variable="worker", arms=arms,
                                   settings={})
        del manifest["worker"]
        report = self.measured(manifest, 4)
        self.assertNotIn("the program's own", report)
        self.assertEqual(self.own_counts(), [])
        shortest = self.query(self.run_file(), "SELECT min(duration_ns) FROM sample")[0][0]
        self.assertGreater(shortest, 2_000_000)

    def test_lines_of_the_asked_number(self):
        report = self.measured(self.manifest(LINES, "lines", "{samples}"), 4)
        self.assertIn("clock: the program's own", report)
        self.assertEqual(self.own_counts(), [])

    def test_google_benchmark_with_more_repetitions_than_asked(self):
        self.measured(self.manifest(GOOGLE, "google-benchmark", "9"), 9)
        noted = self.own_counts()
        self.assertEqual([row[0][:6] for row in noted], ["arm A:", "arm B:"])
        self.assertIn("9 samples where 4 were asked for", noted[0][0])
        outside = self.query(self.run_file(), "SELECT count(*) FROM sample WHERE NOT "
                             "(duration_ns BETWEEN 1000 AND 1050 OR duration_ns BETWEEN 2000 AND 2050)")
        self.assertEqual(outside, [(0,)])

    def test_nvbench_with_fewer_samples_than_asked(self):
        manifest = self.manifest(NVBENCH, "nvbench", "3", "{out}",
                                 workloads=[{"id": "w1", "input": {"benchmark": "copy"}}])
        self.measured(manifest, 3)
        self.assertEqual(len(self.own_counts()), 2)

    def test_a_program_that_prints_nothing_but_warm_ups_breaks_the_run(self):
        path = self.write(self.manifest(LINES, "lines", "1"))
        done = self.abba("run", "--register", path, exit_code=5)
        self.assertIn("ask for fewer warm-ups", done.stderr)

    def test_interleaved_requests_need_the_wall_clock(self):
        manifest = self.manifest(LINES, "lines", "{samples}")
        manifest["protocol"]["order"] = "interleaved"
        done = self.abba("check", self.write(manifest), exit_code=2)
        self.assertIn("/protocol/order", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
