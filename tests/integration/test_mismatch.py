"""What was registered or bound must be what runs: exit 3, and everything measured is kept."""

import os
import shutil
import sys
import unittest

from project import SAXPY, SLEEPY, ProjectTest, saxpy_manifest, sleepy_manifest


class Mismatch(ProjectTest):
    def refused(self, path, *words):
        before = len(self.run_files())
        done = self.abba("run", path, exit_code=3)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(len(self.run_files()), before)

    def test_unregistered(self):
        self.refused(self.write(saxpy_manifest([SAXPY])), "abba register")

    def test_one_byte_of_a_file_touched(self):
        weights = self.root / "weights.bin"
        weights.write_bytes(bytes(range(256)) * 40)
        path = self.write(saxpy_manifest([SAXPY], files=[{"name": "w", "path": "weights.bin"}]))
        self.abba("register", path)
        self.abba("run", "--quiet", path)
        data = bytearray(weights.read_bytes())
        data[5000] ^= 1
        weights.write_bytes(data)
        self.refused(path, "file/w")
        data[5000] ^= 1
        weights.write_bytes(data)
        self.abba("run", "--quiet", path)

    def test_an_input_file_or_the_manifest_changed(self):
        (self.root / "input.json").write_text('{"a": 1}')
        manifest = sleepy_manifest(workloads=[
            {"id": "w1", "input": {"file": "input.json", "key": "a", "n": 1}}])
        path = self.write(manifest)
        self.abba("register", path)
        (self.root / "input.json").write_text('{"a": 2}')
        self.refused(path, "input/w1")
        (self.root / "input.json").write_text('{"a": 1}')
        manifest["protocol"]["passes"] = 7
        self.write(manifest)
        digest = self.abba("ledger", path).stdout.split("lock ")[1][:8]
        self.refused(path, "manifest", "register anew with --supersede " + digest)
        self.abba("register", path, exit_code=3)
        self.abba("register", path, "--supersede", digest)

    def test_max_runs_and_withdrawal(self):
        manifest = saxpy_manifest([SAXPY])
        manifest["protocol"]["limits"] = {"max_runs": 1}
        path = self.write(manifest)
        self.abba("register", path)
        self.abba("run", "--quiet", path)
        self.refused(path, "max_runs")
        self.abba("withdraw", path, "--reason", "a mistake in the idea")
        self.refused(path, "a mistake in the idea")

    def test_executable_rebuilt_in_the_middle(self):
        worker = self.root / "worker"
        shutil.copy(SAXPY, worker)
        manifest = saxpy_manifest([worker])
        manifest["protocol"].update(passes=40, looks=[40])
        path = self.write(manifest)
        self.abba("register", path)
        process = self.start("run", path)
        self.wait_for_blocks(process, 4)
        rebuilt = self.root / "rebuilt"
        rebuilt.write_bytes(worker.read_bytes() + b"\0")
        rebuilt.chmod(0o755)
        os.rename(rebuilt, worker)
        _, err = self.finish(process, 3)
        self.assertIn("executable/", err)
        show = self.show(self.run_file())
        self.assertGreaterEqual(self.complete_passes(show), 1)
        self.assertIn("stopped", show)
        self.abba("verify", self.run_file())
        done = self.abba("run", path, "--resume", exit_code=3)
        self.assertIn("executable/", done.stderr)

    def changed_in_the_middle(self, file, name, **changes):
        manifest = sleepy_manifest(**changes)
        manifest["protocol"].update(passes=8, looks=[8])
        path = self.write(manifest)
        self.abba("register", path)
        process = self.start("run", path)
        self.wait_for_blocks(process, 2)
        before = file.read_bytes()
        file.write_bytes(before.replace(b"1", b"2"))
        _, err = self.finish(process, 3)
        self.assertIn(name, err)
        self.assertGreaterEqual(self.complete_passes(self.show(self.run_file())), 1)
        self.assertIn("N065", self.show(self.run_file()))
        self.abba("verify", self.run_file())
        self.abba("run", path, "--resume", exit_code=3)
        file.write_bytes(before)
        self.abba("run", path, "--resume")
        self.assertEqual(self.complete_passes(self.show(self.run_file())), 8)

    def test_a_file_changed_in_the_middle(self):
        weights = self.root / "weights.bin"
        weights.write_bytes(b"1" * 3_000_000)  # large enough for the cache of digests
        self.changed_in_the_middle(weights, "file/w",
                                   files=[{"name": "w", "path": "weights.bin"}])

    def test_an_input_file_changed_in_the_middle(self):
        data = self.root / "input.json"
        data.write_text('{"a": 1}')
        self.changed_in_the_middle(data, "input/w1", workloads=[
            {"id": "w1", "input": {"file": "input.json", "key": "a", "n": 1}}])

    def test_script_of_an_interpreter_changed_in_the_middle(self):
        script = self.root / "worker.py"
        shutil.copy(SLEEPY, script)
        manifest = sleepy_manifest(worker=[sys.executable, "-B", str(script)])
        manifest["protocol"].update(passes=20, looks=[20])
        path = self.write(manifest)
        self.abba("register", path)
        process = self.start("run", path)
        self.wait_for_blocks(process, 2)
        script.write_text(script.read_text() + "# another\n")
        _, err = self.finish(process, 3)
        self.assertIn("worker.py", err)
        self.assertGreaterEqual(self.complete_passes(self.show(self.run_file())), 1)


if __name__ == "__main__":
    unittest.main()
