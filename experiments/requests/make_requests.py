#!/usr/bin/env python3
"""Makes the text-level requests of the five warm workloads, the same bytes on every machine.

Each file is the body of POST /v1/systemone: {"state", "questions"}, one question. Their texts are those
whose token rows experiments/fixtures carries under the same names for the English tokenizer (`choice`,
`short_1`, and their sentence repeated in `medium_1`, `long_1`); another tokenizer makes rows of other
lengths of them. Usage:

    make_requests.py [--check]      writes beside this file, or compares and exits 1 on a difference
"""
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCE = "I was charged twice for my order. Please refund the duplicate today."
CHOICE = {"type": "choice", "instructions": "Which team should handle this?",
          "criteria": {"billing": "Charges and refunds", "technical": "Software problems"}}
SCORE = {"type": "score", "instructions": "How urgent is this request?",
         "criteria": ["It can wait", "Within a few days", "It must be solved today"]}
NOUL = {"type": "noul", "instructions": "Does the customer ask for a refund?"}


def requests():
    def body(question, sentences):
        return {"state": " ".join([SENTENCE] * sentences), "questions": {"q": question}}

    return {
        "choice": body(CHOICE, 1),
        "score": body(SCORE, 1),
        "short_1": body(NOUL, 1),
        "medium_1": body(NOUL, 10),
        "long_1": body(NOUL, 30),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check, different = parser.parse_args().check, []
    for name, request in requests().items():
        path = os.path.join(HERE, name + ".json")
        text = json.dumps(request, ensure_ascii=False, indent=1) + "\n"
        if check:
            with open(path, encoding="utf-8") as stream:
                different += [] if stream.read() == text else [name]
        else:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
    if different:
        print("requests that differ from what this program makes: " + ", ".join(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
