#!/usr/bin/env python3
"""list_discrepancies.py FILE...: writes known_discrepancies.json beside this file from the lines that
ABBA_RECORD_DISCREPANCIES collected. Entries of other (backend, precision, config, fixture) stay; of one
recorded more than once the largest stays. Review the change before you commit it: a value may only get
worse for a reason that the commit states."""
import json
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_discrepancies.json")


def key(entry):
    return tuple(entry[name] for name in ("backend", "precision", "config", "fixture"))


def main():
    with open(PATH, encoding="utf-8") as stream:
        known = json.load(stream)
    recorded = {}
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as stream:
            for line in stream:
                entry = json.loads(line)
                if key(entry) not in recorded or entry["nrms"] > recorded[key(entry)]["nrms"]:
                    recorded[key(entry)] = entry
    entries = {key(entry): entry for entry in known["discrepancies"]}
    entries.update(recorded)
    known["discrepancies"] = [entries[name] for name in sorted(entries)]
    head = {name: value for name, value in known.items() if name != "discrepancies"}
    text = json.dumps(head, indent=2)[:-2] + ',\n  "discrepancies": [\n'
    text += ",\n".join("    " + json.dumps(entry) for entry in known["discrepancies"]) + "\n  ]\n}\n"
    with open(PATH, "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
