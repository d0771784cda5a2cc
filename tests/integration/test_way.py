"""The whole way of an experiment, with real processes."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

from project import ENVIRONMENT, SAXPY, SAXPY_PY, SOURCE, ProjectTest, saxpy_manifest, sleepy_manifest


class Way(ProjectTest):
    def test_doctor_tells_people_and_programs_the_same(self):
        lines = self.abba("doctor").stdout.splitlines()
        rows = json.loads(self.abba("doctor", "--json").stdout)
        self.assertEqual(len(lines), len(rows))
        for line, row in zip(lines, rows):
            self.assertEqual(list(row), ["topic", "health", "text", "advice"])
            self.assertIn(row["health"], ("good", "limited", "missing"))
            self.assertEqual(line.split()[:2], [row["health"], row["topic"] + ":"])
        topics = [row["topic"] for row in rows]
        self.assertEqual(topics[:6], ["cpus", "frequency", "clock", "counters", "disk", "git"])
        self.assertEqual(set(topics[6:]), {"device"})
        for topic in topics:
            self.assertIn(topic, self.abba("doctor", "--help").stdout)

    def test_cpp_worker_from_check_to_verify_twice(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.assertIn("no mistakes", self.abba("check", path).stdout)
        expanded = json.loads(self.abba("check", "--expand", path).stdout)
        self.assertEqual(expanded["protocol"]["passes"], 6)
        self.assertRegex(self.abba("diff", path).stdout, r"\* factor loop +plain +unrolled")
        self.assertIn("measured pass 6", self.abba("plan", path).stdout)
        self.assertIn("registered: ", self.abba("register", path).stdout)
        self.assertIn("registered before: ", self.abba("register", path).stdout)
        self.assertNotIn("FAIL", self.abba("preflight", path).stdout)
        for runs in (1, 2):
            out = self.abba("run", path).stdout
            self.assertIn("run file: ", out)
            self.assertEqual(len(self.run_files()), runs)
        for file in self.run_files():
            self.assertIn("internally consistent", self.abba("verify", file).stdout)
            self.assertEqual(self.complete_passes(self.show(file)), 6)
        self.assertEqual(self.abba("list").stdout.count("finished"), 2)
        ledger = self.abba("ledger", path).stdout
        self.assertEqual(ledger.count("run-finished"), 2)
        self.assertFalse(list(self.root.rglob("*-wal")))

    def test_report_in_every_form(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("run", "--register", "--quiet", path)
        written = list((self.root / "reports/saxpy").iterdir())
        self.assertEqual(sorted(file.suffix for file in written), [".md", ".svg"])
        text = self.abba("report", "--latest", "saxpy").stdout
        self.assertIn("unrolling helps", text)
        self.assertIn("abba run manifests/saxpy.json", text)
        self.assertFalse(str(self.root) in text, "a path of this machine in the report")
        self.assertIn("<svg", self.abba("report", "--html").stdout)
        self.assertEqual(json.loads(self.abba("report", "--json").stdout)["schema"],
                         "abba.report/1")
        self.abba("report", "--out", self.root / "mine.md")
        self.assertIn("mine.svg", (self.root / "mine.md").read_text())
        self.abba("report", "--out", self.root / "mine.md", exit_code=2)

    def test_python_worker_exploratory_says_no_confirmatory_word(self):
        manifest = saxpy_manifest([sys.executable, "-B", SAXPY_PY])
        manifest["arms"]["B"]["factors"]["loop"] = "zip"
        path = self.write(manifest)
        self.abba("check", path)
        out = self.abba("run", "--exploratory", path).stdout
        self.assertFalse((self.root / "results").exists())
        file = self.run_files(".abba/exploratory")[0]
        words = json.loads(self.abba("report", file, "--json").stdout)
        for verdict in words["verdicts"]:
            self.assertIn(verdict["word"], ("faster", "slower", "no difference seen", "invalid",
                                            "inconclusive"))
        self.assertNotRegex(out, r"\b(improved|regressed|equivalent)\b")
        attempts = (self.root / ".abba/attempts").read_text()
        self.assertIn('"exploratory"', attempts)

    def test_plan_says_what_it_costs_and_may_claim(self):
        path = self.write(saxpy_manifest([SAXPY]))
        text = self.abba("plan", path).stdout
        for words in ("a worker takes 1.00 s to start (assumed", "starts", "measuring", " MB", "cannot say: not equiv",
                      "may say: improved, regressed, inconclusive, invalid"):
            self.assertIn(words, text)
        self.abba("run", path, "--exploratory", "--quiet")
        text = self.abba("plan", path).stdout
        self.assertRegex(text, r"a request of small takes \S+ \S+ \(from .abba/exploratory/saxpy/")
        manifest = saxpy_manifest([SAXPY])
        manifest["protocol"]["limits"] = {"max_wall_s": 20}
        manifest["protocol"]["passes"] = 12
        plan = self.abba("plan", self.write(manifest), "--json", "--start-s", "2", exit_code=4)
        self.assertIn("limits.max_wall_s allows 20 s", plan.stderr)
        cheaper = json.loads(plan.stdout)["cheaper"]
        self.assertIn('"looks": [6]', cheaper[0]["change"])
        self.assertTrue(all(row["loses"] for row in cheaper))

    def test_published_pages_of_both_plans_follow_from_their_run_files(self):
        pages = sorted((SOURCE / "reports/both_plans").glob("*.md"))
        self.assertTrue(pages)
        for page in pages:
            command = next(line for line in page.read_text().splitlines() if "abba beside " in line)
            made = self.abba(*command.strip().split()[1:], cwd=SOURCE).stdout
            self.assertEqual(made, page.read_text(), f"{page.name}: make it again with `{command.strip()}`")

    def test_two_pass_reuses_one_worker_an_arm_and_gives_no_verdict_word(self):
        manifest = saxpy_manifest([SAXPY])
        manifest["protocol"] = {"preset": "two-pass", "load": "expected", "on_taint": "keep"}
        manifest["success"] = {}
        self.abba("run", "--register", self.write(manifest))
        file = self.run_file()
        self.assertEqual(self.query(file, "SELECT count(*) FROM worker")[0][0], 2)
        orders = self.query(file, "SELECT slot_order FROM block WHERE phase = 'measured' "
                                  "ORDER BY id")
        self.assertEqual([order for (order,) in orders], ["AB", "AB", "BA", "BA"])
        counts = self.query(file, "SELECT DISTINCT n FROM (SELECT count(*) AS n FROM sample "
                                  "WHERE warmup = 0 GROUP BY slot)")
        self.assertEqual(counts, [(50,)])
        text = self.abba("report", file).stdout
        self.assertRegex(text, r"disjoint-pass-means (met|not met)")

    def test_interleaved_requests_are_stored_per_arm_and_block(self):
        manifest = sleepy_manifest()
        manifest["protocol"]["order"] = "interleaved"
        manifest["protocol"]["passes"] = 2
        self.abba("run", "--exploratory", self.write(manifest))
        file = self.run_files(".abba/exploratory")[0]
        rows = self.query(file, "SELECT b.id, count(DISTINCT s.id), count(*) FROM block b "
                                "JOIN slot s ON s.block = b.id JOIN sample x ON x.slot = s.id "
                                "WHERE b.phase = 'measured' GROUP BY b.id")
        self.assertEqual([row[1:] for row in rows], [(2, 8), (2, 8)])

    def test_two_commands_can_be_tried_without_a_manifest(self):
        out = self.abba("try", "sleep 0.002", "sleep 0.02", "--requests", "2", "--passes", "6").stdout
        self.assertIn("run file: ", out)
        self.assertIn('"tried"', (self.root / ".abba/attempts").read_text())
        self.assertEqual(len(self.run_files(".abba/exploratory")), 1)

    def test_committed_lock_and_edited_readme_are_accepted_in_a_clone(self):
        git = lambda *words, cwd=self.root: subprocess.run(
            ["git", *map(str, words)], cwd=cwd, env=ENVIRONMENT, check=True, capture_output=True)
        (self.root / "source.c").write_text("int x;\n")
        (self.root / "README.md").write_text("one\n")
        path = self.write(saxpy_manifest([SAXPY]))
        git("init", "-q")
        git("add", ".")
        git("commit", "-q", "-m", "first")
        self.abba("register", path)
        git("add", ".")
        git("commit", "-q", "-m", "lock")
        (self.root / "README.md").write_text("two\n")
        git("commit", "-q", "-a", "-m", "readme")
        elsewhere = self.root.parent / (self.root.name + "-clone")
        self.addCleanup(shutil.rmtree, elsewhere, ignore_errors=True)
        git("clone", "-q", self.root, elsewhere)
        self.abba("run", "manifests/saxpy.json", cwd=elsewhere)
        (elsewhere / "source.c").write_text("int y;\n")
        done = self.abba("run", "manifests/saxpy.json", cwd=elsewhere, exit_code=3)
        self.assertIn("source.c", done.stderr)

    def test_bindings_environment_and_padding_are_stored(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("run", "--exploratory", "--quiet", path)
        file = self.run_files(".abba/exploratory")[0]
        self.assertTrue(re.search(r"(?m)^binding +executable/A [0-9a-f]{64}$", self.show(file)))
        paddings = self.query(file, "SELECT DISTINCT value FROM environment "
                                    "WHERE key LIKE 'worker/%/padding_bytes'")
        self.assertGreater(len(paddings), 3)
        slots = self.query(file, "SELECT count(*) FROM slot")[0][0]
        for moment in ("before", "after"):
            seen = self.query(file, "SELECT count(DISTINCT slot) FROM environment "
                                    f"WHERE moment = '{moment}'")[0][0]
            self.assertEqual(seen, slots)

    def test_canary_a_changed_sample_does_not_verify(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("run", "--register", "--quiet", path)
        file = self.run_file()
        connection = sqlite3.connect(file)
        connection.execute("UPDATE sample SET duration_ns = duration_ns / 2 WHERE seq = 1")
        connection.commit()
        connection.close()
        self.assertIn("does not check out", self.abba("verify", file, exit_code=7).stderr)


if __name__ == "__main__":
    unittest.main()
