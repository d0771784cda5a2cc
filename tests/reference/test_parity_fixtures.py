#!/usr/bin/env python3
"""A fixture that is missing or malformed fails with the path that was tried and the parser's words."""
import json
import lzma
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import original_goldens  # noqa: E402
import parity  # noqa: E402

HEADER = '{"schema": "abba.original/1", "family": "own", "checkpoint": {"path": "checkpoint", "model_sha256": "0", "tokenizer_sha256": "0"}}\n'
GOLDEN = '{"kind": "k", "request": {}, "refused": "ValueError"}\n'


class Fixtures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def refused(self, *, plain=None, packed=None):
        for name, content in (("goldens.jsonl", plain), ("goldens.jsonl.xz", packed)):
            if content is not None:
                with open(os.path.join(self.folder.name, name), "wb") as file:
                    file.write(content)
        with self.assertRaises(original_goldens.BadFixture) as caught:
            parity.check_own(None, self.folder.name)
        self.assertIn(self.folder.name, str(caught.exception))
        return str(caught.exception)

    def test_missing_names_both_paths(self):
        message = self.refused()
        self.assertIn("goldens.jsonl.xz", message)
        self.assertIn("goldens.jsonl exists", message)

    def test_not_json_gives_line_and_parser_words(self):
        message = self.refused(plain=(HEADER + GOLDEN + "{\"kind\": tru}\n").encode())
        self.assertIn("line 3", message)
        self.assertIn("Expecting value", message)

    def test_not_xz(self):
        self.assertIn("format not supported", self.refused(packed=b"no xz at all"))

    def test_cut_short(self):
        self.assertIn("end-of-stream", self.refused(packed=lzma.compress((HEADER + GOLDEN * 50).encode())[:-20]))

    def test_not_utf8(self):
        self.assertIn("utf-8", self.refused(plain=b"\xff\xfe\n"))

    def test_another_schema(self):
        self.assertIn("schema", self.refused(plain=b'{"schema": "x"}\n' + GOLDEN.encode()))

    def test_no_request(self):
        self.assertIn("no request", self.refused(plain=HEADER.encode()))

    def test_a_golden_without_an_answer(self):
        message = self.refused(plain=(HEADER + '{"kind": "k", "request": {}}\n').encode())
        self.assertIn("line 2", message)

    def test_a_checkpoint_that_is_not_there(self):
        message = self.refused(plain=(HEADER + GOLDEN).encode())
        self.assertIn("model.safetensors", message)


class Pins(unittest.TestCase):
    def text(self, name):
        with open(os.path.join(original_goldens.HERE, name), encoding="utf-8") as file:
            return file.read()

    def test_the_upgrade_page_names_everything_that_is_pinned(self):
        page = self.text("UPGRADE.md")
        native = json.loads(self.text("native_pins.json"))
        statistics = [line.split("==")[0] for line in self.text("statistics_requirements.txt").splitlines() if "==" in line]
        self.assertIn("scipy", statistics)
        for name in [*original_goldens.pinned(), *native, *statistics, "nvcc", "cuBLASLt"]:
            self.assertIn(name, page)

    def test_tokenizers_is_one_version_in_both_environments(self):
        self.assertIn(f"tokenizers=={original_goldens.pinned()['tokenizers']} ", self.text("oracle_requirements.txt"))


if __name__ == "__main__":
    unittest.main()
