"""Each bad input: one clear sentence, the documented exit code, nothing half-written."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from project import ABBA, SAXPY, SLEEPY, SOURCE, ProjectTest, saxpy_manifest, sleepy_manifest


class BadInput(ProjectTest):
    def one_sentence(self, done, *words):
        self.assertTrue(done.stderr.startswith("abba: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def nothing_written(self):
        self.assertFalse((self.root / "results").exists() and self.run_files())
        self.assertFalse(list(self.root.rglob("*.lock.json")))

    def test_usage(self):
        run = next((SOURCE / "results/quickstart").glob("*.xz"))
        for words, expected in [
            ((), "name a command; see `abba --help`"),
            (("frobnicate",), "frobnicate"),
            (("check",), "manifest"),
            (("check", "--frob", "m.json"), "--frob"),
            (("run", "none.json"), "none.json"),
            (("check", "manifests"), "manifests"),
            (("report",), "abba run"),
            (("show", "none.sqlite"), "none.sqlite"),
            (("verify", "none.sqlite"), "none.sqlite"),
            (("verify", run, "--anchor", "none"), "--anchor none"),
            (("verify", run, "--ca", "none"), "--ca none"),
            (("verify", run, "--mirror", "none"), "--mirror none"),
            (("verify", run, "--anchor", "manifests"), "--anchor manifests: is no file"),
            (("verify", run, "--ca", "/dev/zero"), "--ca /dev/zero: is no file"),
            *((command.split() + [""], "empty name") for command in
              ("export", "show", "trace", "report", "verify", f"beside {run}")),
            (("report", run, "--json", "--html"), "excludes"),
            (("beside", run, run), "named twice"),
            (("try", "true", "true", "--passes", "99999999999999"), "1 to 1000"),
            (("explain", "N999"), "N999"),
            (("run", "--register", "--exploratory", "m.json"), "exclude"),
            (("try", "true", "'"), "quote"),
            (("completions", "fish"), "fish"),
        ]:
            with self.subTest(words=words):
                self.one_sentence(self.abba(*words, exit_code=2), expected)
        self.assertIn("abba 0.", self.abba("--version").stdout)
        self.assertIn("register", self.abba("--help").stdout)
        self.assertIn("complete -F", self.abba("completions", "bash").stdout)
        self.assertIn("N054", self.abba("explain").stdout)

    def test_a_folder_that_is_gone(self):
        gone = self.root / "gone"
        for words in (("ledger",), ("list",), ("report",), ("doctor",), ("try", "true", "true")):
            gone.mkdir()
            done = subprocess.run(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", ABBA, *words],
                                  cwd=gone, text=True, capture_output=True, timeout=100)
            self.assertEqual(done.returncode, 5, done)
            self.assertEqual(done.stderr, "abba: this folder: No such file or directory; check "
                             "that it is still there and its permissions\n")

    def test_engine_that_is_not_there(self):
        alone = self.root / "bin"
        alone.mkdir()
        shutil.copy(ABBA, alone / "abba")
        done = subprocess.run([alone / "abba", "laya", "decide", "--help"], text=True,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("abba-laya", done.stderr)

    def test_an_anchor_that_cannot_be_made_registers_nothing(self):
        path = self.write(saxpy_manifest([SAXPY]))
        for words, expected in [
            (("rfc3161",), "--authority"),
            (("rfc3161", "--authority", "ftp://a", "--ca", path), "http"),
            (("rfc3161", "--authority", "http://localhost", "--ca", "none.pem"), "none.pem"),
            (("rfc3161", "--authority", "http://localhost", "--ca", path), "certificate"),
            (("manifests",), "no file"),
            (("none/kept.txt",), "no file"),
        ]:
            with self.subTest(words=words):
                self.one_sentence(self.abba("register", path, "--anchor", *words, exit_code=2),
                                  expected)
                self.nothing_written()
        self.assertFalse((self.root / "manifests/ledger").exists())

    def test_every_mistake_of_a_manifest_is_named(self):
        path = self.root / "manifests/bad.json"
        path.write_text("{not json")
        self.one_sentence(self.abba("check", path, exit_code=2), "line 1")
        cases = [
            ({"protocol": {"preset": "standard", "passes": 0}}, "/protocol/passes"),
            ({"protocol": {"preset": "standard", "passes": 10**9}}, "/protocol/passes"),
            ({"colour": 1}, "colour"),
            ({"hypothesis": 5}, "/hypothesis"),
            ({"arms": {"A": {"factors": {"pace": "slow"}}, "B": {"factors": {"pace": "slow"}}}},
             "pace"),
            ({"arms": {"A": {"factors": {"pace": "slow", "answer": "right"}},
                       "B": {"factors": {"pace": "fast", "answer": "wrong"}}}}, "answer"),
            ({"workloads": [{"id": "w1"}]}, "input"),
            ({"workloads": []}, "/workloads"),
        ]
        for changes, expected in cases:
            with self.subTest(changes=changes):
                path = self.write(sleepy_manifest(**changes))
                for command in ("check", "register", "run"):
                    self.one_sentence(self.abba(command, path, exit_code=2), expected)
        everything = sleepy_manifest(colour=1, hypothesis=5, workloads=[])
        done = self.abba("check", self.write(everything), exit_code=2)
        for expected in ("colour", "/hypothesis", "/workloads"):
            self.assertIn(expected, done.stderr)
        self.nothing_written()

    def test_a_level_that_does_not_exist_is_found_by_check(self):
        manifest = sleepy_manifest()
        manifest["arms"]["B"]["factors"]["pace"] = "ludicrous"
        path = self.write(manifest)
        self.one_sentence(self.abba("check", path, exit_code=2), "ludicrous", "fast")
        self.one_sentence(self.abba("run", "--exploratory", path, exit_code=4), "pace")

    def test_preflight_refusals(self):
        cases = [
            ({"affinity": {"cpus": [3999]}}, 4, "3999"),
            ({"worker": [str(self.root / "no-such-worker")]}, None, "no-such-worker"),
            ({"worker": ["/bin/true"]}, 4, "died"),
            ({"device": "any"}, 4, "device"),
            ({"files": [{"name": "f", "path": "missing.bin"}]}, 4, "missing.bin"),
            ({"protocol": {"preset": "standard", "cache": "flush-l2"}}, 4, "cannot empty caches"),
            ({"protocol": {"preset": "standard", "placement": "shared-process"},
              "independent_variable": "answer",
              "arms": {"A": {"factors": {"answer": "right"}},
                       "B": {"factors": {"answer": "wrong"}}}}, 4, "cannot switch answer"),
            ({"protocol": {"preset": "standard", "limits": {"max_requests": 10}}}, None,
             "max_requests"),
            ({"protocol": {"preset": "standard", "limits": {"max_wall_s": 1}}}, 4, "max_wall_s"),
        ]
        for changes, code, expected in cases:
            with self.subTest(changes=changes):
                path = self.write(sleepy_manifest(**changes))
                done = self.abba("run", "--exploratory", path, exit_code=4 if code else 2)
                self.one_sentence(done, expected)
        self.assertFalse(self.run_files(".abba/exploratory"))

    def test_differing_outputs_are_refused_before_any_timing(self):
        manifest = sleepy_manifest(independent_variable="answer", arms={
            "A": {"factors": {"answer": "right"}}, "B": {"factors": {"answer": "wrong"}}})
        path = self.write(manifest)
        done = self.abba("run", "--register", path, exit_code=4)
        self.one_sentence(done, "stage answer", "[1]: -1.25 against -2.25")
        self.assertFalse((self.root / "results").exists() and self.run_files())
        kept = self.run_files(".abba/failed")
        self.assertEqual(len(kept), 1)
        self.assertEqual(self.query(kept[0], "SELECT count(*) FROM sample"), [(0,)])
        self.assertIn('"failed"', (self.root / ".abba/attempts").read_text())

    def test_existing_output_is_never_overwritten(self):
        path = self.write(saxpy_manifest([SAXPY]))
        target = self.root / "mine.sqlite"
        target.write_text("precious")
        done = self.abba("run", "--exploratory", path, "--output", target, exit_code=2)
        self.one_sentence(done, "exists already")
        self.assertEqual(target.read_text(), "precious")

    def test_a_bare_name_is_a_file_of_this_folder(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("run", "--exploratory", path, "--output", "bare.sqlite", "--quiet")
        self.assertIn("finished", self.abba("show", "bare.sqlite").stdout)

    def test_results_that_cannot_be_written(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("register", path)
        (self.root / "results").write_text("a file, not a folder")
        self.one_sentence(self.abba("run", path, exit_code=5), "results", "--output")

    def test_only_what_a_command_has_is_advised(self):
        (self.root / ".abba").mkdir()
        (self.root / ".abba/exploratory").write_text("a file, not a folder")
        err = self.abba("try", "--requests", "1", "true", "true", exit_code=5).stderr
        self.assertIn("cannot be created", err)
        self.assertNotIn("--output", err)

    def test_full_disk_keeps_what_was_committed(self):
        manifest = saxpy_manifest([SAXPY])
        manifest["protocol"]["slot"] = {"warmup": 1, "requests": 300}
        path = self.write(manifest)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        done = self.abba("run", "--exploratory", path, exit_code=5, preexec_fn=small_files)
        self.assertRegex(done.stderr, r"(?m)^abba: .*(full|space|large|disk)")
        for file in self.run_files(".abba/exploratory"):
            self.assertIn("state", self.show(file))

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ABBA, "explain"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 5)
        self.assertIn("No space left", done.stderr)

    def test_damaged_run_files(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("run", "--register", "--quiet", path)
        file = self.run_file()
        damaged = self.root / "damaged.sqlite"
        damaged.write_bytes(file.read_bytes()[:5000])
        for command in ("show", "report"):
            self.one_sentence(self.abba(command, damaged, exit_code=2), "damaged.sqlite")
        self.abba("verify", damaged, exit_code=7)
        self.abba("run", path, "--resume", file, exit_code=2)

    def test_control_characters_of_a_worker_do_not_reach_the_terminal(self):
        manifest = sleepy_manifest()
        manifest["settings"]["refuse_with"] = "\x1b[31mred\x9b2J\x07"
        path = self.write(manifest)
        done = self.abba("run", "--exploratory", path, exit_code=5)
        self.assertRegex(done.stderr, "(?m)^abba: note N056 .*red")
        self.assertNotRegex(done.stdout + done.stderr, "[\x1b\x9b\x07]")

    def test_worker_check_tells_a_worker_from_another_program(self):
        self.abba("worker-check", "--input", json.dumps({"n": 3}), "--", sys.executable, "-B",
                  SLEEPY)
        self.abba("worker-check", "--", "/bin/cat", exit_code=7)

    def test_worker_check_says_what_it_could_not_try(self):
        done = self.abba("worker-check", "--", sys.executable, "-B",
                         SLEEPY.parent / "rule_breaker.py", "no-example", exit_code=2)
        self.one_sentence(done, "no slot could be tried", "--input JSON")
        self.assertRegex(done.stdout, r"not checked +samples-counted: not reached")
        self.one_sentence(self.abba("worker-check", "--file", "data", "--", SAXPY, exit_code=2),
                          "NAME=PATH")
        self.one_sentence(self.abba("worker-check", "--settings", "[]", "--", SAXPY, exit_code=2),
                          "--settings")
        self.one_sentence(self.abba("worker-check", "--", "/no/such/worker", exit_code=2),
                          "/no/such/worker")

    def test_worker_check_prints_a_row_for_every_rule(self):
        breaker = SLEEPY.parent / "rule_breaker.py"
        done = self.abba("worker-check", "--json", "--", sys.executable, "-B", breaker,
                         "slot-id-echoed", exit_code=7)
        found = json.loads(done.stdout)
        self.assertEqual(found["broken"], 1)
        broken = [row for row in found["rules"] if row["state"] == "broken"]
        self.assertEqual([row["rule"] for row in broken], ["slot-id-echoed"])
        self.assertTrue(all(row["demand"] for row in found["rules"]))
        self.assertEqual(len(found["rules"]),
                         found["ok"] + found["broken"] + found["not_checked"])
        text = self.abba("worker-check", "--", sys.executable, "-B", breaker, "slot-id-echoed",
                         exit_code=7).stdout
        self.assertRegex(text, r"broken +slot-id-echoed: ")
        self.assertIn("demanded: a slot answers with its own id", text)


if __name__ == "__main__":
    unittest.main()
