"""The requests that the original package answers for the goldens: the same ones for the same family and attempt.

KINDS names what each request is about. request(family, kind, attempts) makes it; a higher attempt of a question draws
it anew (original_oracle.py asks for one when fp32 rounding could decide a published digit).
"""
import random

WORDS = {
    "latin": """order refund invoice urgent server latency customer deploy rollback merge branch parser token cancel
    account password billing shipment delay battery screen contract legal review patient dosage flight gate seat
    pull request failing test coverage memory leak thread lock cache miss weather storm river music concert ticket
    please today tomorrow never always because although without about between against during the a of to and in is
    was were be been not no yes we you they it this that which who why how when where""".split(),
    "other": """vielen Dank für die Überweisung größer Straße naïve café déjà vu mañana señor приказ сервер задержка
    возврат счёт клиент 注文 返金 サーバー 遅延 请求 退款 服务器 延迟 주문 환불 서버 지연 σφάλμα πελάτης طلب خطأ שלום תודה धन्यवाद อาหาร
    e\u0301te\u0301 \u00e9t\u00e9 🙂 👩🏽‍💻 ½ Ⅳ ﬁn …""".split(),
}
CODE = ("def parse_config(path):\n    with open(path) as f:\n        return json.load(f)\n"
        "\n\nclass Cache:\n\tdef get(self, key):\n\t\treturn self.items.get(key)  # None if absent\n")
CHOICE_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 17, 24, 40, 64, 100)
SCORE_COUNTS = (1, 2, 3, 4, 5, 6, 9, 10, 11, 15, 32)
STATES = ("short", "sentence", "paragraph", "over_long", "object", "over_long_object", "turns", "over_long_turns",
          "empty", "empty_list", "empty_object", "spaces", "code", "pretty_json", "specials", "controls", "number",
          "float", "boolean", "unicode", "no_spaces", "nested_list")
INSTRUCTIONS = ("long", "empty", "object", "list", "number", "boolean", "null", "mask", "unicode", "newlines")
DESCRIPTIONS = ("numbers", "objects", "lists", "booleans", "nulls", "empty", "mixed", "long", "mask", "unicode")
NOULS = ("plain", "true_only", "false_only", "both", "capitals", "labels", "labels_and_criteria", "labels_spaces",
         "empty_criteria", "number_criteria", "null_labels")
OVER = ("many_long", "labels_long", "score_long", "head_long", "all_long", "hundred_long")
BUDGETS = ((64, 32), (128, 192), (96, 16), (300, 300), (40, 24), (1024, 512), (200, 8))
SEVERAL = ("two", "three", "five", "all_types", "eight", "uneven")
REFUSED = ("unknown_type", "no_instructions", "no_criteria", "empty_choice", "empty_score", "null_level", "noul_key",
           "same_labels", "one_label", "labels_on_choice", "list_label", "choice_text", "score_object", "no_room",
           "question_text", "null_label", "repeated_label", "blank_instructions", "empty_list_instructions")
KINDS = ([f"choice/{count}" for count in CHOICE_COUNTS] + [f"labels/{count}" for count in CHOICE_COUNTS[1::3]]
         + [f"score/{count}" for count in SCORE_COUNTS] + [f"noul/{name}" for name in NOULS]
         + [f"state/{name}" for name in STATES] + [f"instructions/{name}" for name in INSTRUCTIONS]
         + [f"descriptions/{name}" for name in DESCRIPTIONS] + [f"over/{name}" for name in OVER]
         + [f"budget/{index}" for index in range(len(BUDGETS))] + [f"several/{name}" for name in SEVERAL]
         + [f"refused/{name}" for name in REFUSED])


MOST_QUESTIONS = 8


class Maker:
    """Draws the parts of one request."""

    def __init__(self, seed, foreign):
        self.random, self.foreign = random.Random(seed), foreign

    def word(self):
        return self.random.choice(WORDS["other" if self.random.random() < self.foreign else "latin"])

    def text(self, low, high):
        count = self.random.randint(low, high)
        words = [self.word() for _ in range(count)]
        for index in range(0, count, 9):
            words[index] = words[index].capitalize()
            if index:
                words[index - 1] += self.random.choice([".", "?", "!", ",", ";", ":"])
        return " ".join(words) + self.random.choice([".", "?", ""])

    def labels(self, count):
        return [f"{self.word()}_{index}" if self.random.random() < 0.5 else f"{self.word()} {index}"
                for index in range(count)]

    def value(self, depth=2):
        draw = self.random
        if depth == 0 or draw.random() < 0.4:
            return draw.choice([None, True, False, draw.randint(-10**6, 10**12), round(draw.gauss(0, 50), 3), 1e-7,
                                1e22, self.word(), self.text(2, 6), ""])
        if draw.random() < 0.5:
            return [self.value(depth - 1) for _ in range(draw.randint(0, 4))]
        return {self.word(): self.value(depth - 1) for _ in range(draw.randint(0, 4))}

    def turn(self, low=4, high=30):
        return {"role": self.random.choice(["user", "assistant"]), "content": self.text(low, high)}

    def choice(self, count, described=True, low=1, high=6):
        labels = self.labels(count)
        criteria = {label: self.text(low, high) for label in labels} if described else labels
        return {"type": "choice", "instructions": self.text(4, 12), "criteria": criteria}

    def score(self, count, low=1, high=4):
        return {"type": "score", "instructions": self.text(3, 10), "criteria": [self.text(low, high) for _ in range(count)]}

    def noul(self):
        return {"type": "noul", "instructions": self.text(4, 12)}

    def any_question(self):
        return self.random.choice([lambda: self.choice(self.random.choice([2, 3, 4, 7])),
                                   lambda: self.score(self.random.choice([3, 4, 5])), self.noul])()


def state_of(maker, name):
    makers = {
        "short": lambda: maker.word(), "sentence": lambda: maker.text(8, 20), "paragraph": lambda: maker.text(60, 120),
        "over_long": lambda: maker.text(900, 1200),
        "object": lambda: {maker.word(): maker.value() for _ in range(5)},
        "over_long_object": lambda: {f"{maker.word()}{index}": maker.text(10, 30) for index in range(60)},
        "turns": lambda: [maker.turn() for _ in range(4)], "over_long_turns": lambda: [maker.turn(10, 40) for _ in range(50)],
        "empty": lambda: "", "empty_list": lambda: [], "empty_object": lambda: {}, "spaces": lambda: " " * 30 + "\n" + " " * 7,
        "code": lambda: CODE * maker.random.randint(1, 3),
        "pretty_json": lambda: "{\n    \"name\": \"" + maker.word() + "\",\n        \"items\": [1, 2,  3]\n}\n",
        "specials": lambda: "[MASK] " + maker.word() + " [SEP] <mask>" + maker.word() + "[CLS] <bos></s>[PAD]  [MASK]",
        "controls": lambda: "a\tb\r\nc\u000bd\u0085e\u00a0f\u200bg\u0000h\u007f" + maker.word(),
        "number": lambda: maker.random.randint(-10**20, 10**20), "float": lambda: maker.random.choice([1.0, 1e16, 2.5e-7, -0.0]),
        "boolean": lambda: maker.random.choice([True, False]),
        "unicode": lambda: " ".join(maker.random.choice(WORDS["other"]) for _ in range(30)),
        "no_spaces": lambda: "".join(maker.word() for _ in range(60)),
        "nested_list": lambda: [maker.value(3) for _ in range(6)],
    }
    return makers[name]()


def with_instructions(maker, name):
    makers = {
        "long": lambda: maker.text(250, 300), "empty": lambda: "", "object": lambda: {maker.word(): maker.value()},
        "list": lambda: [maker.text(2, 5), maker.value(1), 3], "number": lambda: maker.random.choice([7, 2.5, -1e-9]),
        "boolean": lambda: True, "null": lambda: None, "mask": lambda: "is [MASK] or <mask>[MASK] " + maker.text(2, 5),
        "unicode": lambda: " ".join(maker.random.choice(WORDS["other"]) for _ in range(12)),
        "newlines": lambda: maker.text(3, 5) + "\n\n    " + maker.text(3, 5) + "\n",
    }
    return dict(maker.any_question(), instructions=makers[name]())


def with_descriptions(maker, name):
    pool = {
        "numbers": lambda: [0, 1, -2.5, 1e16, 10**30], "objects": lambda: [{maker.word(): maker.value(1)}, {}, {"a": {"b": []}}],
        "lists": lambda: [[], [1, "x", None], [maker.word(), [0.1]]], "booleans": lambda: [True, False, True],
        "nulls": lambda: [None, maker.text(1, 3), None], "empty": lambda: ["", maker.text(1, 3), ""],
        "mixed": lambda: [maker.value(2) for _ in range(6)], "long": lambda: [maker.text(60, 90) for _ in range(3)],
        "mask": lambda: ["[MASK]", "<mask> x", "a[MASK]b"], "unicode": lambda: [" ".join(WORDS["other"][index::9]) for index in range(4)],
    }
    values = pool[name]()
    if name in ("numbers", "booleans", "objects", "lists") and maker.random.random() < 0.5:
        return {"type": "score", "instructions": maker.text(3, 8), "criteria": values}
    return {"type": "choice", "instructions": maker.text(3, 8), "criteria": dict(zip(maker.labels(len(values)), values))}


def noul_of(maker, name):
    text = lambda: maker.text(2, 8)
    parts = {
        "plain": {}, "true_only": {"criteria": {"true": text()}}, "false_only": {"criteria": {"false": text()}},
        "both": {"criteria": {"true": text(), "false": text()}}, "capitals": {"criteria": {"TRUE": text(), "False": text()}},
        "labels": {"labels": {"false": maker.word(), "true": maker.word() + "!"}},
        "labels_and_criteria": {"labels": {"true": "approve", "false": "reject"}, "criteria": {"true": text()}},
        "labels_spaces": {"labels": {"false": "  deny\t", "true": "\u2003allow it "}}, "empty_criteria": {"criteria": {}},
        "number_criteria": {"criteria": {"true": 0, "false": {"why": [text()]}}}, "null_labels": {"criteria": None},
    }
    return dict(maker.noul(), **parts[name])


def over_budget(maker, name):
    return {
        "many_long": lambda: maker.choice(12, low=20, high=30), "labels_long": lambda: {
            "type": "choice", "instructions": maker.text(5, 9), "criteria": [maker.text(30, 60) for _ in range(9)]},
        "score_long": lambda: maker.score(14, 15, 40), "head_long": lambda: dict(maker.choice(4, low=20, high=30),
                                                                                 instructions=maker.text(150, 200)),
        "all_long": lambda: dict(maker.choice(30, low=10, high=20), instructions=maker.text(150, 200)),
        "hundred_long": lambda: maker.choice(100, low=6, high=12),
    }[name]()


def several(makers, name):
    """Questions of one request, each from a maker of its own."""
    any_one = lambda maker: maker.any_question()
    forms = {
        "two": [lambda m: m.choice(2), Maker.noul], "three": [lambda m: m.choice(3), lambda m: m.score(4), Maker.noul],
        "five": [any_one] * 5, "eight": [any_one] * 8,
        "all_types": [Maker.noul, lambda m: m.score(5), lambda m: m.choice(7), lambda m: m.choice(3, described=False)],
        "uneven": [lambda m: m.choice(40), Maker.noul, lambda m: m.choice(1),
                   lambda m: dict(m.noul(), instructions=m.text(100, 120))],
        "budget": [lambda m: m.choice(4), Maker.noul],
    }[name]
    questions = [form(maker) for form, maker in zip(forms, makers)]
    return {f"q{index} {maker.word()}": question for index, (question, maker) in enumerate(zip(questions, makers))}


def refused(maker, name):
    good = maker.choice(3)
    without = lambda key: {k: v for k, v in good.items() if k != key}
    return {
        "unknown_type": dict(good, type="rank"), "no_instructions": without("instructions"), "no_criteria": without("criteria"),
        "empty_choice": dict(good, criteria={}), "empty_score": dict(maker.score(2), criteria=[]),
        "null_level": dict(maker.score(2), criteria=["low", None]), "noul_key": dict(maker.noul(), criteria={"maybe": "x"}),
        "same_labels": dict(maker.noul(), labels={"true": "x", "false": " x"}),
        "one_label": dict(maker.noul(), labels={"true": "x"}), "labels_on_choice": dict(good, labels={"true": "x", "false": "y"}),
        "list_label": dict(good, criteria=["a", ["b"]]), "choice_text": dict(good, criteria="a, b"),
        "score_object": dict(maker.score(2), criteria={"0": "low"}), "no_room": maker.choice(100), "question_text": "why?",
        "null_label": dict(good, criteria=["a", None]), "repeated_label": dict(good, criteria=["a", 1, "b", True]),
        "blank_instructions": dict(good, instructions=" \u2003\n"), "empty_list_instructions": dict(good, instructions=[]),
    }[name]


def request(family, kind, attempts):
    """{"state", "questions"} and, where the kind says so, "max_len" and "head_max_len". `attempts` has MOST_QUESTIONS
    numbers, one for each question."""
    group, _, name = kind.partition("/")
    foreign = 0.5 if family == "multilingual" else 0.08
    own = group in ("several", "budget")
    maker = Maker(f"{family}/{kind}" if own else f"{family}/{kind}/{attempts[0]}", foreign)
    makers = [Maker(f"{family}/{kind}/{index}/{attempt}", foreign) for index, attempt in enumerate(attempts)]
    state = maker.text(10, 60)
    one = lambda question: {"state": state, "questions": {"q": question}}
    if group in ("choice", "labels"):
        return one(maker.choice(int(name), described=group == "choice"))
    if group == "score":
        return one(maker.score(int(name)))
    if group == "state":
        return {"state": state_of(maker, name), "questions": {"q": maker.any_question()}}
    if group == "budget":
        max_len, head_max_len = BUDGETS[int(name)]
        return {"state": state_of(maker, maker.random.choice(["turns", "over_long", "paragraph"])),
                "questions": several(makers, "budget"), "max_len": max_len, "head_max_len": head_max_len}
    if group == "several":
        return {"state": state_of(maker, maker.random.choice(["turns", "paragraph", "object"])),
                "questions": several(makers, name)}
    if group == "refused":
        return one(refused(maker, name)) | ({"max_len": 64, "head_max_len": 32} if name == "no_room" else {})
    return one({"noul": noul_of, "instructions": with_instructions, "descriptions": with_descriptions,
                "over": over_budget}[group](maker, name))
