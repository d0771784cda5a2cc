"""Bundles through the built abba: what a stranger gets, and what he can recompute without it."""

import json
import lzma
import math
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import unittest
import zipfile

from project import ABBA, SOURCE, ProjectTest, sleepy_manifest

PUBLISHED = sorted((SOURCE / "results").glob("*/*.sqlite.xz"))


def numbers_of(verdict):
    """The effect and the intervals of one verdict of `abba report --json`, those that exist."""
    found = {"effect": verdict["effect"], "passes": verdict["passes"]}
    for name in ("plain95", "deciding"):
        if verdict[name] is not None:
            found |= {f"{name}.{end}": verdict[name][end] for end in ("low", "high")}
    return found


class Bundle(ProjectTest):
    def recompute(self, script, run_file):
        done = subprocess.run([sys.executable, "-B", "-I", script, run_file], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_script_gives_the_numbers_of_every_published_report(self):
        script = SOURCE / "harness/evidence/recompute.py"
        compared = 0
        for run_file in PUBLISHED:
            report = json.loads(self.abba("report", "--json", run_file).stdout)
            found = self.recompute(script, run_file)
            for verdict in report["verdicts"]:
                own = found[verdict["workload"]]
                for name, wanted in numbers_of(verdict).items():
                    value = own
                    for part in name.split("."):
                        value = value[part]
                    self.assertTrue(math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-12),
                                    f"{run_file} {verdict['workload']} {name}: {value} {wanted}")
                    compared += 1
        self.assertGreater(compared, 100)

    def test_canary_the_script_sees_a_changed_sample(self):
        plain = self.root / "changed.sqlite"
        plain.write_bytes(lzma.open(PUBLISHED[0]).read())
        with sqlite3.connect(plain) as database:
            database.execute("UPDATE sample SET duration_ns = duration_ns + 100000 WHERE slot IN "
                             "(SELECT id FROM slot WHERE arm = 'B')")
        done = subprocess.run([sys.executable, "-B", SOURCE / "harness/evidence/recompute.py", plain],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("effect is stored as", done.stderr)

    def test_a_published_run_as_a_bundle_from_export_to_recompute(self):
        run_file = next(path for path in PUBLISHED if "rope_dispatch_cpu_standard" in str(path))
        first = self.abba("export", run_file).stdout.strip()
        self.assertEqual(first, run_file.name.removesuffix(".sqlite.xz") + ".zip")
        self.abba("export", run_file, "--out", "second.zip")
        self.assertEqual((self.root / first).read_bytes(), (self.root / "second.zip").read_bytes())
        self.assertIn("never overwritten", self.abba("export", run_file, exit_code=2).stderr)
        checked = self.abba("verify", first).stdout
        self.assertIn("internally consistent, not anchored", checked)
        self.assertNotIn("FAILS", checked)
        folder = self.root / "unpacked"
        with zipfile.ZipFile(self.root / first) as archive:
            archive.extractall(folder)
        self.follow_commands(folder)
        self.recompute(folder / "recompute.py", folder / "run.sqlite.xz")
        index = json.loads((folder / "bundle.json").read_text())
        self.assertIn("host", [item["key"] for item in index["withheld"]])
        report = json.loads((folder / "report.json").read_text())
        self.assertEqual(report["run"]["head_digest"], index["head_digest"])

    def follow_commands(self, folder):
        """What commands.txt says of repeating is there; what it says of checking works."""
        text = (folder / "commands.txt").read_text()
        commands = [line.split() for line in text.splitlines() if line.startswith("    ")]
        self.assertIn(["abba", "run", "manifest.json"], commands)
        followed = [words for words in commands if words[-1] == "run.sqlite.xz"]
        self.assertEqual([words[:2] for words in followed],
                         [["abba", "verify"], ["abba", "report"], ["python3", "recompute.py"]])
        for program, *words in followed:
            done = subprocess.run([ABBA if program == "abba" else sys.executable, *words],
                                  cwd=folder, text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_plain_sql_gives_the_pass_values_and_means_of_the_report(self):
        compared = 0
        for run_file in PUBLISHED:
            report = json.loads(self.abba("report", "--json", run_file).stdout)
            views = self.views(run_file)
            for verdict in report["verdicts"]:
                key = (verdict["workload"], verdict["boundary"])
                if verdict["metric"] != "latency" or verdict["blocks_tainted"] or \
                        key not in views["outermost"]:
                    continue  # an inner boundary's times are spans; taint leaves the means
                for effect in verdict["pass_effects"]:
                    self.close(views["values"][(*key, effect["pass"])], [effect["log_ratio"]],
                               f"{run_file} {key} pass {effect['pass']}")
                    compared += 1
                for of_arm in verdict["summaries"]:
                    if of_arm["pass"] is None:
                        continue
                    wanted = [of_arm[name] for name in ("count", "failures", "mean", "min")]
                    for view in ("v_pass", "v_slot"):
                        self.close(views[view][(*key, of_arm["pass"], of_arm["arm"])], wanted,
                                   f"{run_file} {key} {view}")
        self.assertGreater(compared, 100)

    def views(self, run_file):
        """What plain SQL says: each view read once."""
        plain = self.root / "run.sqlite"
        plain.write_bytes(lzma.open(run_file).read())
        database = sqlite3.connect(plain)
        self.addCleanup(database.close)
        if database.execute("PRAGMA user_version").fetchone() == (1,):
            # The copy in a bundle has the newest layout.
            self.abba("export", run_file, "--out", f"{run_file.name}.zip")
            with zipfile.ZipFile(self.root / f"{run_file.name}.zip") as archive:
                plain.write_bytes(lzma.decompress(archive.read("run.sqlite.xz")))
            database = sqlite3.connect(plain)
            self.addCleanup(database.close)
        database.create_function("ln", 1, math.log, deterministic=True)
        keys = "workload, boundary, pass_index, arm"
        tables = {
            "v_pass": f"SELECT {keys}, n, failures, mean_ns, min_ns FROM v_pass",
            "v_slot": f"SELECT {keys}, sum(n), sum(failures), sum(n * mean_ns) / sum(n), "
                      f"min(min_ns) FROM v_slot WHERE counts GROUP BY {keys}"}
        found = {name: {row[:4]: row[4:] for row in database.execute(query)}
                 for name, query in tables.items()}
        found["values"] = {row[:3]: row[3:] for row in database.execute(
            "SELECT workload, boundary, pass_index, pass_value FROM v_verdict_input")}
        found["outermost"] = set(database.execute("SELECT workload, boundary FROM block"))
        return found

    def close(self, found, wanted, what):
        for a, b in zip(found, wanted, strict=True):
            self.assertTrue(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12),
                            f"{what}: {found}, the report says {wanted}")

    def test_a_repacked_or_edited_bundle_ends_with_7(self):
        self.abba("export", PUBLISHED[0], "--out", "good.zip")
        with zipfile.ZipFile(self.root / "good.zip") as good, \
                zipfile.ZipFile(self.root / "repacked.zip", "w", zipfile.ZIP_DEFLATED) as other:
            for name in good.namelist():
                other.writestr(name, good.read(name))
        self.assertIn("compressed", self.abba("verify", "repacked.zip", exit_code=7).stderr)
        bytes_ = bytearray((self.root / "good.zip").read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        (self.root / "edited.zip").write_bytes(bytes_)
        self.assertIn("does not check out", self.abba("verify", "edited.zip", exit_code=7).stderr)

    def test_nothing_of_this_machine_is_in_a_bundle_of_a_run_made_here(self):
        manifest = sleepy_manifest()
        worker = self.root / "worker-of-mine.py"
        # It answers load and prepare with paths of this machine, as a worker that says what it loaded.
        text = pathlib.Path(manifest["worker"][-1]).read_text()
        for said, instead in (
                ("        return {}\n", "        return {'device': {'library': os.path.abspath(__file__)}}\n"),
                ("        self.requests = 0\n",
                 "        self.requests = 0\n"
                 "        return {'facts': {'cache': 'kept in ' + os.path.abspath('.abba/cache')}}\n")):
            self.assertEqual(text.count(said), 1)
            text = text.replace(said, instead)
        worker.write_text(text)
        manifest["worker"] = ["python3", "-B", worker.name]
        path = self.write(manifest)
        self.abba("run", path, "--register")
        run_file = next((self.root / "results").glob("*/*.sqlite"))
        self.abba("export", run_file, "--out", "out.zip")
        self.abba("verify", "out.zip")
        text = self.words_of_bundle("out.zip")
        self.assertIn("worker/1/command", text)
        with zipfile.ZipFile(self.root / "out.zip") as archive:
            withheld = json.loads(archive.read("bundle.json"))["withheld"]
        marks = {item["key"] for item in withheld if item["key"].startswith("text/")}
        self.assertGreaterEqual(len(marks), 2)
        self.assertTrue(all("{private:" + key + "}" in text for key in marks))
        shown = sqlite3.connect(run_file).execute(
            "SELECT text FROM private WHERE key LIKE 'text/%'").fetchall()
        self.assertIn((str(worker.resolve()),), shown)
        self.assertIn((str(self.root.resolve() / ".abba/cache"),), shown)
        for what, private in {"project folder": str(self.root), "home": os.path.expanduser("~"),
                              "source folder": str(SOURCE), "harness": ABBA,
                              "host name": socket.gethostname()}.items():
            word = rf"(?<![\w-]){re.escape(private)}(?![\w-])"
            self.assertRegex(f"it is {private}.", word)  # the canary
            self.assertNotRegex(text, word, f"{what} is in the bundle")

    def words_of_bundle(self, name):
        """Every entry, and every row of the run file, as text."""
        with zipfile.ZipFile(self.root / name) as archive:
            entries = {entry: archive.read(entry) for entry in archive.namelist()}
        plain = self.root / "bundled.sqlite"
        plain.write_bytes(lzma.decompress(entries.pop("run.sqlite.xz")))
        database = sqlite3.connect(plain)
        self.addCleanup(database.close)
        return "\n".join([*(part.decode() for part in entries.values()), *database.iterdump()])

    def test_a_compressed_run_is_found_under_its_plain_name(self):
        plain = str(PUBLISHED[0]).removesuffix(".xz")
        self.assertIn("consistent", self.abba("verify", plain).stdout)
        self.assertEqual(self.abba("show", plain).stdout, self.abba("show", PUBLISHED[0]).stdout)
        self.assertEqual(self.abba("report", plain).stdout,
                         self.abba("report", PUBLISHED[0]).stdout)
        self.assertIn("does not exist", self.abba("verify", plain + "x", exit_code=2).stderr)

    def test_control_characters_of_a_file_do_not_reach_the_terminal(self):
        plain = self.root / "hostile.sqlite"
        plain.write_bytes(lzma.open(PUBLISHED[0]).read())
        with sqlite3.connect(plain) as database:  # ESC, and CSI as one character of C1
            database.execute("UPDATE run SET state_text = char(27) || '[31mred' || char(155) || '2J'")
        for command, code in (("show", 0), ("verify", 7)):
            done = self.abba(command, plain, exit_code=code)
            self.assertIn("red", done.stdout)
            self.assertNotRegex(done.stdout + done.stderr, "[\x1b\x9b]")

    def test_rows_as_csv_and_json_lines(self):
        run_file = PUBLISHED[0]
        csv = self.abba("export", run_file, "--csv").stdout.splitlines()
        lines = self.abba("export", run_file, "--jsonl").stdout.splitlines()
        samples = [line for line in map(json.loads, lines) if line["table"] == "sample"]
        self.assertEqual(len(csv), len(samples) + 1)
        self.assertIn("contrast", self.abba("export", run_file, "--csv", "--table",
                                            "v_pass_contrast").stdout)
        wrong = self.abba("export", run_file, "--csv", "--table", "nothing", exit_code=2).stderr
        self.assertIn("there are samples, run", wrong)
        self.assertIn("excludes", self.abba("export", run_file, "--csv", "--jsonl",
                                            exit_code=2).stderr)
        self.abba("export", self.root / "absent", exit_code=2)


if __name__ == "__main__":
    unittest.main()
