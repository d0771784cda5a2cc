"""Faults at every phase of a run: a table of cells, each of which strikes for certain. A cell
counts only if its fault struck and exit code, message and `verify` were as they must be."""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import signal
import sqlite3
import subprocess
import time
import unittest

from faulty_project import ABBA, PASSES, WORKER, FaultyProject, manifest, require

# Phase -> the message, start and slot at which the fault strikes (see manifest()).
PHASES = {
    "preflight": ("make", 0, 0),
    "worker start": ("load", 2, 0),
    "outputs": ("outputs", 1, 0),
    "feasibility": ("slot", 1, 1),
    "measured pass": ("slot", 5, 2),
    "pass end": ("shutdown", 3, 0),
    "pass start": ("load", 5, 0),
    "resume": ("load", 1, 0),
    "finish": ("shutdown", 7, 0),
    "graph capture": ("graph_capture", 9, 0),  # of arm A; only cells of this phase have that pass
}
TIMED = ("feasibility", "measured pass", "pass end", "pass start", "resume")
ALWAYS = tuple(PHASES)

# A broken worker -> what is said of it; its exit code where it breaks at its end.
WORKER_FAULTS = {
    "worker-kill": ("died during .* with signal 9", 137),
    "worker-exit": ("died during .* with exit code 7.*told to end", 7),
    "worker-hang": ("did not answer .* within 1(.00.)? s and was killed", 137),
    "closes-pipe": ("closed its standard output during", 143),
    "huge-line": ("with more than 64 MiB", 143),
    "garbage": ("no answer", None),
    "other-answer": ('answers slot "another"|answered ".*" with "whatever"', None),
}
# Faults from outside, the phases where they can strike, the exit code and message.
HARNESS_FAULTS = {
    "harness-kill": (ALWAYS, -signal.SIGKILL, ""),
    "half-write": (ALWAYS[1:], -signal.SIGKILL, ""),
    "ctrl-c": (ALWAYS, 5, "stopped on request"),
    "sigterm": (("measured pass", "pass start", "graph capture"), 5, "stopped on request"),
    "ctrl-c-twice": (ALWAYS, 5, "stopped (at once )?on request"),
    "disk-full": (ALWAYS, 5, "full|No space left"),
    "size-limit": (("feasibility", "measured pass", "finish"), 5, "full|failed|large"),
    "lock": (("measured pass", "finish", "graph capture"), 5, "another process holds the file locked"),
    "device-gone": (TIMED[:2] + ("pass start",), 5, "device GPU-.* is gone"),
}
STOPS = ("ctrl-c", "ctrl-c-twice", "sigterm")
HARMLESS = {
    "flood": ("worker start", "measured pass", "finish", "graph capture"),
    "reader": ("measured pass", "finish"),
    "clock-back": ("measured pass", "resume"),
    "boot-id": ("resume",),
}


def all_cells():
    cells = [(fault, phase) for fault in WORKER_FAULTS for phase in PHASES
             if phase != "preflight" and not (
                 phase in ("pass end", "finish") and WORKER_FAULTS[fault][1] is None)]
    for faults in (HARNESS_FAULTS, HARMLESS):
        for fault, rest in faults.items():
            cells += [(fault, phase) for phase in (rest[0] if faults is HARNESS_FAULTS else rest)]
    return cells


class Cell:
    """One fault in one phase, from registration to the end of the run that survives it."""

    def __init__(self, fault, phase):
        self.fault, self.phase = fault, phase
        declared = manifest()
        if fault == "worker-hang":
            declared["protocol"]["limits"] = {"timeouts": dict.fromkeys(
                ("hello_s", "load_s", "slot_s", "outputs_s", "graph_capture_s", "shutdown_s"), 1)}
            declared["protocol"]["limits"]["timeouts"]["shutdown_s"] = 0.2
        if fault in ("closes-pipe", "huge-line"):
            declared["protocol"]["limits"] = {"timeouts": {"shutdown_s": 0.2}}
        if fault == "device-gone":
            declared["device"] = "any"
        if phase == "graph capture":
            declared["graph_capture"] = {}
        if phase == "preflight":
            declared["files"] = [{"name": "f", "path": "data/f.bin",
                                  "make": [WORKER, "--make", "{path}"]}]
        self.project = FaultyProject(declared)
        if fault == "device-gone":
            self.project.with_device()

    def run(self):
        try:
            self.project.abba("register", self.project.manifest)
            if self.phase == "resume":
                self.interrupt()
            if self.phase == "preflight":  # registration made it to hash it
                (self.project.root / "data/f.bin").unlink()
            self.strike()
            if self.code >= 0:
                self.project.check_nothing_half_written()
            self.recover()
            self.project.check_nothing_half_written()
            return "ok"
        except AssertionError as error:
            return f"{self.fault} at {self.phase}: {error}"
        finally:
            self.project.close()

    def interrupt(self):
        self.project.plan("ctrl-c", "slot", 5, 2)
        self.project.abba("run", self.project.manifest, code=5)
        require(self.project.struck(), "the interruption before the resume did not strike")

    def strike(self):
        project = self.project
        asked = self.fault in ("lock", "reader")
        project.plan("ask" if asked else "nothing" if self.fault == "boot-id" else self.fault,
                     *PHASES[self.phase])
        if self.fault == "boot-id":
            (project.faults / "boot-id").write_text("00000000-1111-2222-3333-444444444444\n")
        code, self.message = self.expected()
        words = ["run", project.manifest] + (["--resume"] if self.phase == "resume" else [])
        _, err = project.abba(*words, code=code, meanwhile=self.hold if asked else None)
        require(project.struck(), "the fault did not strike")
        self.code = code
        if code > 0:
            said = [line for line in err.splitlines() if re.match("abba: ", line)]
            require(any(re.search(self.message, line) for line in said),
                    f"\"{self.message}\" is not said:\n{err}")
        for marker in ("disk-full", "half-write", "device-gone"):
            (project.faults / marker).unlink(missing_ok=True)

    def hold(self, process):
        """A reader or a writer of the run file, until the run has ended."""
        file, = self.project.files("results")
        other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN" if self.fault == "reader" else "BEGIN IMMEDIATE")
        other.execute("SELECT count(*) FROM sample").fetchall()
        (self.project.faults / "go").write_text("")
        process.wait(timeout=60)
        other.close()

    def expected(self):
        if self.fault in WORKER_FAULTS:
            refused = self.phase in ("worker start", "outputs", "resume")
            return (4 if refused else 0), WORKER_FAULTS[self.fault][0]
        if self.fault in HARMLESS:
            return 0, ""
        _, code, message = HARNESS_FAULTS[self.fault]
        over = self.phase == "finish" and self.fault in STOPS
        return (0 if over else code), message

    def set_aside(self):
        """Nothing was timed: what was found is kept apart, and a new run takes its place."""
        if self.phase == "preflight":
            return True
        stopped = self.fault in STOPS or self.fault in WORKER_FAULTS
        return self.phase in ("worker start", "outputs") and stopped

    def recover(self):
        project = self.project
        before = set()
        if self.set_aside() and self.code != 0:
            require(not project.files("results"), "a result of a run that timed nothing")
            for file in project.files(".abba/failed"):
                project.check_file(file)
                if self.fault in STOPS:
                    self.check_state(project.abba("show", file)[0], "stopped")
            require(self.phase == "preflight" or project.files(".abba/failed"), "nothing is kept")
            project.abba("run", project.manifest)
        else:
            file, = project.files("results")
            project.check_file(file)
            before = project.samples(file)
            self.check_story(file)
            if self.code != 0:
                project.abba("run", project.manifest, "--resume")
        file, = project.files("results")
        show = project.check_whole(file)
        require(before <= project.samples(file), "a committed sample is gone")
        # Where a reader kept the file open at its end an empty journal may stay beside it.
        journals = [path for path in project.root.rglob("*-wal")
                    if self.fault != "reader" or path.stat().st_size > 0]
        require(not journals, f"left beside a finished run: {journals}")
        self.check_end(file, show)

    def check_story(self, file):
        """The file says what happened, before anything mends it."""
        show, _ = self.project.abba("show", file)
        ended = {0: "finished", 4: "broken"}.get(self.code, "running|stopped|broken")
        if self.code < 0 or self.fault in ("disk-full", "size-limit", "lock"):
            ended = "running" if self.phase != "resume" else "running|stopped"
            report, _ = self.project.abba("report", file)
            require("interrupted: " in report or "resume" in report, report[:500])
        elif self.code != 0 and self.fault in STOPS:
            ended = "stopped"
        self.check_state(show, ended)
        if self.fault in WORKER_FAULTS and self.phase not in ("pass end", "finish"):
            require(re.search(self.message, show), f"\"{self.message}\" is not in\n{show}")

    def check_state(self, show, wanted):
        require(re.search(rf"(?m)^state +({wanted})\b", show), f"the state is not {wanted}:\n{show}")

    def check_end(self, file, show):
        if self.fault in WORKER_FAULTS and self.phase in ("pass end", "finish"):
            wanted = WORKER_FAULTS[self.fault][1]
            codes = {row[0] for row in self.project.query(file, "SELECT exit_code FROM worker")}
            require(wanted in codes, f"no worker ended with {wanted}: {codes}")
        if self.phase == "graph capture":
            self.check_captures(file)
        if self.fault == "boot-id":
            require("host boot" in show or "boot id" in show, show)
        if self.fault == "clock-back":
            row, = self.project.query(file, "SELECT started_utc, finished_utc FROM run")
            require(row[1] < row[0], f"the clock did not go back: {row}")


    def check_captures(self, file):
        """A worker that broke leaves the other arm's; a run that went on has both."""
        arms = [arm for arm, in self.project.query(
            file, "SELECT arm FROM v_graph_capture ORDER BY arm")]
        wanted = ["B"] if self.fault in WORKER_FAULTS else ["A", "B"]
        require(arms == wanted, f"captures of {arms}, not of {wanted}")


class Matrix(unittest.TestCase):
    def run_cells(self, cells):
        self.assertEqual(len(cells), len(set(cells)))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = dict(zip(cells, pool.map(lambda cell: Cell(*cell).run(), cells)))
        self.print_table(outcomes)
        wrong = [text for text in outcomes.values() if text != "ok"]
        self.assertFalse(wrong, "\n\n".join(wrong))

    def print_table(self, outcomes):
        print("\n" + " " * 14 + "".join(f"{phase:>14}" for phase in PHASES))
        for fault in dict.fromkeys(fault for fault, _ in outcomes):
            row = [outcomes.get((fault, phase), "-") for phase in PHASES]
            print(f"{fault:<14}" + "".join(f"{'WRONG' if len(r) > 2 else r:>14}" for r in row))
        good = sum(text == "ok" for text in outcomes.values())
        print(f"{good} of {len(outcomes)} cells struck and ended as they must", flush=True)

    def test_every_fault_in_every_phase(self):
        cells = all_cells()
        self.assertGreaterEqual(len(cells), 60)
        self.run_cells(cells)

    def test_one_cell_of_every_fault(self):
        """Each fault once, and each phase at least once: what every run of the tests sees."""
        cells = all_cells()
        chosen = {}
        for fault in dict.fromkeys(fault for fault, _ in cells):
            phases = [phase for other, phase in cells if other == fault]
            chosen[fault] = min(phases, key=list(chosen.values()).count)  # the least seen so far
        self.assertEqual(set(chosen.values()), set(PHASES))
        self.run_cells(list(chosen.items()))

    def test_canary_a_fault_that_does_not_strike_is_no_cell(self):
        cell = Cell("flood", "measured pass")  # harmless: but for the strike all is as it must be
        PHASES["measured pass"], kept = ("slot", 99, 1), PHASES["measured pass"]
        try:
            self.assertIn("the fault did not strike", cell.run())
        finally:
            PHASES["measured pass"] = kept
        project = FaultyProject(manifest())
        self.addCleanup(project.close)
        project.plan("nothing", "slot", 99, 1)
        project.abba("run", "--register", project.manifest)
        (project.faults / "answers").write_text("1 2\n")
        with self.assertRaises(AssertionError):
            project.check_file(project.files("results")[0])


class Survival(unittest.TestCase):
    def project(self, **changes):
        project = FaultyProject(manifest(**changes))
        self.addCleanup(project.close)
        return project

    def held(self, project, *words):
        """A run that waits inside its second measured pass."""
        project.plan("ask", "slot", 5, 2)
        process = project.start("run", *words, project.manifest)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        project.wait_for(project.struck, process)
        return process

    def test_a_live_run_is_reported_as_running(self):
        project = self.project()
        process = self.held(project, "--register")
        report, _ = project.abba("report", "--latest", "faulty")
        self.assertIn(f"running: 1 of {PASSES} passes measured", report)
        self.assertNotIn("invalid", report.split("## ")[0])
        as_json = json.loads(project.abba("report", "--json")[0])
        self.assertEqual(as_json["verdicts"], [])
        self.assertEqual(as_json["run"]["state"], "running")
        self.assertIn("consistent", project.abba("verify", "--latest", "faulty")[0])
        _, err = project.abba("run", project.manifest, "--resume", code=4)
        self.assertIn("still going", err)
        process.kill()
        process.communicate()
        report, _ = project.abba("report")
        self.assertIn(f"interrupted: 1 of {PASSES} passes measured", report)
        project.abba("run", project.manifest, "--resume")
        self.assertNotIn("interrupted: ", project.abba("report")[0])
        project.abba("verify", "--latest", "nobody", code=2)

    def test_a_changed_file_is_not_resumed(self):
        project = self.project()
        project.abba("register", project.manifest)
        project.plan("ctrl-c", "slot", 5, 2)
        project.abba("run", project.manifest, code=5)
        file, = project.files("results")
        sound = file.read_bytes()
        database = sqlite3.connect(file)
        database.execute("UPDATE sample SET duration_ns = duration_ns - 1 WHERE seq = 2")
        database.commit()
        database.close()
        changed = file.read_bytes()
        for words in (["--resume"], ["--resume", file]):
            _, err = project.abba("run", project.manifest, *words, code=7)
            self.assertIn("are not those committed", err)
            self.assertEqual(file.read_bytes(), changed)
        file.write_bytes(sound)
        project.abba("run", project.manifest, "--resume")
        project.check_whole(file)

    def test_two_harnesses_on_one_device(self):
        project = self.project(device="any")
        project.with_device()
        project.abba("register", project.manifest)
        process = self.held(project)
        for words in (["run", project.manifest], ["run", "--exploratory", project.manifest],
                      ["try", "--device", "any", "true", "true"],
                      ["worker-check", "--device", "any", "--", WORKER]):
            _, err = project.abba(*words, code=4)
            self.assertRegex(err, f"reserved by another harness \\(process {process.pid}, since")
        process.kill()
        process.communicate()
        project.abba("run", project.manifest, "--resume")
        file, = project.files("results")
        show = project.check_whole(file)
        self.assertIn(f"left by process {process.pid}, since", show)

    def test_a_broken_try_does_not_advise_to_resume(self):
        project = self.project()
        _, err = project.abba("try", "--requests", "1", "false", "true", code=5)
        self.assertIn("failed twice", err)
        self.assertIn("try again", err)
        self.assertNotIn("resume", err)

    def test_a_size_limit_leaves_no_half_file(self):
        project = self.project()

        def limited(size, *words):
            done = subprocess.run(
                [ABBA, *map(str, words)], cwd=project.root, env=project.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertRegex(done.stderr, "(?m)^abba: .*(large|full|failed)")
            project.check_nothing_half_written()

        limited(500, "register", project.manifest)
        self.assertFalse(list((project.root / "manifests").rglob("*.lock.json")))
        self.assertFalse(list((project.root / "manifests").rglob("*registered*")))
        project.abba("register", project.manifest)
        limited(100_000, "run", project.manifest)
        for file in project.files("results"):
            project.check_file(file)
        limited(60, "run", "--exploratory", project.manifest)
        for line in (project.root / ".abba/attempts").read_text().splitlines():
            json.loads(line)
        for file in project.files("results"):
            project.abba("run", project.manifest, "--resume", file)
        if not project.files("results"):
            project.abba("run", project.manifest)
        file, = project.files("results")
        project.check_whole(file)
        limited(3000, "report", file, "--out", "report.md")
        self.assertFalse(list(project.root.glob("report.*")))

    def kill_at_random(self, kills, seed):
        """Whoever is killed when, every file stays whole, and each run that ends judges the same
        recorded times alike: a pass that is run again gets the data of that pass again."""
        project = self.project(settings={"request_us": 2000}, graph_capture={})
        declared = json.loads(project.manifest.read_text())
        declared["protocol"].update(passes=8, looks=[8])
        project.manifest.write_text(json.dumps(declared))
        begin = time.monotonic()
        project.abba("run", "--register", project.manifest)
        duration = time.monotonic() - begin
        wanted = self.judged(project, project.files("results")[0])
        for _ in range(9):  # a reference whose word the machine did not take back
            if "word" in wanted[0]:
                break
            project.abba("run", project.manifest)
            wanted = self.judged(project, project.files("results")[-1])
        draw = random.Random(seed)
        struck = {"harness": 0, "worker": 0}
        runs = with_words = 0
        file = None
        while sum(struck.values()) < kills or file is not None:
            known = set(project.files("results"))
            process = project.start("run", project.manifest, *(["--resume", file] if file else []))
            while sum(struck.values()) < kills and self.lives_for(process,
                                                                  draw.random() * duration / 2):
                turn = min(struck, key=struck.get)
                victim = process.pid if turn == "harness" else self.worker_of(process, draw)
                if victim is None:
                    continue  # no worker lives just now; another moment is drawn
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue  # it ended by itself just now: no kill
                struck[turn] += 1
            _, err = process.communicate(timeout=90)
            self.assertIn(process.returncode, (0, 4, 5, -signal.SIGKILL), err)
            for new in set(project.files("results")) - known:
                file = new
            if file is not None and file.exists():
                project.check_file(file)
            ended = file is not None and file.exists() and project.query(
                file, "SELECT state FROM run") == [("finished",)]
            if ended:
                runs += 1
                found = self.judged(project, file)
                with_words += all("word" in verdict for verdict in found)
                for one, other in zip(found, wanted, strict=True):
                    common = one.keys() & other.keys()
                    self.assertEqual({key: one[key] for key in common},
                                     {key: other[key] for key in common})
                file = None
            elif file is not None and not file.exists():
                file = None  # nothing was timed: set aside
        print(f"\n{kills} kills ({struck}) in {runs} runs, each with the numbers of the "
              f"uninterrupted one; {with_words} of them undisturbed, with its words too", flush=True)

    def lives_for(self, process, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.001)
        return process.poll() is None

    def worker_of(self, process, draw):
        children = []
        for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                after_name = status.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[1]) == process.pid and after_name[0] != "Z":
                children.append(int(status.parent.name))
        return draw.choice(children) if children else None

    def judged(self, project, file):
        """What is concluded from the recorded times: every number of every verdict, and its word.
        Not the count of blocks that failed and were measured again; nor what a busy machine takes
        back (N025: conditions while it ran, which are not recorded but real)."""
        verdicts = json.loads(project.abba("report", "--json", file)[0])["verdicts"]
        for verdict in verdicts:
            del verdict["blocks_failed"]
            self.assertEqual(verdict["blocks_tainted"], 0)
            if verdict["reason"].startswith("N025"):
                for key in ("word", "reason", "deciding", "detectable", "passes_needed",
                            "p_difference", "p_equivalence", "signed_rank_p", "sign_flip_p",
                            "sensitivity_agrees"):
                    del verdict[key]
        return verdicts

    def test_eight_kills_at_random_moments(self):
        self.kill_at_random(8, 20261130)

    def test_a_hundred_kills_at_random_moments(self):
        self.kill_at_random(100, 1)


if __name__ == "__main__":
    unittest.main()
