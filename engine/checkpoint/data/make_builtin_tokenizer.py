#!/usr/bin/env python3
"""Makes the small byte-level BPE tokenizer that synthetic checkpoints carry, the same bytes everywhere.

Layout and ids of the special tokens are those of the English checkpoints; the vocabulary is the 256 byte
symbols and MERGES pairs learnt from sentences that the templates below generate (SHA-256 in counter
mode). Added tokens stand in the vocabulary as well, so that a loader that numbers them itself keeps
their ids. Usage:

    make_builtin_tokenizer.py [--check]    writes beside this file, or compares and exits 1
"""
import collections
import hashlib
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, SENTENCES, MERGES = 1, 4000, 700
FIRST_BYTE_ID = 2

WORDS = {
    "who": "customer user client member caller team agent manager driver patient student person".split(),
    "verb": ("asks reports says wants needs complains confirms returns cancels refunds changes sends opens "
             "closes pays orders receives expects").split(),
    "noun": ("order invoice payment refund charge account password plan subscription delivery parcel ticket "
             "message screen button error server database report contract phone address card bill month "
             "question answer level option state function file line code test build release").split(),
    "adj": ("urgent wrong broken late duplicate new old missing open closed angry calm important simple "
            "different technical billing final first last second").split(),
    "when": "today yesterday tomorrow tonight now again soon later twice once".split(),
    "small": "the a this that my your our their every no".split(),
    "num": "0 1 2 3 7 10 12 24 48 64 100 250 512 2024 2025".split(),
}
TEMPLATES = [
    "The {who} {verb} {small} {adj} {noun} {when}.",
    "I was charged {when} for {small} {noun}. Please refund {small} {noun} {when}!",
    "Does the {who} ask for a {noun}?",
    "Which {noun} should the {who} handle {when}?",
    "choice question: Which team should handle this {noun}?",
    "score question: How {adj} is {small} {noun}?",
    "noul question: Is the {noun} {adj}?",
    "level {num}: {adj} and {adj}, but not {adj}",
    "false: no, the statement does not hold",
    "true: yes, the statement holds",
    "We can't find {small} {noun} number {num}; it isn't in {small} {noun}.",
    "It's {adj}, they're {adj}, and you'll get {num} {noun}s with the {adj} {noun}.",
    '{{"{noun}": "{adj} {noun}", "{noun}s": {num}, "{adj}": true}}',
    "def {verb}_{noun}({noun}):\n    return {noun}.{verb}({num})\n",
    "{noun} -> {num} / {num} = {num}.{num} ({adj} {noun})",
]


class Draws:
    def __init__(self):
        self.counter = 0

    def pick(self, items):
        self.counter += 1
        digest = hashlib.sha256(f"{SEED}/tokenizer/{self.counter}".encode()).digest()
        return items[int.from_bytes(digest[:8], "little") % len(items)]


def byte_symbols():
    """The GPT-2 alphabet: printable bytes stand for themselves, the others for U+0100 and up, in order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + index) for index, byte in enumerate(others)}


def corpus_words(symbols):
    """Pieces of the pre-tokenizer (its pattern, for ASCII text) with their counts."""
    pattern = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
    draws, counts = Draws(), collections.Counter()
    for _ in range(SENTENCES):
        template = draws.pick(TEMPLATES)
        text = re.sub(r"\{(\w+)\}", lambda m: draws.pick(WORDS[m[1]]), template).replace("{{", "{").replace("}}", "}")
        for piece in pattern.findall(text):
            counts["".join(symbols[byte] for byte in piece.encode())] += 1
    return {tuple(word): count for word, count in counts.items()}


def merged(word, pair):
    parts, index = [], 0
    while index < len(word):
        if word[index:index + 2] == pair:
            parts.append(pair[0] + pair[1])
            index += 2
        else:
            parts.append(word[index])
            index += 1
    return tuple(parts)


def learn(words):
    """The most frequent pair, again and again; at a tie the smaller one by its code points."""
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        next_words = collections.Counter()
        for word, count in words.items():
            next_words[merged(word, best)] += count
        words = next_words
    return merges


def added_tokens():
    tokens = []

    def add(number, content, special, normalized, lstrip=False):
        tokens.append({"id": number, "content": content, "single_word": False, "lstrip": lstrip,
                       "rstrip": False, "normalized": normalized, "special": special})

    add(0, "|||IP_ADDRESS|||", False, True)
    add(1, "<|padding|>", True, False)
    for length in range(24, 1, -1):
        add(50278 - length, " " * length, False, True)
    add(50277, "|||EMAIL_ADDRESS|||", False, True)
    add(50278, "|||PHONE_NUMBER|||", False, True)
    add(50279, "<|endoftext|>", True, False)
    for number, content in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], 50280):
        add(number, content, True, False, lstrip=content == "[MASK]")
    for number in range(83):
        add(50285 + number, f"[unused{number}]", False, True)
    return tokens


def tokenizer():
    symbols = byte_symbols()
    merges = learn(corpus_words(symbols))
    added = added_tokens()
    vocab = {symbol: FIRST_BYTE_ID + index for index, symbol in enumerate(sorted(symbols.values()))}
    for left, right in merges:
        vocab.setdefault(left + right, FIRST_BYTE_ID + len(vocab))
    vocab |= {token["content"]: token["id"] for token in added}
    special = {"[CLS]": 50281, "[SEP]": 50282}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]}
                               for name, number in special.items()}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [list(pair) for pair in merges]},
    }


def tokenizer_config():
    return {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192,
            "clean_up_tokenization_spaces": True, "model_input_names": ["input_ids", "attention_mask"],
            "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
            "mask_token": "[MASK]"}


def main():
    files = {"tokenizer.json": json.dumps(tokenizer(), separators=(",", ":"), ensure_ascii=True) + "\n",
             "tokenizer_config.json": json.dumps(tokenizer_config(), indent=2) + "\n"}
    differing = []
    for name, text in files.items():
        path = os.path.join(HERE, name)
        if "--check" not in sys.argv:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path, encoding="ascii").read() != text:
            differing.append(name)
    if differing:
        sys.exit(f"{', '.join(differing)} differs from what this program makes")


main()
