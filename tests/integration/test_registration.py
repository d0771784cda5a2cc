"""What a registration freezes, what it leaves to the first run, and what every later run is held to."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from project import ABBA, ENVIRONMENT, SAXPY, SLEEPY, ProjectTest, saxpy_manifest, sleepy_manifest

SHORT = {"preset": "two-pass", "load": "expected", "on_taint": "keep",
         "slot": {"warmup": 1, "requests": 3}}
MEANS = {"claim": "disjoint-pass-means"}


class Registration(ProjectTest):
    def git(self, *words, cwd=None):
        done = subprocess.run(["git", "-c", "commit.gpgsign=false", *map(str, words)],
                              cwd=cwd or self.root, env=ENVIRONMENT, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def commit_all(self):
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")

    def saxpy(self, worker, **changes):
        return self.write(saxpy_manifest([worker], protocol=dict(SHORT), success=MEANS, **changes))

    def sleepy(self, script, **changes):
        return self.write(sleepy_manifest(worker=[sys.executable, "-B", script],
                                          protocol=dict(SHORT), success=MEANS, **changes))

    def own_worker(self):
        (self.root / "bin").mkdir(exist_ok=True)
        return pathlib.Path(shutil.copy(SAXPY, self.root / "bin/worker"))

    @staticmethod
    def replace(file, data):
        """As a build does: a new file under the old name."""
        new = file.with_name("new")
        new.write_bytes(data)
        new.chmod(0o755)
        os.rename(new, file)

    # -- bound by the first run

    def test_a_later_run_is_held_to_the_program_of_the_first(self):
        worker = self.own_worker()
        path = self.saxpy("bin/worker")
        said = self.abba("register", path).stdout
        self.assertIn("bin/worker is a compiled program: bound by the first run", said)
        self.abba("run", "--quiet", path)
        built = worker.read_bytes()
        self.assertIn(b"saxpy-cpp", built)
        self.replace(worker, built.replace(b"saxpy-cpp", b"saxpz-cpp"))
        done = self.abba("run", path, exit_code=3)
        self.assertRegex(done.stderr, r"executable/A: is another program now .* by an earlier run")
        self.assertEqual(len(self.run_files()), 1)
        # Built again with nothing changed that runs: another file, the same code.
        self.replace(worker, built + b"debug information")
        self.abba("run", "--quiet", path)
        later = self.run_files()[-1]
        self.assertRegex(self.show(later), r"N080 info executable/A: as bound by results/saxpy/")
        self.abba("verify", later)

    def test_bind_registered_demands_the_exact_file(self):
        worker = self.own_worker()
        path = self.saxpy("bin/worker", bind="registered")
        self.abba("register", path)
        built = worker.read_bytes()
        self.replace(worker, built + b"debug information")
        self.assertIn("executable/A", self.abba("run", path, exit_code=3).stderr)
        self.replace(worker, built)
        self.abba("run", "--quiet", path)

    def test_registered_here_and_run_elsewhere_without_git_or_sources(self):
        (self.root / "src").mkdir()
        (self.root / "src/main.c").write_text("int main(void) { return 0; }\n")
        (self.root / "bin").mkdir()
        shutil.copy(SLEEPY, self.root / "bin/worker.py")
        path = self.sleepy("bin/worker.py")
        self.commit_all()
        said = self.abba("register", path).stdout
        self.assertNotIn("not hashed", said)
        there = self.root.with_name(self.root.name + "-elsewhere")
        self.addCleanup(shutil.rmtree, there, ignore_errors=True)
        (there / "bin").mkdir(parents=True)
        shutil.copy(self.root / "abba.json", there)
        shutil.copytree(self.root / "manifests", there / "manifests")
        shutil.copy(SLEEPY, there / "bin/worker.py")
        environment = dict(ENVIRONMENT, PATH="/nonexistent")
        done = subprocess.run([os.environ["ABBA_PROGRAM"], "run", "manifests/sleepy.json"],
                              cwd=there, env=environment, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        run_file = next((there / "results").rglob("*.sqlite"))
        self.assertIn("N063", self.show(run_file))
        self.assertIn("git cannot be started", self.show(run_file))
        self.abba("verify", run_file, cwd=there)
        with (there / "bin/worker.py").open("a") as script:
            script.write("# changed\n")
        done = self.abba("run", "manifests/sleepy.json", exit_code=3, cwd=there)
        self.assertIn("argument/A/worker.py", done.stderr)

    # -- frozen by the registration

    def test_a_script_that_git_does_not_track_is_frozen(self):
        (self.root / ".gitignore").write_text("/worker.py\n")
        self.commit_all()
        script = self.root / "worker.py"
        shutil.copy(SLEEPY, script)
        path = self.sleepy("worker.py")
        (self.root / "stray.py").write_text("pass\n")
        said = self.abba("register", path).stdout
        self.assertIn("not frozen, since git does not track them: stray.py", said)
        before = script.read_bytes()
        script.write_bytes(before + b"# one more line\n")
        self.assertIn("argument/A/worker.py", self.abba("run", path, exit_code=3).stderr)
        script.unlink()
        self.assertIn("argument/A/worker.py", self.abba("run", path, exit_code=3).stderr)
        script.write_bytes(before)
        self.abba("run", "--quiet", path)

    def project_with_a_helper(self):
        helper = self.root / "helper.py"
        helper.write_text("SCALE = 1\n")
        self.commit_all()
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("register", path)
        return path, helper

    def test_what_git_was_told_not_to_look_at_is_frozen(self):
        path, helper = self.project_with_a_helper()
        for flag in ("assume-unchanged", "skip-worktree"):
            self.git("update-index", f"--{flag}", "helper.py")
            self.abba("preflight", path)
            helper.write_text("SCALE = 2\n")
            self.assertEqual(self.git("diff-files", "--name-only"), "")  # git sees nothing
            self.assertIn("(helper.py)", self.abba("run", path, exit_code=3).stderr, flag)
            helper.write_text("SCALE = 1\n")
            self.abba("preflight", path)
            self.git("update-index", f"--no-{flag}", "helper.py")

    def test_git_is_asked_about_the_project_and_no_other(self):
        path, helper = self.project_with_a_helper()
        other = self.root.parent / (self.root.name + "-other")
        shutil.copytree(self.root, other)
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        helper.write_text("SCALE = 2\n")
        for variables in ({"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)},
                          {"GIT_DIR": "/dev/null"}):  # as a hook of another repository leaves them
            done = subprocess.run([ABBA, "run", str(path)], cwd=self.root, text=True,
                                  env=dict(ENVIRONMENT, **variables), capture_output=True,
                                  timeout=100)
            self.assertEqual(done.returncode, 3, done)
            self.assertIn("(helper.py)", done.stderr)

    def test_declared_sources_exist_and_count_whatever_git_knows(self):
        (self.root / "src").mkdir()
        (self.root / "src/a.py").write_text("a = 1\n")
        self.commit_all()
        path = self.saxpy(SAXPY, sources=["src", "sorces"])
        self.assertIn('"sorces", which holds no file', self.abba("register", path,
                                                                 exit_code=2).stderr)
        path = self.saxpy(SAXPY, sources=["src", "../elsewhere"])
        self.assertIn("/sources/1", self.abba("check", path, exit_code=2).stderr)
        os.symlink("/etc", self.root / "linked")
        path = self.saxpy(SAXPY, sources=["src", "linked"])
        self.assertIn('"linked"', self.abba("register", path, exit_code=2).stderr)
        path = self.saxpy(SAXPY, sources=["src"])
        (self.root / "src/b.py").write_text("b = 1\n")  # never added
        self.abba("register", path)
        (self.root / "src/b.py").write_text("b = 2\n")
        self.assertIn("src/b.py", self.abba("run", path, exit_code=3).stderr)
        (self.root / "src/b.py").write_text("b = 1\n")
        self.abba("run", "--quiet", path)

    def test_folders_are_hashed_through_links_and_pipes_are_refused(self):
        (self.root / "data").mkdir()
        (self.root / "far").mkdir()
        (self.root / "far/x.bin").write_text("1")
        os.symlink(self.root / "far", self.root / "data/link")
        path = self.saxpy(SAXPY, files=[{"name": "d", "path": "data"}])
        self.abba("register", path)
        (self.root / "far/x.bin").write_text("2")
        self.assertIn("file/d", self.abba("run", path, exit_code=3).stderr)
        (self.root / "far/x.bin").write_text("1")
        self.abba("preflight", path)
        os.symlink(self.root / "data", self.root / "far/back")
        self.assertIn("a folder that it lies in", self.abba("run", path, exit_code=2).stderr)
        (self.root / "far/back").unlink()
        os.mkfifo(self.root / "data/pipe")
        self.assertIn("is no regular file", self.abba("run", path, exit_code=2).stderr)
        (self.root / "data/pipe").unlink()
        os.mkfifo(self.root / "manifests/pipe.json")
        self.assertIn("is a pipe", self.abba("check", "manifests/pipe.json", exit_code=2).stderr)
        os.mkfifo(self.root / "manifests/ledger/pipe.json")
        self.assertIn("is a pipe", self.abba("run", path, exit_code=3).stderr)

    def test_large_files_are_remembered_until_rehash(self):
        (self.root / "weights.bin").write_bytes(b"1" * 2_000_000)
        path = self.saxpy(SAXPY, files=[{"name": "w", "path": "weights.bin"}])
        time.sleep(2.2)  # a younger change is never remembered
        self.abba("register", path)
        cache = self.root / ".abba/hash-cache.json"
        known = json.loads(cache.read_text())
        self.assertEqual(len(known), 1)
        cache.write_text(json.dumps({key: "0" * 64 for key in known}))
        self.assertIn("file/w", self.abba("run", path, exit_code=3).stderr)
        self.abba("run", "--quiet", "--rehash", path)
        self.assertEqual(json.loads(cache.read_text()), known)

    # -- ledger

    def test_the_ledger_of_one_manifest_and_of_all(self):
        first = self.saxpy(SAXPY, id="first")
        at_the_root = self.root / "second.json"
        at_the_root.write_text(first.read_text().replace('"first"', '"second"'))
        self.abba("register", first)
        self.abba("register", at_the_root)
        self.assertFalse((self.root / "ledger").exists())
        self.abba("run", "--quiet", at_the_root)
        self.abba("verify", self.run_file())
        self.assertIn("events name heads", self.abba("verify", self.run_file()).stdout)
        said = self.abba("ledger", at_the_root).stdout
        self.assertIn("of second.json", said)
        self.assertIn("1 run (1 finished, 0 stopped, 0 broken)", said)
        self.assertIn("tries: 0 exploratory", said)
        self.assertNotIn("first", said.replace("(first)", ""))
        self.abba("withdraw", first, "--reason", "an idea given up")
        said = self.abba("ledger").stdout
        self.assertIn("of manifests/first.json", said)
        self.assertIn("withdrawn: an idea given up", said)
        self.assertIn("of second.json", said)
        self.abba("run", "--exploratory", "--quiet", at_the_root)
        self.assertIn("tries: 1 exploratory", self.abba("ledger", at_the_root).stdout)

    # -- anchors

    def test_anchored_by_a_pushed_tag_that_a_mirror_saw(self):
        path = self.saxpy(SAXPY)
        self.commit_all()
        missing = self.abba("register", path, "--anchor", "git-remote", exit_code=5)
        self.assertIn("git: failed", missing.stderr)
        self.assertTrue(path.with_suffix(".lock.json").exists())
        mirror = self.root.with_name(self.root.name + "-mirror")
        self.addCleanup(shutil.rmtree, mirror, ignore_errors=True)
        self.git("init", "-q", "--bare", mirror)
        self.git("remote", "add", "origin", f"file://{mirror}")
        self.abba("register", path, "--anchor", "git-remote")
        self.assertIn("anchored: git-remote", self.abba("ledger", path).stdout)
        time.sleep(1.1)
        self.abba("run", "--quiet", path)
        said = self.abba("verify", self.run_file()).stdout
        self.assertIn("verify with --mirror FOLDER", said)
        self.assertIn("internally consistent, not anchored", said)
        said = self.abba("verify", self.run_file(), "--mirror", mirror).stdout
        self.assertIn("keeps no reflog of tags", said)
        self.assertIn("internally consistent, not anchored", said)
        tag = self.git("for-each-ref", "--format=%(refname)", cwd=mirror).strip()
        self.git("update-ref", "-d", tag, cwd=mirror)
        done = self.abba("verify", self.run_file(), "--mirror", mirror, exit_code=7)
        self.assertIn("is gone", done.stderr)

    def test_a_mirror_that_keeps_its_reflog_says_when(self):
        path = self.saxpy(SAXPY)
        self.commit_all()
        mirror = self.root.with_name(self.root.name + "-mirror")
        self.addCleanup(shutil.rmtree, mirror, ignore_errors=True)
        self.git("init", "-q", "--bare", mirror)
        self.git("config", "core.logAllRefUpdates", "always", cwd=mirror)
        self.git("remote", "add", "origin", f"file://{mirror}")
        self.abba("register", path, "--anchor", "git-remote")
        time.sleep(1.1)
        self.abba("run", "--quiet", path)
        said = self.abba("verify", self.run_file(), "--mirror", mirror).stdout
        self.assertIn("anchored before the first slot by tag abba/", said)
        # A tag that came after the run proves nothing about before.
        tag = self.git("for-each-ref", "--format=%(refname)", cwd=mirror).strip()
        log = mirror / "logs" / tag
        log.write_text(log.read_text().replace("> 1", "> 2"))
        said = self.abba("verify", self.run_file(), "--mirror", mirror).stdout
        self.assertIn("internally consistent, not anchored", said)

    def test_an_anchor_that_cannot_be_made_is_said(self):
        path = self.saxpy(SAXPY)
        done = self.abba("register", path, "--anchor", "/dev/full", exit_code=5)
        self.assertIn("cannot be appended to", done.stderr)
        self.assertNotIn("anchored", self.abba("ledger", path).stdout)
        self.assertIn("registered before", self.abba("register", path, "--anchor",
                                                     self.root / "kept.txt").stdout)
        self.assertEqual(len((self.root / "kept.txt").read_text().split()), 3)


if __name__ == "__main__":
    unittest.main()
