"""Placements, orders, pauses and cold caches: from the manifest through check, run and verify."""

import json
import math
import sys
import unittest

from project import SAXPY, ProjectTest, saxpy_manifest, sleepy_manifest


def changed(manifest, **protocol):
    manifest["protocol"] = dict(manifest["protocol"], **protocol)
    return manifest


class Conditions(ProjectTest):
    def run_to_the_end(self, manifest):
        path = self.write(manifest)
        self.abba("check", path)
        self.abba("plan", path)
        self.abba("register", path)
        self.abba("run", path, "--quiet")
        file = self.run_file()
        self.abba("verify", file)
        return file, self.abba("report", file).stdout

    def workers_of_slots(self, file):
        return self.query(file, "SELECT s.worker, s.arm FROM slot s JOIN block b ON b.id = s.block "
                                "WHERE b.phase = 'measured' ORDER BY s.id")

    def test_one_at_a_time_no_worker_ever_has_company(self):
        alone = self.root / "alone"
        alone.mkdir()
        settings = {"request_ms": 2, "alone_in": str(alone)}
        file, report = self.run_to_the_end(
            changed(sleepy_manifest(settings=settings), placement="one-at-a-time"))
        slots = self.workers_of_slots(file)
        self.assertEqual(len(slots), 6 * 4)
        self.assertEqual(len({worker for worker, _ in slots}), 6 * 4, "each slot has its own")
        self.assertIn("one-at-a-time", report)
        verdict, = json.loads(self.abba("report", "--json", file).stdout)["verdicts"]
        self.assertLess(verdict["deciding"]["high"], math.log(0.8), "B sleeps half as long")

    def test_canary_two_loaded_workers_are_company(self):
        alone = self.root / "alone"
        alone.mkdir()
        settings = {"request_ms": 2, "alone_in": str(alone)}
        path = self.write(sleepy_manifest(settings=settings))
        self.abba("register", path)
        done = self.abba("run", path, "--quiet", exit_code=4)
        self.assertIn("is alive too", done.stderr)

    def test_a_shared_process_is_switched_by_its_hot_factor(self):
        file, report = self.run_to_the_end(changed(sleepy_manifest(), placement="shared-process"))
        slots = self.workers_of_slots(file)
        self.assertEqual(len({worker for worker, _ in slots}), 6, "one a pass")
        self.assertEqual({arm for _, arm in slots}, {"A", "B"})
        self.assertEqual(self.query(file, "SELECT DISTINCT arm FROM worker"), [("AB",)])
        means = dict(self.query(
            file, "SELECT s.arm, avg(m.duration_ns) FROM sample m JOIN slot s ON s.id = m.slot "
                  "WHERE m.warmup = 0 GROUP BY s.arm"))
        self.assertGreater(means["A"], 1.5 * means["B"], "A sleeps twice as long")
        self.assertIn("shared-process", report)

    def test_interleaved_requests_of_a_shared_process(self):
        file, _ = self.run_to_the_end(
            changed(sleepy_manifest(), placement="shared-process", order="interleaved"))
        self.assertEqual(len({worker for worker, _ in self.workers_of_slots(file)}), 6)

    def test_what_a_shared_process_cannot_switch_is_a_mistake(self):
        cold = sleepy_manifest(independent_variable="answer",
                               arms={"A": {"factors": {"answer": "right"}},
                                     "B": {"factors": {"answer": "wrong"}}})
        done = self.abba("check", self.write(changed(cold, placement="shared-process")), exit_code=2)
        self.assertIn("needs a reload", done.stderr)
        for change, says in (({"placement": "shared-process"}, "hot factors only"),
                             ({"placement": "one-at-a-time", "workers": "reuse"}, "fresh-per-pass"),
                             ({"placement": "one-at-a-time", "order": "interleaved"},
                              "another placement")):
            other = sleepy_manifest(independent_variable="worker", arms={
                "A": {"worker": [sys.executable, "-B", "a.py"]},
                "B": {"worker": [sys.executable, "-B", "b.py"]}})
            done = self.abba("check", self.write(changed(other, **change)), exit_code=2)
            self.assertIn(says, done.stderr)

    def test_cold_caches_are_cold_and_python_cannot(self):
        manifest = changed(saxpy_manifest([SAXPY]), cache="flush-l2")
        manifest["workloads"] = manifest["workloads"][:1]
        file, report = self.run_to_the_end(manifest)
        walks = self.query(
            file, "SELECT c.value / w.value FROM environment c JOIN environment w USING (slot) "
                  "WHERE c.key = 'cache.cold_walk' AND w.key = 'cache.warm_walk' ORDER BY 1")
        self.assertEqual(len(walks), 6 * 4 + 4)
        self.assertGreater(walks[len(walks) // 2][0], 1.5)
        self.assertIn("cache flush-l2", report)
        done = self.abba("check", self.write(changed(sleepy_manifest(), cache="flush-l2")),
                         exit_code=2)
        self.assertIn('declares the capability "flush"', done.stderr)

    def test_pauses_come_before_every_slot(self):
        file, _ = self.run_to_the_end(changed(sleepy_manifest(), idle_gap_ms=15))
        shortest = self.query(file, "SELECT min(idle_gap_ns) FROM slot")[0][0]
        self.assertGreaterEqual(shortest, 15_000_000)

    def test_workloads_take_turns_as_registered(self):
        file, report = self.run_to_the_end(changed(
            sleepy_manifest(id="rotated", workloads=[{"id": "w1", "input": {"n": 3}}, {"id": "w2", "input": {"n": 2}}]),
            workload_order="rotated"))
        found = [row[0] for row in self.query(
            file, "SELECT workload FROM block WHERE phase = 'measured' ORDER BY id")]
        self.assertEqual(found, ["w1", "w2", "w2", "w1"] * 3)
        self.assertIn("Workloads take turns in rotated order.", report)

    def test_every_order_is_balanced(self):
        for order, letters in (("AB/BA", {"AB", "BA"}), ("ABBA/BAAB", {"ABBA", "BAAB"}),
                               ("random", None), ("interleaved", {"ABBA", "BAAB"})):
            with self.subTest(order=order):
                file, _ = self.run_to_the_end(changed(
                    sleepy_manifest(id="order-" + order[:2].lower() + str(len(order))), order=order))
                found = [row[0] for row in self.query(
                    file, "SELECT slot_order FROM block WHERE phase = 'measured'")]
                self.assertEqual(len(found), 6)
                for block in found:
                    self.assertEqual(block.count("A"), block.count("B"))
                if letters:
                    self.assertEqual(set(found), letters)
                file.unlink()


if __name__ == "__main__":
    unittest.main()
