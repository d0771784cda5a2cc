"""`abba laya decide` and `abba laya tokenize`, from the command line to the printed answer."""

import json
import os
import pty
import subprocess
import unittest

from laya_project import LAYA, QUESTIONS, STATE, LayaTest


class Decide(LayaTest):
    def decide(self, *words, **more):
        return json.loads(self.laya("decide", self.checkpoint, *words, **more).stdout)

    def test_every_way_in_gives_the_same_answers(self):
        first = self.decide(STATE, "--questions", "questions.json")
        self.assertEqual(list(first), ["model", "answers", "usage"])
        self.assertEqual(list(first["answers"]), list(QUESTIONS))
        self.assertAlmostEqual(sum(first["answers"]["team"]["probabilities"].values()), 1, places=3)
        self.assertEqual(first["usage"]["output_tokens"], 0)
        (self.root / "state.txt").write_text(STATE)
        self.assertEqual(self.decide("--state-file", "state.txt", "--questions", "questions.json"),
                         first)
        self.assertEqual(self.decide("--state-file", "-", "--questions", "questions.json",
                                     input=STATE), first)
        self.assertEqual(self.decide(json.dumps(STATE), "--state-json", "--questions",
                                     "questions.json"), first)
        short = self.decide(
            STATE, "--choice", "Which team should handle this? | billing: charges and refunds | "
            "technical: software problems | other", "--score", "How urgent is it?|can wait|soon|now",
            "--noul", "Does the customer ask for a refund?")
        self.assertEqual(list(short["answers"].values()), list(first["answers"].values()))
        self.assertEqual(list(short["answers"]), ["choice", "score", "noul"])

    def test_json_states_and_lists_are_rendered_as_python_does(self):
        turns = [{"role": "user", "text": "é\"\n"}, 1.0, None]
        direct = self.decide(json.dumps(turns), "--state-json", "--noul", "Is it over?")
        as_text = self.decide(json.dumps(turns, ensure_ascii=False), "--noul", "Is it over?")
        self.assertEqual(direct, as_text)

    def test_a_file_of_requests_answers_line_by_line(self):
        lines = [{"state": STATE, "questions": QUESTIONS},
                 {"state": [1, 2], "questions": {"q": {"type": "nonsense"}}},
                 {"state": {"a": 1}, "questions": {}},
                 {"questions": {}}]
        (self.root / "requests.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
        out = self.laya("decide", self.checkpoint, "--requests", "requests.jsonl", "--rows").stdout
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(answers), 4)
        rows = answers[0].pop("rows")
        self.assertEqual(answers[0], self.decide(STATE, "--questions", "questions.json"))
        self.assertEqual(len(rows["team"]["logits"]), 3)
        self.assertEqual(rows["team"]["ids"][rows["team"]["markers"][0]], 50284)
        self.assertIn("choice, noul, score", answers[1]["error"])
        self.assertEqual(answers[2]["answers"], {})
        self.assertIn("'state' is required", answers[3]["error"])
        piped = self.laya("decide", self.checkpoint, "--requests", "-", "--rows",
                          input=(self.root / "requests.jsonl").read_text()).stdout
        self.assertEqual(piped.splitlines()[:3], out.splitlines()[:3])

    def test_a_line_of_any_length_costs_no_more_than_its_limit(self):
        good = json.dumps({"state": STATE, "questions": QUESTIONS})
        (self.root / "long.jsonl").write_text(f"{good}\n{'x' * (40 << 20)}\n{good}")
        out = self.laya("decide", self.checkpoint, "--requests", "long.jsonl").stdout.splitlines()
        self.assertEqual(len(out), 3)
        self.assertEqual(out[0], out[2])
        self.assertEqual(json.loads(out[1]), {"error": "long.jsonl line 2: is longer than 16 MiB; "
                                              "a line is one request, cut its state"})
        self.assertLess(len(self.laya("decide", self.checkpoint, "--requests", "-",
                                      input=" " * (20 << 20)).stdout), 200)
        state = json.dumps({"state": "word " * 1_500_000, "questions": QUESTIONS})
        whole = self.laya("decide", self.checkpoint, "--requests", "-", input=state).stdout
        self.assertEqual(list(json.loads(whole)["answers"]), list(QUESTIONS))

    def test_a_long_state_is_read_in_windows(self):
        state = "Nothing to report. " * 400 + "Please refund the duplicate charge."
        cut = self.decide(state, "--questions", "questions.json")
        self.assertTrue(cut["usage"]["truncated"])
        read = self.decide(state, "--questions", "questions.json", "--long")
        self.assertEqual(list(read["answers"]), list(QUESTIONS))
        count = read["usage"]["windows"]
        self.assertGreater(count, 5)
        self.assertEqual(read["usage"]["truncated"], 0)
        for answer in read["answers"].values():
            window = answer["window"]
            self.assertEqual(list(window), ["index", "token_start", "token_end", "count"])
            self.assertEqual(window["count"], count)
            self.assertLess(window["token_start"], window["token_end"])
        self.assertEqual(self.decide(STATE, "--questions", "questions.json", "--long")["answers"],
                         self.decide(STATE, "--questions", "questions.json")["answers"])
        for words, expected in [(("--window", 40), "--long"), (("--long", "--max-len", 64), "--max-len"),
                                (("--long", "--rows"), "--rows"),
                                (("--long", "--window", 40, "--stride", 50), "passes over tokens")]:
            with self.subTest(words=words):
                self.refused("decide", self.checkpoint, state, "--questions", "questions.json", *words,
                             expected=expected)

    def test_a_terminal_gets_a_table(self):
        master, slave = pty.openpty()
        process = subprocess.Popen([LAYA, "decide", self.checkpoint, STATE, "--questions",
                                    self.root / "questions.json"], stdout=slave,
                                   stdin=subprocess.DEVNULL)
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        self.assertEqual(process.wait(timeout=60), 0)
        os.close(master)
        table = text.decode()
        for expected in ("team  choice: ", "billing: charges and refunds", "urgency  score: ",
                         "refund  noul: ", "level 2: now", " tokens"):
            self.assertIn(expected, table)

    def test_spans_say_where_the_time_went(self):
        done = self.laya("decide", self.checkpoint, STATE, "--questions", "questions.json",
                         "--spans")
        json.loads(done.stdout)
        times = {line.split()[0]: float(line.split()[1]) for line in done.stderr.splitlines()}
        self.assertEqual(list(times), ["engine", "tokenize", "model", "encoder", "pack", "upload",
                                       "encode", "head", "score", "readback", "decode"])
        self.assertGreaterEqual(times["engine"], times["model"])
        self.assertGreaterEqual(times["model"], times["encoder"])
        self.assertGreaterEqual(times["encoder"], times["encode"])

    def test_tokens_are_those_that_decide_uses(self):
        tokenizer = self.checkpoint / "tokenizer"
        lines = self.laya("tokenize", "--tokenizer", tokenizer, "--questions", "questions.json",
                          "--state", STATE, "--ids", "--max-len", 512).stdout.splitlines()
        (self.root / "one.jsonl").write_text(json.dumps({"state": STATE, "questions": QUESTIONS}))
        rows = json.loads(self.laya("decide", self.checkpoint, "--requests", "one.jsonl",
                                    "--rows").stdout)["rows"]
        self.assertEqual([list(map(int, line.split())) for line in lines],
                         [row["ids"] for row in rows.values()])
        pieces = self.laya("tokenize", "--tokenizer", tokenizer, "--questions", "questions.json",
                           "--state", STATE).stdout
        self.assertEqual(pieces.count("[MASK]\t<- option"), 8)
        alone = self.laya("tokenize", "--tokenizer", tokenizer, "--state", STATE, "--ids").stdout
        self.assertIn(" " + alone.strip() + " ", lines[0])

    def test_bad_input_is_one_sentence(self):
        c, q = self.checkpoint, "questions.json"
        (self.root / "list.json").write_text("[]")
        (self.root / "broken.json").write_text("{")
        (self.root / "bad_type.json").write_text('{"q": {"type": "rank", "instructions": "?"}}')
        (self.root / "latin.txt").write_bytes(b"caf\xe9")
        (self.root / "languages.json").write_text('{"de": 1}')
        none = self.root / "none"
        many = "Which? |" + "|".join(f"option {i}" for i in range(400))
        for words, expected in [
            (("decide",), "checkpoint is required"),
            (("decide", c), "there are none"),
            (("decide", c, "--questions", q), "--state-file"),
            (("decide", c, "s", "--state-file", "x", "--questions", q), "either"),
            (("decide", c, "--state-file", "none.txt", "--questions", q), "none.txt"),
            (("decide", c, "--state-file", "latin.txt", "--questions", q), "UTF-8"),
            (("decide", c, "{", "--state-json", "--questions", q), "JSON"),
            (("decide", c, "s", "--questions", "none.json"), "none.json"),
            (("decide", c, "s", "--questions", "list.json"), "list.json"),
            (("decide", c, "s", "--questions", "broken.json"), "broken.json"),
            (("decide", c, "s", "--questions", "bad_type.json"), "choice, noul, score"),
            (("decide", c, "s", "--choice", "Which?"), "at least one option"),
            (("decide", c, "s", "--choice", "? | a | a"), "twice"),
            (("decide", c, "s", "--noul", ""), "needs a question"),
            (("decide", c, "s", "--choice", many), "options exceed"),
            (("decide", c, "s", "--noul", "?", "--max-len", "0"), "--max-len"),
            (("decide", c, "s", "--noul", "?", "--threads", "0"), "threads"),
            (("decide", c, "s", "--noul", "?", "--precision", "int3"), "precision"),
            (("decide", c, "s", "--noul", "?", "--backend", "abacus"), "backend"),
            (("decide", c, "s", "--noul", "?", "--lang-temperatures", "languages.json"),
             "languages.json"),
            (("decide", none, "s", "--noul", "?"), "none"),
            (("decide", c, "--requests", "none.jsonl"), "none.jsonl"),
            (("decide", c, "--requests", "."), "cannot be read"),
            (("decide", c, "s", "--noul", "?", "--device", "300"), "0 to 255"),
            (("decide", c, "s", "--frobnicate"), "--frobnicate"),
            (("decide", c, "s", "--frobnicate"), "`abba-laya decide --help`"),
            (("frobnicate",), '"frobnicate" is no command'),
            (("checkpoint", "burn"), '"burn" is no command; see `abba-laya checkpoint --help`'),
            ((), "name a command"),
            (("tokenize", "--state", "s"), "--tokenizer is required"),
            (("tokenize", "--tokenizer", none, "--state", "s"), "tokenizer.json"),
            (("tokenize", "--tokenizer", c / "tokenizer"), "--state-file"),
        ]:
            with self.subTest(words=words):
                self.refused(*words, expected=expected)

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([LAYA, "decide", self.checkpoint, "s", "--noul", "?"],
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 5)
        self.assertIn("No space left", done.stderr)

    def test_canary_another_state_gives_other_numbers(self):
        first = self.decide(STATE, "--questions", "questions.json")
        other = self.decide(STATE + " Now!", "--questions", "questions.json")
        self.assertNotEqual(first["answers"], other["answers"])


if __name__ == "__main__":
    unittest.main()
