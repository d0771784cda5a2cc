"""Signals and deaths in the middle of a block: a readable file, nothing measured lost, a resume."""

import signal
import time
import unittest

from project import ProjectTest, sleepy_manifest


class Interruption(ProjectTest):
    def long_run(self, blocks=1, **settings):
        manifest = sleepy_manifest(settings={"request_ms": 10, **settings})
        manifest["protocol"].update(passes=6, looks=[6], blocks=blocks,
                                    slot={"warmup": 1, "requests": 10})
        path = self.write(manifest)
        self.abba("register", path)
        return path, self.start("run", path)

    def resume_and_check(self, path):
        out = self.abba("run", path, "--resume").stdout
        self.assertIn("run file: ", out)
        show = self.show(self.run_file())
        self.assertIn("finished", show)
        self.assertIn("resumed 1 times", show)
        self.assertEqual(self.complete_passes(show), 6)
        self.assertIn("internally consistent", self.abba("verify", self.run_file()).stdout)
        self.abba("report", self.run_file())
        done = self.abba("run", path, "--resume", exit_code=2)
        self.assertIn("resume", done.stderr)

    def test_ctrl_c_ends_after_the_slot_and_resumes(self):
        path, process = self.long_run()
        self.wait_for_blocks(process, 2)
        process.send_signal(signal.SIGINT)
        _, err = self.finish(process, 5)
        self.assertIn("--resume", err)
        show = self.show(self.run_file())
        self.assertIn("stopped", show)
        self.assertGreaterEqual(self.complete_passes(show), 1)
        self.abba("verify", self.run_file())
        self.resume_and_check(path)

    def wait_for(self, process, seen):
        deadline = time.monotonic() + 60
        while not seen():
            if process.poll() is not None:
                self.fail("ended too early: " + repr(process.communicate()))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def nothing_was_measured(self, path, process, set_aside):
        """Ctrl-C now: exit 5, no result, no start in the ledger, and the next run is whole."""
        process.send_signal(signal.SIGINT)
        _, err = self.finish(process, 5)
        self.assertIn("stopped on request", err)
        self.assertNotIn("--resume", err)
        self.assertEqual(self.run_files(), [])
        kept = self.run_files(".abba/failed")
        self.assertEqual(len(kept), set_aside)
        for file in kept:
            self.assertIn("stopped", self.show(file))
            self.abba("verify", file)
        self.assertEqual(list(self.root.rglob("*-wal")), [])
        self.assertIn('"aborted"', (self.root / ".abba/attempts").read_text())
        self.assertNotIn("run-started", self.abba("ledger", path).stdout)

    def test_ctrl_c_while_a_worker_starts(self):
        marker = self.root / "loading"
        path, process = self.long_run(loading_file=str(marker), load_s=1)
        self.wait_for(process, marker.exists)
        self.nothing_was_measured(path, process, 1)

    def test_ctrl_c_while_outputs_are_checked(self):
        path, process = self.long_run(outputs_s=0.3)
        workers = "SELECT count(*) FROM worker"
        self.wait_for(process, lambda: self.count_so_far(workers) == 2)
        self.nothing_was_measured(path, process, 1)

    def test_ctrl_c_in_the_preflight(self):
        marker = self.root / "making"
        make = ["sh", "-c", f"touch {marker}; sleep 1; echo weights > {{path}}"]
        path = self.write(sleepy_manifest(files=[{"name": "w", "path": "w.bin", "make": make}]))
        process = self.start("run", "--exploratory", path)
        self.wait_for(process, marker.exists)
        process.send_signal(signal.SIGINT)
        _, err = self.finish(process, 5)
        self.assertIn("in the preflight", err)
        self.assertEqual(self.run_files("."), [])
        self.assertIn('"aborted"', (self.root / ".abba/attempts").read_text())
        self.abba("run", "--exploratory", "--quiet", path)

    def test_damaged_files_are_passed_over_when_resuming(self):
        path, process = self.long_run()
        self.wait_for_blocks(process, 1)
        process.send_signal(signal.SIGINT)
        self.finish(process, 5)
        folder = self.run_file().parent
        damaged = [folder / "20990101T000000Z-ffffffff.sqlite", folder / "20000101T000000Z-0.sqlite"]
        for file in damaged:
            file.write_text("no database")
        done = self.abba("run", path, "--resume")
        self.assertEqual(done.stderr.count("is passed over"), 1)  # older ones need not be read
        self.assertIn(damaged[0].name, done.stderr)
        self.abba("run", path, "--resume", damaged[0], exit_code=2)

    def test_sigterm_twice_and_two_resumes(self):
        path, process = self.long_run()
        self.wait_for_blocks(process, 1)
        process.send_signal(signal.SIGTERM)
        self.finish(process, 5)
        before = self.measured_blocks()
        again = self.start("run", path, "--resume")
        self.wait_for_blocks(again, before + 1)
        again.send_signal(signal.SIGTERM)
        self.finish(again, 5)
        self.abba("run", path, "--resume")
        show = self.show(self.run_file())
        self.assertIn("resumed 2 times", show)
        self.assertEqual(self.complete_passes(show), 6)

    def test_killed_worker_is_replaced_and_the_pass_rerun(self):
        marker = self.root / "die"  # SIGKILL from within a request: certain to strike inside a block
        path, process = self.long_run(die_file=str(marker), die_once=True)
        self.wait_for_blocks(process, 1)
        marker.write_text("")
        self.finish(process, 0)
        self.assertFalse(marker.exists())
        show = self.show(self.run_file())
        self.assertEqual(self.complete_passes(show), 6)
        self.assertIn("superseded", show)
        self.assertIn("N057", show)
        self.assertIn("internally consistent", self.abba("verify", self.run_file()).stdout)

    def test_killed_harness_leaves_a_readable_file_that_resumes(self):
        path, process = self.long_run()
        self.wait_for_blocks(process, 3)
        process.kill()
        process.communicate()
        show = self.show(self.run_file())
        self.assertIn("running", show)
        self.assertGreaterEqual(self.measured_blocks(), 3)
        self.assertGreaterEqual(self.complete_passes(show), 2)
        self.abba("report", self.run_file())
        self.resume_and_check(path)

    def test_worker_that_always_dies_breaks_the_run_and_resumes_when_mended(self):
        marker = self.root / "die"
        path, process = self.long_run(die_file=str(marker))
        self.wait_for_blocks(process, 2)
        marker.write_text("")
        _, err = self.finish(process, 5)
        self.assertIn("twice", err)
        show = self.show(self.run_file())
        self.assertIn("broken", show)
        self.assertIn("told to die", show)
        self.assertGreaterEqual(self.complete_passes(show), 1)
        marker.unlink()
        self.resume_and_check(path)


if __name__ == "__main__":
    unittest.main()
