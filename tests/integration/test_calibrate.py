"""abba calibrate with real workers: runs, goes on where it was stopped, writes a record, and reports cite it."""
import hashlib
import json
import shutil
import subprocess
import time
import unittest

from project import ABBA, ENVIRONMENT, SAXPY, ProjectTest, saxpy_manifest

OF_ANY_OUTCOME = (0, 7)  # noise may break a bound here; what must hold is looked at one by one


def equal_arms(**changes):
    manifest = saxpy_manifest(
        [SAXPY], id="calibration", independent_variable="none", arms={"A": {}, "B": {}},
        workloads=[{"id": "w", "input": {"n": 20000}}],
        protocol={"preset": "standard", "blocks": 2, "order": "interleaved", "load": "expected",
                  "on_taint": "keep", "slot": {"warmup": 1, "warmup_ms": 0, "requests": 8}},
        outputs="bitwise", success={"claim": "equivalent", "harm_limit": 0.5})
    manifest.update(changes)
    return manifest


class Calibrate(ProjectTest):
    def calibrate(self, path, *words, codes=OF_ANY_OUTCOME):
        done = subprocess.run([ABBA, "calibrate", str(path), "--json", *words], cwd=self.root, env=ENVIRONMENT,
                              text=True, capture_output=True, timeout=110)
        self.assertIn(done.returncode, codes, done.stderr)
        return done, json.loads(done.stdout)

    def test_a_quick_one_goes_on_where_it_was_stopped(self):
        path = self.write(equal_arms())
        done, record = self.calibrate(path, "--quick", "--minutes", "0.002", codes=(6,))
        self.assertRegex(done.stderr, r"abba: not complete: \d+ runs are missing")
        first = next((self.root / ".abba/calibration").glob("*/calibration/equal/001.sqlite"))
        before = first.stat().st_mtime_ns
        self.assertEqual([run["file"] for run in record["runs"]], ["equal/001.sqlite"])
        done, record = self.calibrate(path, "--quick")
        self.assertEqual(first.stat().st_mtime_ns, before, "a stored run is not run again")
        self.assertEqual(len(record["runs"]), 10)
        self.assertIn("is no series; choose equal, spin-2-percent", self.abba(
            "calibrate", path, "--quick", "--series", "spin", exit_code=2).stderr)
        self.assertEqual({series["name"]: series["runs"] for series in record["series"]},
                         {"equal": 2, "spin-2-percent": 1, "spin-1-percent": 1, "spin-0_5-percent": 1,
                          "spin-0_25-percent": 1, "delay": 1, "one-position": 1, "drift": 1, "hidden-delay": 1})
        checks = {check["name"]: check for check in record["checks"]}
        for name in ("law", "law-applies", "clock-drop", "delay", "hidden-delay"):
            self.assertTrue(checks[name]["holds"], checks[name])
        self.assertEqual(checks["intervals"]["of"], 200)
        self.assertEqual(list(self.root.glob("results/*")), [], "a quick one is nothing to cite")

    def test_a_record_is_written_once_and_cited_by_later_reports(self):
        path = self.write(equal_arms())
        other = self.write(saxpy_manifest([SAXPY], id="other"))
        self.assertIn("N090", self.abba("explain", "N090").stdout)
        self.abba("run", other, "--exploratory", "--quiet")
        earlier = max((self.root / ".abba/exploratory/other").glob("*.sqlite"))
        self.assertIn("N090: no calibration record", self.abba("report", earlier).stdout)
        time.sleep(1.1)  # times of day are stored in whole seconds
        self.calibrate(path, "--runs", "1", "--minutes", "0.002", "--record-now")
        records = list((self.root / "results/calibration").glob("*/calibration/*.json"))
        self.assertEqual(len(records), 1)
        again, _ = self.calibrate(path, "--runs", "1", "--no-runs", "--record-now")
        self.assertIn("says the same", again.stderr)
        self.assertEqual(list((self.root / "results/calibration").glob("*/calibration/*.json")), records)
        # Stored runs are judged anywhere by the name of their class, and for no other class.
        folder = records[0].parent.parent
        named = folder.name
        self.calibrate(path, "--runs", "1", "--no-runs", "--record-now", "--class", named)
        self.assertIn("--no-runs", self.abba("calibrate", path, "--class", named, exit_code=2).stderr)
        self.assertIn("is no machine class", self.abba("calibrate", path, "--no-runs", "--class", "../x",
                                                       exit_code=2).stderr)
        stranger = folder.with_name("another-cpu-64-cpus")
        shutil.copytree(folder, stranger)
        said = self.abba("calibrate", path, "--no-runs", "--class", stranger.name, exit_code=5).stderr
        self.assertIn(f"is passed over: its machine is of class {named}", said)
        shutil.rmtree(stranger)
        time.sleep(1.1)
        self.abba("run", other, "--exploratory", "--quiet")
        later = max((self.root / ".abba/exploratory/other").glob("*.sqlite"))
        self.assertNotEqual(earlier, later)
        digest = hashlib.sha256(records[0].read_bytes()).hexdigest()
        self.assertIn(f"record {digest[:12]}, 0 days old", self.abba("report", later).stdout)
        # A machine that was calibrated with two kinds of load has two records to cite.
        shutil.copytree(folder / "calibration", folder / "second")
        self.assertRegex(self.abba("report", later).stdout,
                         rf"(?s)record {digest[:12]}.*By second: .*record {digest[:12]}")
        self.assertIn("N090: no calibration record", self.abba("report", earlier).stdout,
                      "a report does not change because a record came later")
        self.assertNotIn("calibration", self.abba("list").stdout)

    def test_another_manifest_is_refused(self):
        for change, words in (
                ({"independent_variable": "loop", "arms": {"A": {"factors": {"loop": "plain"}},
                                                           "B": {"factors": {"loop": "unrolled"}}}},
                 "is no A/A manifest"),
                ({"workloads": [{"id": "w", "input": {"n": 1}}, {"id": "v", "input": {"n": 2}}]}, "2 workloads"),
                ({"success": {"claim": "faster"}}, "declares no success.harm_limit"),
                ({"protocol": {"preset": "quick"}}, "another preset than standard"),
                ({"arms": {"A": {"program": ["true"], "reads": "wall"}, "B": {"program": ["true"], "reads": "wall"}},
                  "outputs": "none"}, "arms that are programs")):
            path = self.write(equal_arms(**change), "refused")
            self.assertIn(words, self.abba("calibrate", path, exit_code=2).stderr)
            path.unlink()


if __name__ == "__main__":
    unittest.main()
