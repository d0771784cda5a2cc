"""Commands of abba-laya other than decide and serve."""

import json
import re
import unittest

from laya_project import LayaTest

# What a command must be given before an unknown word can be all that is wrong.
REQUIRED = {
    "decide": ("folder", "state", "--noul", "?"),
    "serve": ("folder",),
    "tokenize": ("--tokenizer", "folder", "--state", "s"),
    "make": ("--config", "tiny", "--out", "folder"),
    "inspect": ("folder",),
    "verify": ("folder",),
    "compare-reference": ("folder",),
    "profile": ("folder", "--input", "{}", "--out", "out"),
    "time": ("folder", "--shape", "1x48"),
    "gemm-pin": ("folder", "--shape", "1x48"),
}


class Commands(LayaTest):
    def test_doctor_tells_people_and_programs_the_same(self):
        found = json.loads(self.laya("doctor", "--json").stdout)
        self.assertEqual(list(found), ["schema", "cpu", "cuda"])
        self.assertEqual(found["schema"], "abba-laya.doctor/1")
        cpu, cuda = found["cpu"], found["cuda"]
        self.assertEqual(list(cpu), ["available", "isa", "library", "product"])
        self.assertIs(cpu["available"], True)
        first, second = self.laya("doctor").stdout.splitlines()
        self.assertEqual(first, f"cpu:  {cpu['isa']}, {cpu['library']}, product {cpu['product']}")
        if cuda["available"]:
            self.assertIn(f"{cuda['name']} {cuda['uuid']} at {cuda['pci']}, "
                          f"sm_{cuda['compute_capability']}, {cuda['sm_count']} SMs", second)
            self.assertLess(0, cuda["memory_used_bytes"])
            self.assertLess(cuda["memory_used_bytes"], cuda["memory_bytes"])
        else:
            self.assertEqual(list(cuda), ["available", "reason"])
            self.assertEqual(second, f"cuda: unavailable: {cuda['reason']}")
        named = self.laya("doctor", "--help").stdout
        for key in [*found, *cpu, *cuda]:
            self.assertIn(key, named)

    def test_doctor_with_a_checkpoint_says_the_memory_or_why_it_cannot(self):
        words = ("doctor", "--json", "--checkpoint", self.checkpoint, "--shape", "1x48")
        if json.loads(self.laya("doctor", "--json").stdout)["cuda"]["available"]:
            memory = json.loads(self.laya(*words).stdout)["memory"]
            self.assertLess(0, memory["weight_bytes"])
            self.assertLess(memory["weight_bytes"], memory["device_used_bytes"])
            self.assertLessEqual({"arena_bytes", "scratch_bytes"}, set(memory))
        else:
            self.refused(*words, expected="cuda", exit_code=4)

    def test_unknown_words_are_refused_by_every_command(self):
        commands = re.findall(r"(?m)^  ([a-z][a-z-]+)  ", self.laya("--help").stdout)
        self.assertIn("worker", commands)
        commands = [(name,) for name in commands if name != "checkpoint"]
        commands += [("checkpoint", name) for name in ("make", "inspect", "verify")]
        self.assertGreater(len(commands), 12)
        for command in commands:
            for word in ("--frob", "-f", "one", "two"):
                with self.subTest(command=command, word=word):
                    extra = ("one", "two", "three") if word == "two" else (word,)
                    done = self.laya(*command, *REQUIRED.get(command[-1], ()), *extra, exit_code=2)
                    self.assertRegex(done.stderr, r"\Aabba-laya: [^\n]+\n\Z")
                    self.assertIn(f"`abba-laya {' '.join(command)} --help`", done.stderr)

    def test_a_name_adds_no_line_and_commands_no_terminal(self):
        name = "x\x1b[31m\x9b2J\nready: 1 model"
        for words, code in [(("decide", name, "state", "--noul", "?"), 2),
                            (("checkpoint", "inspect", name), 2), (("doctor", name), 2),
                            (("checkpoint", "verify", name), 7), ((name,), 2)]:
            with self.subTest(words=words):
                said = self.laya(*words, exit_code=code).stderr
                self.assertRegex(said, r"\A(abba-laya: (?!ready)[^\n\x1b\x9b]+\n)+\Z")

    def test_what_a_command_would_not_use_is_refused(self):
        decide = ("decide", "folder", "--requests", "lines.jsonl")
        for words, expected in [
            ((*decide, "a state"), "state"),
            ((*decide, "--state-file", "x"), "--state-file"),
            ((*decide, "--questions", "q.json"), "--questions"),
            ((*decide, "--noul", "?"), "--noul"),
            ((*decide, "--max-len", "64"), "--max-len"),
            ((*decide, "--lang", "de"), "--lang"),
            ((*decide, "--long"), "--long"),
            (("tokenize", "--tokenizer", "folder", "--state", "s", "--max-len", "9"), "--questions"),
            (("doctor", "--shape", "1x48"), "--checkpoint"),
        ]:
            with self.subTest(words=words):
                self.refused(*words, expected=expected)

    def test_worker_says_what_it_takes(self):
        self.assertIn("--describe", self.laya("worker", "--help").stdout)
        self.assertEqual(json.loads(self.laya("worker", "--describe").stdout)["protocol"],
                         "abba.worker/1")


if __name__ == "__main__":
    unittest.main()
