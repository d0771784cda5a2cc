"""Everything that carries the evidence of a registration is tampered with, in every way the threat
table of the protocol names. Each row says how `run` and `verify` must end."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import forged_ledger
from authority import Authority
from project import ABBA, ENVIRONMENT, SAXPY, saxpy_manifest
from tamper_table import TamperTable

ANCHORED = "anchored before the first slot by the time stamp of CN=Test Authority"
CONSISTENT = "internally consistent, not anchored"


def abba(root, *words):
    return subprocess.run([ABBA, *map(str, words)], cwd=root, env=ENVIRONMENT, text=True,
                          capture_output=True, timeout=100)


class TamperRegistration(unittest.TestCase):
    """One project, registered, anchored, run twice of three times; each case works on a copy."""

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="abba-tamper-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.authority = Authority(cls.top / "authority")
        cls.addClassCleanup(cls.authority.close)
        cls.kept = cls.top / "kept.txt"
        cls.whole = cls.top / "whole"
        cls.make_project(cls.whole)
        cls.must(cls.whole, "register", "manifests/saxpy.json", "--anchor", "rfc3161",
                 "--authority", cls.authority.url, "--ca", cls.authority.ca)
        cls.must(cls.whole, "register", "manifests/saxpy.json", "--anchor", cls.kept)
        time.sleep(2.5)  # beyond the authority's stated accuracy
        for _ in range(2):
            cls.must(cls.whole, "run", "--quiet", "manifests/saxpy.json")
        cls.must(cls.whole, "run", "--exploratory", "--quiet", "manifests/saxpy.json")

    @classmethod
    def make_project(cls, root, **changes):
        (root / "manifests").mkdir(parents=True)
        (root / "abba.json").write_text("{}")
        manifest = saxpy_manifest([SAXPY], **changes)
        manifest["protocol"] = {"preset": "two-pass", "load": "expected", "on_taint": "keep",
                                "slot": {"warmup": 1, "requests": 3}, "limits": {"max_runs": 3}}
        manifest["success"] = {"claim": "disjoint-pass-means"}
        (root / "manifests/saxpy.json").write_text(json.dumps(manifest))

    @classmethod
    def must(cls, root, *words):
        done = abba(root, *words)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def setUp(self):
        self.table = TamperTable()
        self.count = 0

    def copy(self):
        self.count += 1
        root = self.top / f"{self.id()}-{self.count}"
        shutil.copytree(self.whole, root)
        return root

    @staticmethod
    def events(root, kind):
        """In the order of writing: the second of one second is named ...-2, and sorts first."""
        return sorted((root / "manifests/ledger").glob(f"*-{kind}*.json"),
                      key=lambda file: (file.name[:16], len(file.name), file.name))

    @staticmethod
    def runs(root):
        return sorted((root / "results").rglob("*.sqlite"))

    def case(self, name, tamper, run, verify, which=-1, command="run", verify_with=()):
        """`run` and `verify` are (exit code, words...), or None where it is not asked."""
        root = self.copy()
        tamper(root)
        if run:
            done = abba(root, *command.split(), "manifests/saxpy.json")
            self.table.judge(name, command, done, run[0], run[1:])
        if verify:
            done = abba(root, "verify", self.runs(root)[which].relative_to(root), *verify_with)
            self.table.judge(name, "verify", done, verify[0], verify[1:])

    def finish(self, at_least):
        print("\n" + str(self.table))
        self.assertGreaterEqual(len(self.table.rows), at_least)
        self.assertEqual(self.table.wrong(), [])

    # -- manifest, lock, attempts

    def test_manifest_lock_and_attempts(self):
        lock = "manifests/saxpy.lock.json"
        manifest = "manifests/saxpy.json"

        def in_file(name, before, after):
            def tamper(root):
                text = (root / name).read_text()
                self.assertIn(before, text)
                (root / name).write_text(text.replace(before, after))
            return tamper

        def lock_recomputed(root):
            in_file(manifest, "unrolling helps", "unrolling hurts")(root)
            in_file(lock, "unrolling helps", "unrolling hurts")(root)
            content = json.loads((root / lock).read_text())
            said = abba(root, "check", manifest).stdout
            content["manifest_digest"] = said.split("digest ")[1].split()[0]
            content["digest"] = forged_ledger.digest(content)
            (root / lock).write_text(json.dumps(content))

        unmoved = (0, ANCHORED)
        self.case("nothing", lambda root: None, (0,), unmoved, command="preflight")
        self.case("manifest edited", in_file(manifest, "unrolling helps", "unrolling hurts"),
                  (3, "manifest: registered", "/hypothesis"), unmoved)
        self.case("lock edited", in_file(lock, "unrolling helps", "unrolling hurts"),
                  (3, "was changed after registration"), unmoved)
        self.case("manifest and lock edited, digests recomputed", lock_recomputed,
                  (3, "in its lock but not in the ledger"), unmoved)
        self.case("lock deleted", lambda root: (root / lock).unlink(), (3, "is not registered"),
                  unmoved)
        self.case("lock deleted, registered again", lambda root: (root / lock).unlink(),
                  (3, "is gone, but the ledger holds registration", "2 runs (2 finished"), unmoved,
                  command="register")

        def attempts(root):
            (root / ".abba").mkdir(exist_ok=True)
            (root / ".abba/attempts").write_text("rubbish\n")

        self.case("nothing", lambda root: None, (0, "tries: 1 exploratory"), None, command="ledger")
        self.case("attempts edited", attempts, (0, "1 lines unreadable"), unmoved, command="ledger")
        # The page promises a lower bound here, no more.
        self.case("attempts deleted", lambda root: shutil.rmtree(root / ".abba"),
                  (0, "tries: 0 exploratory", "lower bound"), unmoved, command="ledger")
        self.finish(16)

    # -- ledger

    def test_ledger_events(self):
        def edited(kind, recompute):
            def tamper(root):
                file = self.events(root, kind)[0]
                event = forged_ledger.edit(file, lambda e: e["details"].update(added="x"))
                if recompute:
                    event["digest"] = forged_ledger.digest(event)
                    file.write_text(json.dumps(event))
            return tamper

        for kind in ("registered", "anchored", "run-started", "bound", "run-finished"):
            self.case(f"{kind} event edited", edited(kind, False),
                      (3, "the ledger", "was changed"), (7, "does not check out: ledger"))
            self.case(f"{kind} event edited, its digest recomputed", edited(kind, True),
                      (3, "the ledger", "which is missing"), (7, "does not check out: ledger"))
            self.case(f"{kind} event removed",
                      lambda root, kind=kind: self.events(root, kind)[0].unlink(),
                      (3, "which is missing"), (7, "does not check out: ledger"))

        def copied(root):
            file = self.events(root, "run-started")[0]
            shutil.copy(file, file.with_name("2" + file.name[1:].replace("T", "T0", 1)))

        self.case("an event copied", copied, (3, "the same event"), (7, "does not check out: ledger"))

        def last_run_forgotten(root):
            for kind in ("run-started", "bound", "run-finished"):
                self.events(root, kind)[-1].unlink()

        self.case("events of the last run removed", last_run_forgotten,
                  (3, "run-started event", "which the ledger lacks"),
                  (7, "ledger: the run knew the run-started event"))
        self.case("events of the last run removed; the run before", last_run_forgotten, None,
                  (0, ANCHORED), which=0)

        def last_run_gone(root):
            last_run_forgotten(root)
            self.runs(root)[-1].unlink()

        # What nobody knew and nobody keeps cannot be missed.
        self.case("events and file of the last run removed", last_run_gone, (0,), (0, ANCHORED),
                  command="preflight")
        self.case("last event (run-finished) removed",
                  lambda root: self.events(root, "run-finished")[-1].unlink(), (0,),
                  (0, "not done  ledger: the ledger has no event about the end", ANCHORED),
                  command="preflight")
        self.case("ledger deleted", lambda root: shutil.rmtree(root / "manifests/ledger"),
                  (3, "in its lock but not in the ledger"),
                  (0, "not done  ledger: no ledger at hand", CONSISTENT))
        self.case("ledger deleted, the reader kept a file",
                  lambda root: shutil.rmtree(root / "manifests/ledger"), None,
                  (0, "anchored before the first slot by the file kept.txt"),
                  verify_with=("--anchor", self.kept))
        self.finish(36)

    def test_a_lost_event_is_acknowledged_and_told_for_ever(self):
        def lost(kind, which=0):
            def tamper(root):
                file = self.events(root, kind)[which]
                digest = json.loads(file.read_text())["digest"]
                file.unlink()
                done = self.must(root, "ledger", "--acknowledge-loss", digest[:8],
                                 "--reason", "a disk died")
                self.table.judge(f"{kind} event lost", "acknowledge", done, 0, ("acknowledged: ",))
            return tamper

        said = "is lost, acknowledged 20"
        # Two of three runs were made. Run files say what a lost start or "bound" was; another event may
        # have been the start of the third for all that is known.
        full = (3, "allows 3 runs", "2 started already, with 1 more in lost events")
        for kind, room in (("anchored", full), ("run-started", (0,)), ("bound", (0,)),
                           ("run-finished", full)):
            self.case(f"{kind} event lost and acknowledged", lost(kind), room,
                      (0, said, ": a disk died", "; the ledger's event"), command="preflight")
        # Only a run file knew it.
        self.case("two events of the last run lost and acknowledged",
                  lambda root: [lost(kind, -1)(root) for kind in ("bound", "run-started")],
                  (0,), (0, said), command="preflight")
        # A third run may start, a fourth may not: the lost start still counts.
        def run_again(root):
            lost("run-started", -1)(root)
            self.must(root, "run", "--quiet", "manifests/saxpy.json")
        self.case("a run whose start is lost still counts", run_again,
                  (3, "allows 3 runs", "2 started already, with 1 more in lost events"), None)
        self.case("registered event lost and acknowledged", lost("registered"),
                  (3, "in its lock but not in the ledger"), (0, said))

        root = self.copy()
        lost("bound")(root)
        self.table.judge("bound event lost", "ledger", abba(root, "ledger"), 0, ("- event", said))
        run = self.runs(root)[0].relative_to(root)
        self.table.judge("bound event lost", "report", abba(root, "report", run), 0, (said,))
        self.must(root, "export", run, "--out", "bundle.zip")
        self.table.judge("bound event lost", "verify", abba(root, "verify", "bundle.zip"), 0,
                         (said,))
        event, = self.events(root, "loss-acknowledged")
        forged_ledger.edit(event, lambda e: e["details"].update(reason="nothing happened"))
        self.table.judge("acknowledgement edited", "preflight",
                         abba(root, "preflight", "manifests/saxpy.json"), 3, ("was changed",))
        event.unlink()
        self.table.judge("acknowledgement deleted", "preflight",
                         abba(root, "preflight", "manifests/saxpy.json"), 3,
                         ("which is missing", "--acknowledge-loss"))
        for digest in ("0123456789", "012"):
            self.table.judge("nothing lost of that name", "acknowledge",
                             abba(root, "ledger", "--acknowledge-loss", digest, "--reason", "x"), 2,
                             ("misses no event",))
        self.finish(25)

    def test_ledger_rewritten(self):
        def rewritten(change):
            return lambda root: forged_ledger.rewrite(root / "manifests/ledger", change)

        def as_resumed(event):
            if event["event"] == "run-started":
                event["details"]["resumed"] = True
            return event

        def without_runs(event):
            return event if event["event"] in ("registered", "anchored") else None

        def later(event):
            event["utc"] = event["utc"][:-3] + "59Z"
            return event

        # As the forger does it nothing is wrong with the ledger itself.
        root = self.copy()
        rewritten(as_resumed)(root)
        said = abba(root, "ledger")
        self.table.judge("whole ledger rewritten", "ledger", said, 0, ["0 runs"])
        for name, change in (("runs called resumed", as_resumed), ("runs left out", without_runs),
                             ("times changed", later)):
            self.case(f"whole ledger rewritten: {name}", rewritten(change),
                      (3, "knew the", "which the ledger lacks"),
                      (7, "does not check out: ledger: the run knew"))
        self.finish(7)

    # -- anchors

    def forged(self, hypothesis):
        """Everything made anew by its author, after the fact: consistent in itself."""
        self.count += 1
        root = self.top / f"{self.id()}-{self.count}"
        self.make_project(root, hypothesis=hypothesis)
        self.must(root, "register", "manifests/saxpy.json")
        self.must(root, "run", "--quiet", "manifests/saxpy.json")
        return root

    def verify(self, name, root, exit_code, *words, options=()):
        done = abba(root, "verify", self.runs(root)[-1].relative_to(root), *options)
        self.table.judge(name, "verify", done, exit_code, words)

    def test_anchors(self):
        root = self.copy()
        self.verify("anchored", root, 0, ANCHORED, "stored by the author")
        self.verify("anchored, the reader's certificates", root, 0, ANCHORED, "named by the reader",
                    options=("--ca", self.authority.ca))
        other = Authority(self.top / "other", "Another Authority")
        other.close()
        self.verify("anchored by an authority that the reader does not know", root, 7,
                    "does not check out: anchor: rfc3161", options=("--ca", other.ca))
        self.verify("anchored in a file that the reader kept", root, 0,
                    "kept by whoever gave it to verify", options=("--anchor", self.kept))

        forged = self.forged("unrolling hurts")
        self.verify("everything made anew, nothing anchored", forged, 0, CONSISTENT)
        self.verify("everything made anew, the reader kept a file", forged, 7,
                    "does not name registration", options=("--anchor", self.kept))
        self.must(forged, "register", "manifests/saxpy.json", "--anchor", "rfc3161",
                  "--authority", self.authority.url, "--ca", self.authority.ca)
        self.verify("everything made anew, then anchored", forged, 0, "ok        anchor", CONSISTENT)

        borrowed = self.forged("unrolling hurts a little")
        events = [json.loads(file.read_text()) for file in self.events(root, "anchored")]
        event = next(event for event in events if event["details"]["method"] == "rfc3161")
        own = forged_ledger.read(borrowed / "manifests/ledger")
        event.update(lock=own[0][1]["lock"], parents=[own[-1][1]["digest"]])
        event["digest"] = forged_ledger.digest(event)
        name = event["utc"].replace("-", "").replace(":", "")
        (borrowed / f"manifests/ledger/{name}-{event['lock'][:8]}-anchored.json").write_text(
            json.dumps(event))
        self.verify("everything made anew, another's time stamp taken over", borrowed, 7,
                    "does not check out: anchor: rfc3161", "does not hold")
        self.finish(8)

    def test_canary_a_wrong_expectation_is_seen(self):
        root = self.copy()
        done = abba(root, "verify", self.runs(root)[-1])
        self.table.judge("nothing", "verify", done, 7, ())
        self.table.judge("nothing", "verify", done, 0, ("no such words",))
        self.table.judge("nothing", "verify", done, 0, (ANCHORED,))
        self.assertEqual(len(self.table.wrong()), 2)
        self.assertIn("WRONG", str(self.table))


if __name__ == "__main__":
    unittest.main()
