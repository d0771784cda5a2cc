"""Strings of many classes for the tokenizer oracle, the same ones for the same seed.

Code points are drawn from those assigned in the Unicode version of this Python (at most 15.0, else the
database of 3.2) and known to the oracle's normalizer, whose table is that of Unicode 9: about a hundred
combining marks and a few compositions are newer and would be put in another order.
"""
import inspect
import json
import os
import pydoc_data.topics
import math
import random
import struct
import unicodedata

_VERSION = tuple(int(part) for part in unicodedata.unidata_version.split("."))
UCD = unicodedata if _VERSION <= (15, 0, 0) else unicodedata.ucd_3_2_0
SCRIPTS = {
    "latin": (0x41, 0x24F), "greek": (0x370, 0x3FF), "cyrillic": (0x400, 0x4FF), "hebrew": (0x5D0, 0x5EA),
    "arabic": (0x620, 0x64A), "devanagari": (0x904, 0x94D), "thai": (0xE01, 0xE4E), "hangul": (0xAC00, 0xD7A3),
    "hiragana": (0x3041, 0x3096), "han": (0x4E00, 0x9FFF), "georgian": (0x10D0, 0x10FA), "tamil": (0xB85, 0xBCD),
}
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u200e\u200f\u202a\u202e\u034f\u061c"
SPACES = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"


def assigned():
    return [c for c in range(0x110000) if not 0xD800 <= c < 0xE000
            and UCD.category(chr(c)) not in ("Cn", "Co", "Cs")]


def known_to(nfc, points):
    """Those code points that the normalizer `nfc` orders and composes as this Python's table says."""
    def same(text):
        return nfc(text) == UCD.normalize("NFC", text)

    def known(point):
        letter = chr(point)
        if UCD.combining(letter) and not (same(letter + "\u0334") and same("\u0345" + letter)):
            return False
        return not UCD.decomposition(letter) or same(UCD.normalize("NFD", letter))

    return [point for point in points if known(point)]


def library_text():
    """(prose, code): documentation and sources that come with Python."""
    prose = "\n".join(pydoc_data.topics.topics.values())
    folder = os.path.dirname(inspect.getfile(os))
    names = ["argparse.py", "ast.py", "asyncio/base_events.py", "decimal.py", "_pydecimal.py", "difflib.py",
             "email/message.py", "inspect.py", "json/decoder.py", "logging/__init__.py", "typing.py"]
    code = []
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                code.append(file.read())
    return prose, "\n".join(code)


class Strings:
    def __init__(self, seed, specials, nfc=None):
        self.random = random.Random(seed)
        self.specials = specials
        self.prose_text, self.code_text = library_text()
        self.points = known_to(nfc, assigned()) if nfc else assigned()
        self.point_set = set(self.points) | {0xFFFD}
        self.marks = [c for c in self.points if UCD.combining(chr(c))]
        self.composed = [c for c in self.points if UCD.decomposition(chr(c))]
        self.emoji = [c for c in self.points if 0x1F300 <= c <= 0x1FAFF or 0x2600 <= c <= 0x27BF]

    def window(self, text, longest):
        start = self.random.randrange(len(text) - longest)
        return text[start:start + self.random.randint(1, longest)]

    def word(self):
        first, last = SCRIPTS[self.random.choice(sorted(SCRIPTS))]
        return "".join(chr(self.random.randint(first, last)) for _ in range(self.random.randint(1, 8)))

    def ascii_word(self):
        return self.window(self.prose_text, 12).strip()

    def several(self, parts, most):
        return "".join(self.random.choice(parts)() for _ in range(self.random.randint(1, most)))

    def prose(self):
        return self.window(self.prose_text, 300)

    def code(self):
        return self.window(self.code_text, 300)

    def number(self):
        """A double of any bits, a fraction of few digits, an integer of any size."""
        double = struct.unpack("<d", self.random.randbytes(8))[0]
        few = self.random.randrange(10**self.random.randint(1, 17)) / 10**self.random.randint(0, 24)
        return self.random.choice([double if math.isfinite(double) else math.inf, few, float(round(few)), -few,
                                   self.random.randrange(-10**self.random.randint(1, 60), 10**30)])

    def value(self, depth):
        kind = self.random.randrange(7 if depth else 5)
        if kind < 2:
            return self.ascii_word()
        if kind < 5:
            return self.random.choice([None, True, self.random.randrange(-9999, 10**9), self.number(),
                                       self.number(), self.word()])
        size = self.random.randint(0, 4)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(size)]
        return {self.ascii_word(): self.value(depth - 1) for _ in range(size)}

    def pretty_json(self):
        value = {self.ascii_word(): self.value(3) for _ in range(self.random.randint(1, 4))}
        return json.dumps(value, indent=self.random.choice([None, 1, 2, 3, 4, 8, "\t"]), ensure_ascii=False)

    def mixed_scripts(self):
        return self.several([self.word, self.word, self.ascii_word, lambda: " ", lambda: ", ",
                             lambda: str(self.random.randrange(10**6))], 12)

    def combining(self):
        mark = lambda: chr(self.random.choice(self.marks))
        jamo = lambda: chr(self.random.randint(0x1100, 0x11FF))
        taken_apart = lambda: UCD.normalize("NFD", chr(self.random.choice(self.composed)))
        return self.several([mark, mark, jamo, taken_apart, lambda: chr(self.random.choice(self.composed)),
                             lambda: self.random.choice("aeioqu dn\u0915")], 20)

    def zero_width(self):
        return self.several([lambda: self.random.choice(ZERO_WIDTH), self.ascii_word, self.word,
                             lambda: self.random.choice(SPACES)], 14)

    def control(self):
        return self.several([lambda: chr(self.random.randrange(32)), lambda: chr(self.random.randint(0x7F, 0x9F)),
                             lambda: self.random.choice(SPACES), self.ascii_word], 20)

    def special_tokens(self):
        special = lambda: self.random.choice(self.specials)
        part = lambda: special()[:self.random.randint(1, 9)]
        return self.several([special, special, part, self.ascii_word, lambda: self.random.choice(SPACES),
                             lambda: " " * self.random.randint(1, 30)], 9)

    def fuzzed_bytes(self):
        source = bytearray(self.several([self.ascii_word, self.word, self.prose], 3).encode())
        for _ in range(self.random.randint(1, 12)):
            source[self.random.randrange(len(source) or 1):] = source[self.random.randrange(len(source) or 1):]
            source += self.random.randbytes(self.random.randint(1, 8))
        return bytes(source[:600]).decode("utf-8", "replace" if self.random.random() < 0.7 else "ignore")

    def any_code_points(self):
        return self.several([lambda: chr(self.random.choice(self.points))] * 5 + [lambda: " "], 24)

    def emoji_sequences(self):
        joined = lambda: "\u200d".join(chr(self.random.choice(self.emoji)) for _ in range(self.random.randint(1, 4)))
        return self.several([joined, lambda: chr(self.random.choice(self.emoji)) + "\ufe0f",
                             lambda: chr(self.random.randint(0x1F1E6, 0x1F1FF)), lambda: " ", self.ascii_word], 10)

    def spaces_and_contractions(self):
        return self.several([lambda: " " * self.random.randint(1, 60), lambda: "\n" * self.random.randint(1, 9),
                             lambda: self.random.choice(["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'x", "''"]),
                             lambda: self.random.choice(SPACES), self.ascii_word,
                             lambda: str(self.random.randrange(1000))], 16)

    CLASSES = ("prose code pretty_json mixed_scripts combining zero_width control special_tokens fuzzed_bytes "
               "any_code_points emoji_sequences spaces_and_contractions").split()

    def distinct(self, name, count):
        found = set()
        made = []
        while len(made) < count:
            text = getattr(self, name)()
            if text not in found and self.point_set.issuperset(map(ord, text)):
                found.add(text)
                made.append(text)
        return made
