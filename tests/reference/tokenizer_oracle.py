#!/usr/bin/env python3
"""Compares engine/text with the `tokenizers` package, id for id.

    tokenizer_oracle.py TOOL --environment VENV [--count N] [--seed N]

TOOL is abba_tokenize_lines. Three tokenizers (built-in, English, multilingual), COUNT distinct strings of
each class, windows of ids back to text, then prompt rows and answers against the rules written down below, then
published rows. Four canaries must be flagged: the strings without NFC, rows that keep the oldest ids of a list, windows
without their first id, other logits. Exits 1 on any difference, 77 if the environment is missing (1 if ABBA_REQUIRE_ORACLE=1).
"""
import argparse
import glob
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from numpy_float32 import exp, f32, log  # noqa: E402

STATE = "I was charged twice for my order. Please refund the duplicate today."
STATE_IDS = "42 369 6636 7019 323 619 1340 15 7764 23005 253 21036 3063 15"
CODE = "def parse_config(path):\n    with open(path) as f:\n        return json.load(f)\n"
# Published rows of the English checkpoint: (state, question, ids, markers).
ROWS = [
    (STATE, {"type": "choice", "instructions": "Which team should handle this?",
             "criteria": {"billing": "Charges and refunds", "technical": "Software problems"}},
     "50281 22122 1953 27 6758 2285 943 6016 436 32 50282 50284 33484 27 36355 265 285 1275 41748 50284 7681 27 "
     "9107 3237 50282 " + STATE_IDS + " 50282", "11 19"),
    (STATE, {"type": "noul", "instructions": "Does the customer ask for a refund?"},
     "50281 79 3941 1953 27 9876 253 7731 1642 323 247 23005 32 50282 50284 3221 27 642 13 253 3908 1057 417 2186 "
     "50284 2032 27 4754 13 253 3908 6556 50282 " + STATE_IDS + " 50282", "14 24"),
    (CODE, {"type": "choice", "instructions": "How much of this code should the agent read?",
            "criteria": {"tight": "only a few lines", "function": "the whole function",
                         "block": "the surrounding block"}},
     "50281 22122 1953 27 1359 1199 273 436 2127 943 253 5570 1239 32 50282 50284 6863 27 760 247 1643 3104 50284 "
     "1159 27 253 2644 1159 50284 2972 27 253 8704 2972 50282 1545 14390 64 5397 9 3967 2262 187 50274 3113 1527 9 "
     "3967 10 347 269 27 187 50270 2309 14113 15 2799 9 71 10 187 50282", "15 22 28"),
]
LONG_STATE = 'fn main() { println!("hello"); }\n' * 60
LONG_QUESTION = {"type": "score", "instructions": "Rate relevance to: add TLS support to the server",
                 "criteria": ["irrelevant", "somewhat", "relevant", "essential"]}
LONG_UNIT = [4174, 2022, 1082, 551, 3379, 6677, 2, 1587, 25521, 3287, 748, 187]


def run_tool(tool, directory, values, *options):
    lines = "".join(json.dumps(value) + "\n" for value in values)
    done = subprocess.run([tool, directory, *options], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{tool} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout.split("\n")[:-1]


def rendered(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_empty(instructions):
    return instructions is None or instructions in ([], {}) or isinstance(instructions, str) and not instructions.strip()


def option_texts(question):
    kind, criteria = question["type"], question.get("criteria")
    if kind == "choice":
        pairs = criteria.items() if isinstance(criteria, dict) else [(label, None) for label in dict.fromkeys(criteria)]
        return [str(label) if text is None or text == "" else f"{label}: {rendered(text)}" for label, text in pairs]
    if kind == "score":
        return [f"level {index}: {rendered(text)}" for index, text in enumerate(criteria)]
    found = {key.lower(): text for key, text in (criteria or {}).items()}
    labels = question.get("labels") or {"false": "false", "true": "true"}
    texts = {"false": "no, the statement does not hold", "true": "yes, the statement holds"}
    for key in texts:
        if found.get(key) not in (None, ""):
            texts[key] = rendered(found[key])
    return [f"{labels[key].strip()}: {texts[key]}" for key in ("false", "true")]


def expected_row(encode, special, request, keep_newest=True):
    """The row of a request by the rules of the original, or None where it raises."""
    clean = lambda text: text.replace(special["mask_text"], " ")
    question, limit, budget = request["question"], request["max_len"], request["head_max_len"]
    ins = question["instructions"]
    if question["type"] == "score" and None in question["criteria"] or is_empty(ins):
        return None
    head = encode(f"{question['type']} question: " + clean(rendered(question["instructions"])))
    options = [[special["mask"]] + encode(" " + clean(text))[:48] for text in option_texts(question)]
    left = budget - sum(map(len, options))
    if left < 16:
        share = max(4, (budget - 16) // len(options))
        options = [option[:share] for option in options]
        left = budget - sum(map(len, options))
    ids = [special["cls"]] + head[:max(8, left)] + [special["sep"]]
    markers = []
    for option in options:
        markers.append(len(ids))
        ids += option
    ids.append(special["sep"])
    room = max(0, limit - len(ids) - 1)
    state = encode(clean(rendered(request["state"])))
    newest = keep_newest and isinstance(request["state"], list)
    ids += (state[len(state) - min(room, len(state)):] if newest else state[:room]) + [special["sep"]]
    if markers[-1] >= limit:
        return None
    return " ".join(map(str, ids[:limit])) + " | " + " ".join(map(str, markers))


def random_request(strings, rng):
    text = lambda: getattr(strings, rng.choice(strings.CLASSES))()
    any_value = lambda: rng.choice([text(), "", strings.value(2), 0, 1.5, False])
    count = rng.choice([1, 2, 2, 3, 4, 6, 11, 30, 100])
    question = {"type": rng.choice(["choice", "score", "noul"]), "instructions": rng.choice([text(), any_value()])}
    if question["type"] == "choice":
        labels = {f"{strings.ascii_word()}{index}": rng.choice([None, any_value()]) for index in range(count)}
        question["criteria"] = rng.choice([labels, list(labels)])
    elif question["type"] == "score":
        question["criteria"] = [any_value() for _ in range(count)]
    else:
        keys = rng.choice([[], ["true"], ["False", "TRUE"], ["true", "false"]])
        question["criteria"] = {key: any_value() for key in keys}
        if rng.random() < 0.5:
            question["labels"] = {"true": " yes\u2003", "false": strings.word()}
    state = rng.choice([text() * rng.randint(1, 12), strings.value(3), [strings.value(2) for _ in range(rng.randint(0, 30))],
                        [text() for _ in range(12)]])
    return {"state": state, "question": question, "max_len": rng.choice([64, 256, 512, 1024, 8192]),
            "head_max_len": rng.choice([16, 64, 192, 256])}


def summed(values, rounded):
    """numpy's order of adding: below 8 in turn, up to 128 in 8 lanes, above in halves."""
    total = 0.0
    if len(values) < 8:
        for value in values:
            total = rounded(total + value)
        return total
    if len(values) > 128:
        half = len(values) // 2 // 8 * 8
        return rounded(summed(values[:half], rounded) + summed(values[half:], rounded))
    lanes = list(values[:8])
    whole = len(values) // 8 * 8
    for index in range(8, whole):
        lanes[index % 8] = rounded(lanes[index % 8] + values[index])
    while len(lanes) > 1:
        lanes = [rounded(lanes[i] + lanes[i + 1]) for i in range(0, len(lanes), 2)]
    total = lanes[0]
    for value in values[whole:]:
        total = rounded(total + value)
    return total


def softmax(logits, temperature):
    z = [f32(logit / temperature) for logit in logits]
    top = max(z)
    p = [exp(f32(value - top)) for value in z]
    total = summed(p, f32)
    return [f32(value / total) for value in p]


def expected_answer(request):
    question, logits = request["question"], request["logits"]
    kind, count = question["type"], len(logits)
    size = "2" if count <= 2 else "3-5" if count <= 5 else "6-10" if count <= 10 else "11+"
    index = ["choice", "score", "noul"].index(kind)
    temperature = request["by_options"].get(f"{kind}:{size}", request["temperature"][index])
    temperature = min(5.0, max(0.5, temperature)) if math.isfinite(temperature) else 1.0
    p = softmax(logits, f32(temperature))
    terms = [f32(value * log(max(value, f32(1e-12)))) for value in p]
    spread = 1.0 if count < 2 else min(1.0, max(0.0, f32(1.0 - f32(-summed(terms, f32) / f32(math.log(count))))))
    answer = {"type": kind}
    if kind == "choice":
        labels = list(question["criteria"])
        answer |= {"choice": labels[p.index(max(p))],
                   "probabilities": {label: round(value, 4) for label, value in zip(labels, p)}}
    elif kind == "score":
        level = summed([i * value for i, value in enumerate(p)], float)
        answer |= {"score": round(level, 4), "legend": {str(i): text for i, text in enumerate(question["criteria"])},
                   "probabilities": {str(i): round(value, 4) for i, value in enumerate(p)}}
    else:
        answer |= {"noul": round(p[1], 4)}
        spread = max(p[1], 1.0 - p[1])
    return json.dumps(answer | {
        "confidence": round(spread, 4), "answer_confidence": round(max(p), 4),
        "action": {"act_probability": round(softmax(request["act"], 1.0)[0], 4)}}, ensure_ascii=False)


def random_logits(rng):
    kind = rng.choice(["choice", "score", "noul"])
    count = 2 if kind == "noul" else rng.choice([1, 2, 3, 5, 7, 8, 9, 16, 17, 64, 100, 130, 300])
    criteria = {"choice": {f"l{i}": None for i in range(count)}, "score": [f"s{i}" for i in range(count)]}.get(kind)
    grid = rng.choice([0.0, 1.0, 0.125])
    draw = lambda: f32(rng.randint(-3, 3) * grid if grid else rng.gauss(0, rng.choice([0.01, 1, 10])))
    return {"question": {"type": kind, "instructions": "?", "criteria": criteria},
            "logits": [draw() for _ in range(count)], "act": [draw() * 40, draw()],
            "temperature": [rng.choice([0.1, 1.0, 1.637, 9.0, math.nan, math.inf]) for _ in range(3)],
            "by_options": {key: rng.uniform(0.05, 6) for key in ("choice:3-5", "choice:11+", "score:6-10", "noul:2")
                           if rng.random() < 0.5}}


class Report:
    def __init__(self):
        self.differences = 0

    def same_length(self, title, *lists):
        """Lists of unequal length cannot be compared pair by pair: one difference, named."""
        lengths = [len(each) for each in lists]
        if len(set(lengths)) > 1:
            self.differences += 1
            print(f"DIFFERS {title}: lists of {lengths} entries")
        return len(set(lengths)) == 1

    def compare(self, title, inputs, expected, actual):
        if not self.same_length(title, inputs, expected, actual):
            return 1
        wrong = [index for index, (a, b) in enumerate(zip(expected, actual)) if a != b]
        self.differences += len(wrong)
        for index in wrong[:3]:
            print(f"DIFFERS {title}: {str(inputs[index])[:300]!r}\n  expected {expected[index][:300]}\n"
                  f"  actual   {actual[index][:300]}")
        return len(wrong)

    def must_differ(self, title, expected, actual):
        if self.same_length(title, expected, actual) and all(a == b for a, b in zip(expected, actual)):
            self.differences += 1
            print(f"CANARY {title} was not noticed")


def special_of(directory, tokenizer):
    with open(os.path.join(directory, "tokenizer_config.json"), encoding="utf-8") as file:
        config = json.load(file)
    text = lambda key: config[key]["content"] if isinstance(config[key], dict) else config[key]
    special = {name: tokenizer.token_to_id(text(f"{name}_token")) for name in ("cls", "sep", "mask", "pad")}
    return special | {"mask_text": text("mask_token")}


def without_nfc(directory):
    from tokenizers import Tokenizer

    with open(os.path.join(directory, "tokenizer.json"), encoding="utf-8") as file:
        return Tokenizer.from_str(json.dumps(json.load(file) | {"normalizer": None}))


def check_tokenizer(report, tool, directory, count, seed):
    """Number of strings compared; leaves a line of what was done."""
    from tokenizers import Tokenizer, normalizers
    from oracle_strings import Strings

    tokenizer = Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    with open(os.path.join(directory, "tokenizer.json"), encoding="utf-8") as file:
        specials = [token["content"] for token in json.load(file)["added_tokens"]]
    strings = Strings(seed, specials, normalizers.NFC().normalize_str)
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    joined = lambda ids: " ".join(map(str, ids))
    name, total = os.path.basename(directory), 0
    for kind in strings.CLASSES:
        texts = strings.distinct(kind, count)
        actual = run_tool(tool, directory, texts)
        report.compare(f"{name}/{kind}", texts, [joined(encode(text)) for text in texts], actual)
        total += len(texts)
        if kind == "combining" and name == "english":
            wrong = without_nfc(directory)
            report.must_differ("text without NFC", actual,
                               [joined(wrong.encode(text, add_special_tokens=False).ids) for text in texts])
    total += check_prompts(report, tool, directory, encode, special_of(directory, tokenizer), strings, seed, name)
    return total + check_decode(report, tool, directory, strings, seed, name)


# Decoders as published tokenizers have them; null joins the spellings by spaces.
GEMMA = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def check_decode(report, tool, directory, strings, seed, name):
    """Windows of encoded text, which end within characters, and ids drawn at random, back to text."""
    from tokenizers import Tokenizer

    with open(os.path.join(directory, "tokenizer.json"), encoding="utf-8") as file:
        read = json.load(file)
    is_byte_level, total = read["pre_tokenizer"]["type"] == "ByteLevel", 0
    for decoder in [BYTE_LEVEL, None] if is_byte_level else [GEMMA, METASPACE, None]:
        rng = random.Random(f"{seed}/decode")
        tokenizer = Tokenizer.from_str(json.dumps(read | {"decoder": decoder}))
        limit = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
        windows = [[rng.randrange(limit) for _ in range(rng.randint(0, 40))] for _ in range(500)]
        for kind in strings.CLASSES:
            for text in strings.distinct(kind, 100):
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                start = rng.randint(0, len(ids))
                windows.append(ids[start:rng.randint(start, len(ids))])
        kind = (decoder or {"type": "no decoder"})["type"]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
                json.dump(read | {"decoder": decoder}, file)
            shutil.copy(os.path.join(directory, "tokenizer_config.json"), folder)
            actual = run_tool(tool, folder, windows, "--decode")
        expected = [json.dumps(tokenizer.decode(ids, skip_special_tokens=False), ensure_ascii=False) for ids in windows]
        report.compare(f"{name}/decode {kind}", windows, expected, actual)
        report.must_differ("windows without their first id", actual, [
            json.dumps(tokenizer.decode(ids[1:], skip_special_tokens=False), ensure_ascii=False) for ids in windows])
        total += len(windows)
    return total


def check_prompts(report, tool, directory, encode, special, strings, seed, name):
    requests = [random_request(strings, random.Random(f"{seed}/{index}")) for index in range(400)]
    expected = [expected_row(encode, special, request) for request in requests]
    actual = [None if line.startswith("refused: ") else line for line in run_tool(tool, directory, requests, "--prompts")]
    report.compare(f"{name}/prompts", requests, [str(row) for row in expected], [str(row) for row in actual])
    report.must_differ("a list that keeps its oldest ids", actual,
                       [expected_row(encode, special, request, keep_newest=False) for request in requests])
    return len(requests)


def check_published_rows(report, tool, directory):
    def ask(state, question):
        return run_tool(tool, directory, [{"state": state, "question": question, "max_len": 512,
                                           "head_max_len": 192}], "--prompts")[0]

    for state, question, ids, markers in ROWS:
        report.compare("published row", [question], [f"{ids} | {markers}"], [ask(state, question)])
    ids, _, markers = ask(LONG_STATE, LONG_QUESTION).partition(" | ")
    ids = [int(number) for number in ids.split()]
    good = (len(ids) == 512 and markers == "15 20 25 30" and ids[36:511] == (LONG_UNIT * 60)[:475]
            and ids[511] == 50282)
    report.compare("published long row", [LONG_QUESTION], ["as published"], ["as published" if good else str(ids)])


def check_answers(report, tool, directory, seed):
    requests = [random_logits(random.Random(f"{seed}/answer/{index}")) for index in range(3000)]
    actual = run_tool(tool, directory, requests, "--answers")
    report.compare("answers", requests, [expected_answer(request) for request in requests], actual)
    report.must_differ("logits of twice the size", actual, [
        expected_answer(request | {"logits": [2 * logit for logit in request["logits"]]}) for request in requests])
    return len(requests)


def missing(environment):
    if glob.glob(os.path.join(environment, "lib", "python3*", "site-packages", "tokenizers")):
        return None
    return f"no tokenizers package below {environment}; run ./dev setup_oracle"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--environment", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    reason = missing(options.environment)
    if reason:
        print(reason)
        return 1 if os.environ.get("ABBA_REQUIRE_ORACLE") == "1" else 77
    python = os.path.join(options.environment, "bin", "python")
    if os.path.realpath(sys.prefix) != os.path.realpath(options.environment):
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])
    import oracle_strings
    import oracle_tokenizers

    start, report, total = time.monotonic(), Report(), 0
    with tempfile.TemporaryDirectory() as folder:
        texts = oracle_strings.library_text()
        rng = oracle_strings.Strings(1, ["x"])
        corpus = [text for whole in texts for text in whole.split("\n")[:20000]]
        corpus += [rng.mixed_scripts() for _ in range(3000)]
        english = oracle_tokenizers.write(f"{folder}/english", oracle_tokenizers.english(options.environment))
        multilingual = oracle_tokenizers.write(f"{folder}/multilingual", oracle_tokenizers.multilingual(corpus))
        builtin = os.path.normpath(os.path.join(HERE, "../../engine/checkpoint/data"))
        for index, directory in enumerate((english, multilingual, builtin)):
            compared = check_tokenizer(report, options.tool, directory, options.count, options.seed + index)
            print(f"{os.path.basename(directory)}: {compared} strings and rows compared")
            total += compared
        check_published_rows(report, options.tool, english)
        total += check_answers(report, options.tool, english, options.seed)
    print(f"{total} compared, {report.differences} differences, {time.monotonic() - start:.1f} s")
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
