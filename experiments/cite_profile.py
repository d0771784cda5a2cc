#!/usr/bin/env python3
"""cite_profile.py [--supersede] [FOLDER]: cites the committed baseline profile as evidence in the H200 manifests.

FOLDER (reports/baseline_profile_h200) holds what `abba-laya profile` wrote: short_1.json,
hook12_student.json. Each manifest gets one line "evidence": {run, row, share}: run is the SHA-256 of the
profile, row the rows its factor can touch, share what they take of the measured request. Run it before
`abba register`: a registered manifest may not change, unless --supersede says that it will be registered again."""

import argparse
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGLISH, HOOK = "short_1", "hook12_student"
# manifest -> profile, the operations (by their beginnings) that its factor can touch
CITED = {
    "rope_dispatch_h200": (ENGLISH, ["rope["]),
    "rope_index_h200": (HOOK, ["rope["]),
    "attention_output_h200": (HOOK, ["transpose_heads"]),
    "bias_h200": (HOOK, ["add_bias["]),
    "head_marker_rows_h200": (HOOK, []),
    "upload_h200": (ENGLISH, ["upload["]),
    "handles_h200": (ENGLISH, None),
    "hook12_h200": (HOOK, []),
}


def evidence(folder, profile, ops):
    text = (folder / f"{profile}.json").read_bytes()
    data = json.loads(text)
    found = {"run": hashlib.sha256(text).hexdigest()}
    if ops is None:
        found["row"] = f"{profile}: host time to start {data['measured']['launches']} launches"
        found["share"] = min(1, round(data["measured"]["issue_ns"] / data["measured"]["model_ns"], 4))
    elif ops:
        rows = [r for r in data["rows"] if r["calls"] > 0 and r["op"].startswith(tuple(ops))]
        found["row"] = f"{profile}: " + ", ".join(sorted({r["op"] for r in rows}))
        found["share"] = round(sum(r["share"] for r in rows), 4)
    else:
        found["row"] = f"{profile}: the whole table, of which the last decision layer is a part"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--supersede", action="store_true")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "reports/baseline_profile_h200")
    options = parser.parse_args()
    for name, (profile, ops) in CITED.items():
        line = f'  "evidence": {json.dumps(evidence(options.folder, profile, ops))},\n'
        for file in (ROOT / "manifests" / f"{name}.json", ROOT / "manifests" / f"{name}_standard.json"):
            if not options.supersede and file.with_name(file.stem + ".lock.json").exists():
                sys.exit(f"cite_profile: {file.name} is registered already and may not change")
            text = re.sub(r'^  "evidence": .*\n', "", file.read_text(), flags=re.M)
            text = re.sub(r'^(  "prior_data": .*\n)', lambda m: m.group(1) + line, text, flags=re.M)
            file.write_text(text)


main()
