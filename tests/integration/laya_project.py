"""The built abba-laya on a small synthetic checkpoint, driven as a person would."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

LAYA = os.environ["ABBA_LAYA"]

QUESTIONS = {
    "team": {"type": "choice", "instructions": "Which team should handle this?",
             "criteria": {"billing": "charges and refunds", "technical": "software problems",
                          "other": None}},
    "urgency": {"type": "score", "instructions": "How urgent is it?",
                "criteria": ["can wait", "soon", "now"]},
    "refund": {"type": "noul", "instructions": "Does the customer ask for a refund?"},
}
STATE = "I was charged twice for my order. Please refund the duplicate today."


class LayaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="abba-laya-it-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.checkpoint = cls.root / "tiny"
        subprocess.run([LAYA, "checkpoint", "make", "--config", "tiny", "--seed", "1", "--out",
                        cls.checkpoint], check=True, stdout=subprocess.DEVNULL, timeout=100)
        (cls.root / "questions.json").write_text(json.dumps(QUESTIONS))

    def laya(self, *words, exit_code=0, **more):
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if "input" in more:
            del more["stdin"]
        done = subprocess.run([LAYA, *map(str, words)], cwd=self.root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **more)
        self.assertEqual(done.returncode, exit_code,
                         f"abba-laya {words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        self.assertNotIn("terminate called", done.stderr)
        return done

    def refused(self, *words, expected, exit_code=2, **more):
        done = self.laya(*words, exit_code=exit_code, **more)
        self.assertRegex(done.stderr, r"\Aabba-laya: [^\n]+\n\Z")
        self.assertIn(expected, done.stderr)
        self.assertEqual(done.stdout, "")
