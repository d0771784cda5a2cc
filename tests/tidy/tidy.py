#!/usr/bin/env python3
"""The tidy test: reads the tree as text and refuses what the architecture page forbids.

Each rule is a function from a Tree to a list of findings (strings "path:line: message"). A finding whose
file and rule stand in ratchet.json is tolerated up to the count there; fewer findings than that also fail,
so that the counts only ever go down. `--self-test` feeds every rule a tree that breaks it.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = re.compile(r"\.(h|cpp|cu|cuh)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


class Tree:
    """Tracked and new files below a root, as text."""

    def __init__(self, files, layers):
        self.files = files
        self.layers = layers

    @staticmethod
    def of(root):
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.split("\n")
        files = {}
        for path in listing:
            full = os.path.join(root, path)
            if path and os.path.isfile(full) and os.path.getsize(full) < 1 << 20:
                with open(full, encoding="utf-8", errors="replace") as stream:
                    files[path] = stream.read()
        with open(os.path.join(HERE, "layers.json"), encoding="utf-8") as stream:
            return Tree(files, json.load(stream))

    def sources(self, *prefixes):
        for path in sorted(self.files):
            if SOURCE.search(path) and (not prefixes or path.startswith(prefixes)):
                yield path, self.files[path]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def layer_of(path, layers):
    found = [name for name in layers if path.startswith(name + "/")]
    return max(found, key=len) if found else None


def rule_layering(tree):
    layers = tree.layers["layers"]
    for path, text in tree.sources("engine/", "harness/", "experiments/"):
        own = layer_of(path, layers)
        if own is None:
            yield f"{path}:1: lies in no layer of tests/tidy/layers.json"
            continue
        for match in INCLUDE.finditer(text):
            other = layer_of(match.group(1), layers)
            allowed = layers[own]
            wild = other and any(a == "*" or (a.endswith("/*") and other.startswith(a[:-1])) for a in allowed)
            if other and other != own and other not in allowed and not wild:
                yield f"{path}:{line_of(text, match.start(1))}: {own} may not include {other}"


def rule_layers_used(tree):
    """What layers.json allows and nobody does is a door left open."""
    layers = tree.layers["layers"]
    used = collections.defaultdict(set)
    for path, text in tree.sources("engine/", "harness/", "experiments/"):
        for match in INCLUDE.finditer(text):
            used[layer_of(path, layers)].add(layer_of(match.group(1), layers))
    for own, allowed in layers.items():
        if not any(path.startswith(own + "/") for path in tree.files):
            yield f"tests/tidy/layers.json:1: there is no {own}"
        for other in allowed:
            if not other.endswith("*") and other not in used[own]:
                yield f"tests/tidy/layers.json:1: nothing in {own} includes {other}"


def rule_third_party(tree):
    for path, text in tree.sources():
        for match in INCLUDE.finditer(text):
            for prefix, homes in tree.layers["third_party"].items():
                home = any(path.startswith(h) for h in homes) or path.startswith("tests/")
                if match.group(1).startswith(prefix) and not home:
                    yield f"{path}:{line_of(text, match.start(1))}: {prefix} belongs in {', '.join(homes)}"


def rule_harness_words(tree):
    for path, text in sorted(tree.files.items()):
        if not path.startswith("harness/"):
            continue
        for word in tree.layers["harness_forbidden_words"]:
            if any(path.startswith(p) for p in tree.layers["harness_allowed_phrases"].get(word, [])):
                continue
            for match in re.finditer(r"(?<![a-z])" + word + r"s?(?![a-z])", text, re.I):
                yield f"{path}:{line_of(text, match.start())}: \"{word}\" belongs to a worker, not to the harness"


def rule_names(tree):
    banned = re.compile(r"(^|/)(utils?|helpers?|common|manager|misc)(\.|/|$)", re.I)
    for path in sorted(tree.files):
        if banned.search(path):
            yield f"{path}:1: a name that says nothing (utils, helpers, common, manager, misc)"
        if SOURCE.search(path) and not re.fullmatch(r"[a-z0-9_]+\.[a-z]+", os.path.basename(path)):
            yield f"{path}:1: file names are snake_case"


def rule_columns(tree):
    for path, text in tree.sources():
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > 100 and "http" not in line and "R\"" not in line:
                yield f"{path}:{number}: {len(line)} columns, 100 are allowed"


def rule_file_length(tree):
    for path, text in tree.sources():
        length = text.count("\n")
        limit = 400
        # The kit is one header on purpose: a stranger copies one file.
        if length > limit and path != "harness/worker_kit/abba_worker.h":
            yield f"{path}:1: {length} lines, {limit} are allowed"


def functions(text):
    """(line, length) of each brace block that opens at column 0 or 2 after a parameter list."""
    lines = text.split("\n")
    start, indent = None, None
    for number, line in enumerate(lines):
        if start is None:
            opened = re.match(r"^( {0,2})(\S.*)?\{$", line)
            if opened and ")" in "".join(lines[max(0, number - 6):number + 1]) and not re.match(
                    r"^\s*(namespace|class|struct|enum|union|extern)\b", line):
                start, indent = number, len(opened.group(1))
        elif re.match(r"^ {%d}\}" % indent, line):
            yield start + 1, number - start + 1
            start = None


def rule_function_length(tree):
    for path, text in tree.sources():
        limit = 200 if path.endswith((".cu", ".cuh")) else 70
        for line, length in functions(text):
            if length > limit:
                yield f"{path}:{line}: a function of {length} lines, {limit} are allowed"


def rule_forbidden_code(tree):
    patterns = [
        (re.compile(r"std::views\b|std::ranges::views\b"), "clang 14 cannot read std::views", ("",)),
        (re.compile(r"\bgetenv\s*\("), "environment variables are read in cli only",
         ("engine/", "harness/plan", "harness/run", "harness/stats", "harness/store", "harness/report")),
        (re.compile(r"\bshared_ptr\b"), "no shared_ptr in the engine", ("engine/",)),
        (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished work belongs in an issue", ("",)),
        (re.compile(r"^\s*using namespace\b", re.M), "no using namespace", ("",)),
    ]
    for path, text in tree.sources():
        for pattern, message, prefixes in patterns:
            if path.startswith(prefixes):
                for match in pattern.finditer(text):
                    yield f"{path}:{line_of(text, match.start())}: {message}"


def rule_note_codes(tree):
    """A code of a note is written once, in its layer's table; elsewhere its constant is used."""
    for path, text in tree.sources("harness/"):
        if not path.endswith("notes.h"):
            for match in re.finditer(r'"N\d\d\d', text):
                yield f"{path}:{line_of(text, match.start())}: {match.group()[1:]} by hand; use the constant of its notes.h"


def rule_header_opens(tree):
    for path, text in tree.sources("engine/", "harness/", "experiments/"):
        if path.endswith(".h"):
            if not text.startswith(("//", "/*")):
                yield f"{path}:1: a header opens with a comment that says what it is"
            if "#pragma once" not in text and "#ifndef" not in text:
                yield f"{path}:1: no include guard"


def rule_layer_has_tests(tree):
    for layer in tree.layers["layers"]:
        if layer.startswith("experiments/peers"):
            continue
        if any(p.startswith(layer + "/") and p.endswith(".cpp") for p in tree.files):
            name = layer.rsplit("/", 1)[1]
            if not any(p.startswith(f"tests/unit/{name}/") for p in tree.files):
                yield f"{layer}:1: no tests under tests/unit/{name}/"


def rule_requirements(tree):
    text = tree.files.get("tests/requirements.md", "")
    rows = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\|\s*(S[12]-\d\d)\s*\|(.*)\|\s*$", line)
        if match:
            rows.setdefault(match.group(1), []).append((number, match.group(2)))
    wanted = [f"S1-{i:02d}" for i in range(1, 82)] + [f"S2-{i:02d}" for i in range(1, 58)]
    for row in wanted:
        if len(rows.get(row, [])) != 1:
            yield f"tests/requirements.md:1: {row} stands {len(rows.get(row, []))} times, it must stand once"
    for row, entries in rows.items():
        for number, cells in entries:
            delivered = cells.split("|")[-1].strip()
            status = delivered.split(":")[0].split(" ")[0]
            if status not in ("habit", "fact", "open", "by"):
                yield f"tests/requirements.md:{number}: {row} must be delivered by something, or be habit, fact or open"
            for target in re.findall(r"`([^`]+)`", delivered):
                path, _, name = target.partition("#")
                known = path in tree.files or any(p.startswith(path.rstrip("/") + "/") for p in tree.files)
                if not known:
                    yield f"tests/requirements.md:{number}: {row} names {path}, which does not exist"
                elif name and name not in tree.files.get(path, ""):
                    yield f"tests/requirements.md:{number}: {row} names {name}, which is not in {path}"
            if status == "by" and "`" not in delivered:
                yield f"tests/requirements.md:{number}: {row} says \"by\" and names nothing"


def rule_links(tree):
    """Relative links of the pages point at something."""
    for path, text in sorted(tree.files.items()):
        if path.endswith(".md") and not path.startswith(("reports/", "tests/unit/")):
            for match in re.finditer(r"\]\(([^)#]+)(#[^)]*)?\)", text):
                target = match.group(1)
                full = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if "://" not in target and full not in tree.files and not any(
                        p.startswith(full + "/") for p in tree.files):
                    yield f"{path}:{line_of(text, match.start())}: the link {target} leads nowhere"


RULES = {name[5:]: function for name, function in sorted(globals().items()) if name.startswith("rule_")}

BROKEN = {
    "layering": {"engine/base/a.h": '#include "harness/record/plan.h"\n'},
    "layers_used": {"engine/base/a.h": ""},
    "third_party": {"harness/run/a.cpp": "#include <sqlite3.h>\n"},
    "harness_words": {"harness/run/a.cpp": "// counts tokens\n"},
    "names": {"engine/base/utils.h": ""},
    "columns": {"engine/base/a.h": "x" * 101 + "\n"},
    "file_length": {"engine/base/a.cpp": "\n" * 401},
    "function_length": {"engine/base/a.cpp": "void f() {\n" + "  g();\n" * 80 + "}\n"},
    "forbidden_code": {"engine/cpu/a.cpp": "const char* x = std::getenv(\"A\");\n"},
    "note_codes": {"harness/run/a.cpp": 'f("N090: none");\n'},
    "header_opens": {"engine/base/a.h": "int x;\n"},
    "layer_has_tests": {"engine/base/a.cpp": ""},
    "requirements": {"tests/requirements.md": "| S1-01 | x | by `nowhere.cpp` |\n"},
    "links": {"README.md": "[x](nowhere.md)\n"},
}


def self_test(layers):
    dead = [name for name, rule in RULES.items() if not list(rule(Tree(BROKEN.get(name, {}), layers)))]
    for name in dead:
        print(f"tidy: the rule {name} does not flag the tree made to break it")
    print(f"tidy self-test: {len(RULES) - len(dead)} of {len(RULES)} rules flag their canary")
    return 1 if dead else 0


def judge(findings, ratchet):
    """Findings beyond the tolerated counts, and counts that are no longer needed."""
    grouped = collections.defaultdict(list)
    for rule, finding in findings:
        grouped[f"{rule} {finding.split(':')[0]}"].append(finding)
    problems = []
    for key in sorted(set(grouped) | set(ratchet)):
        have, allowed = len(grouped.get(key, [])), ratchet.get(key, 0)
        if have > allowed:
            problems += [f"[{key.split(' ')[0]}] {text}" for text in grouped[key]]
        elif have < allowed:
            problems.append(f"[ratchet] \"{key}\": {have} findings left, lower the count in tests/tidy/ratchet.json from {allowed}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("--rule", choices=sorted(RULES))
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    tree = Tree.of(options.root)
    if options.self_test:
        return self_test(tree.layers)
    with open(os.path.join(HERE, "ratchet.json"), encoding="utf-8") as stream:
        ratchet = json.load(stream)
    names = [options.rule] if options.rule else sorted(RULES)
    ratchet = {key: count for key, count in ratchet.items() if key.split(" ")[0] in names}
    problems = judge([(name, f) for name in names for f in RULES[name](tree)], ratchet)
    for problem in problems:
        print(problem)
    print(f"tidy: {len(names)} rules over {len(tree.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
