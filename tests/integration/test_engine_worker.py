"""The engine's own worker keeps every rule of the protocol that it can be held to."""

import json
import os
import pathlib
import subprocess
import unittest

from laya_project import LAYA, LayaTest

REQUESTS = pathlib.Path(os.environ["ABBA_SOURCE_DIR"]) / "experiments/requests"
LEFT = {"files-to-hash-exist", "settings-in-effect", "device-named", "hot-factors-switch",
        "graph-capture-answered", "results-kept-by-capture", "unprepared-capture-refused", "serve-answered"}


class EngineWorker(LayaTest):
    def rules(self, *words, files=(), exit_code=0):
        files = [f"--file={file}" for file in (f"checkpoint={self.checkpoint}", *files)]
        done = subprocess.run([os.environ["ABBA_PROGRAM"], "worker-check", "--json", *files, *words,
                               "--", LAYA, "worker"], cwd=self.root, text=True, timeout=110,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return {row["rule"]: row["state"] for row in json.loads(done.stdout)["rules"]}

    def expect_all_kept(self, rules, left=LEFT):
        self.assertEqual({rule for rule, state in rules.items() if state == "not checked"}, left)
        self.assertEqual({state for rule, state in rules.items() if rule not in left}, {"ok"})
        self.assertGreater(len(rules), 60)

    def test_token_rows(self):
        self.expect_all_kept(self.rules())

    def test_text_requests_at_their_boundary(self):
        self.expect_all_kept(self.rules("--input", '{"request": "short_1"}', "--boundary", "engine",
                                        files=[f"requests={REQUESTS}"]),
                             LEFT | {"variants-repeatable"})  # a text has no variants

    def test_canary_text_at_a_boundary_of_token_rows(self):
        rules = self.rules("--input", '{"request": "short_1"}', files=[f"requests={REQUESTS}"],
                           exit_code=7)
        self.assertEqual(rules["prepare-valid"], "broken")


if __name__ == "__main__":
    unittest.main()
