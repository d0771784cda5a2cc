#!/usr/bin/env python3
"""abba.recompute/1: effects and intervals of a run file from its raw samples, and whether the stored ones agree.
    python3 recompute.py [RUN.sqlite[.xz]]      exit 1 if a number differs by more than 1e-9 of itself
Written from the description of the method, apart from the program that measured: standard library only, no view of
the file; of the stored analysis it takes the level of the deciding interval. Prints JSON.
"""
import json, lzma, math, os, sqlite3, statistics, sys, tempfile

def document(db, name):
    found = db.execute("SELECT text FROM document WHERE name = ? ORDER BY entry DESC LIMIT 1", [name]).fetchone()
    return json.loads(found[0]) if found else {}

def slot_times(db, slot, boundary, success):
    """{seq: (value, start)} of the measured requests that succeeded, in order of seq."""
    inner, metric, wanted = None, success["metric"], success["boundary"]
    if metric not in ("", "latency"):
        inner = dict(db.execute("SELECT seq, value FROM value WHERE slot = ? AND metric = ? ORDER BY ordinal",
                                [slot, metric]))
    elif wanted not in ("", boundary):
        inner = dict(db.execute("SELECT seq, sum(duration_ns) FROM span WHERE slot = ? AND name = ? AND seq >= 0 "
                                "GROUP BY seq", [slot, wanted]))
    query = "SELECT seq, duration_ns, t_start_ns FROM sample WHERE slot = ? AND NOT warmup AND status = 0 ORDER BY seq"
    found = db.execute(query, [slot])
    values = {seq: (time if inner is None else inner.get(seq) or 0, start) for seq, time, start in found}
    return {seq: value for seq, value in values.items() if value[0] > 0}

def joined(items):
    """Neighbours in opposite order become one contrast, their mean: a linear drift cancels in it."""
    result = []
    while items:
        value, order = items.pop(0)
        if items and len(order) == len(items[0][1]) == 2 and items[0][1] != order:
            value = (value + items.pop(0)[0]) / 2
        result.append(value)
    return result

def block_items(db, block, boundary, planned, success):
    """The block's contrasts log(B/A) with the order of what each compares; none if a slot holds nothing."""
    slots = db.execute("SELECT arm, id FROM slot WHERE block = ? ORDER BY position", [block]).fetchall()
    times = [(arm, slot_times(db, slot, boundary, success)) for arm, slot in slots]
    if {arm for arm, _ in times} != {"A", "B"} or not all(values for _, values in times):
        return []
    if len(times) == 2 and (len(planned) > 2 or success["interleaved"]):  # single requests alternate
        a, b = dict(times)["A"], dict(times)["B"]
        pairs = [(math.log(b[q][0] / a[q][0]), "AB" if a[q][1] <= b[q][1] else "BA") for q in a if q in b]
        return [(value, "whole") for value in joined(pairs)]
    level = {"A": [], "B": []}
    for arm, values in times:
        level[arm].append(math.log(statistics.fmean(v for v, _ in values.values())) if success["higher"] else
                          statistics.median(math.log(v) for v, _ in values.values()))
    same = "".join(arm for arm, _ in times) == planned
    return [(statistics.fmean(level["B"]) - statistics.fmean(level["A"]), planned)] if same else []

def hodges_lehmann(values):
    return statistics.median((a + b) / 2 for i, a in enumerate(values) for b in values[i:])

def pass_values(db, workload, success, plan, workloads):
    """The value of every whole measured pass, in their order."""
    planned = {p["index"]: [b["workload"] for b in p["blocks"]] for p in plan["passes"] if p["phase"] == "measured"}
    result = []
    query = "SELECT id, position FROM pass WHERE phase = 'measured' AND NOT superseded ORDER BY position"
    for number, index in db.execute(query).fetchall():
        blocks = db.execute("SELECT workload, taint, id, boundary, slot_order FROM block WHERE pass = ? AND NOT failed "
                            "ORDER BY id", [number]).fetchall()
        sound = [block[0] for block in blocks]
        if any(sound.count(w) < max(1, planned.get(index, []).count(w)) for w in workloads):
            continue  # interrupted
        found = [(b[1], block_items(db, *b[2:], success)) for b in blocks if b[0] == workload]
        usable = [items for taint, items in found if items and not taint] or [items for _, items in found if items]
        if usable:
            result.append(hodges_lehmann(joined([item for items in usable for item in items])))
    return result

def student_within(t, n):
    """P(|T| < t) with n degrees of freedom: the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    theta, term, total = math.atan(t / math.sqrt(n)), 1.0, 0.0
    for k in range(2 + n % 2, n + 1, 2):
        total, term = total + term, term * (k - 1) / k * math.cos(theta) ** 2
    sine = math.sin(theta) * total
    return sine if n % 2 == 0 else 2 / math.pi * (theta + math.cos(theta) * sine)

def interval(values, level):
    low, high = 0.0, 1e9
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if student_within(middle, len(values) - 1) < level else (low, middle)
    mean, half = statistics.fmean(values), low * statistics.stdev(values) / math.sqrt(len(values))
    return {"low": math.expm1(mean - half), "high": math.expm1(mean + half)}

def recompute(db):
    manifest, plan, stored = (document(db, name) for name in ("manifest_fields", "plan", "analysis"))
    metrics = [m for arm in "AB" for m in document(db, "hello/" + arm).get("metrics", [])]
    higher = any(m["name"] == manifest["success"]["metric"] and "higher" in m["direction"] for m in metrics)
    success = dict(manifest["success"], higher=higher, interleaved=manifest["protocol"]["order"] == "interleaved")
    workloads = [w["id"] for w in manifest["workloads"]]
    for workload, old in zip(workloads, stored.get("verdicts", [{}] * len(workloads))):
        effects = pass_values(db, workload, success, plan, workloads)
        new = {"passes": len(effects), "effect": math.expm1(statistics.fmean(effects)) if effects else 0}
        if len(set(effects)) > 1:
            new["hodges_lehmann"] = math.expm1(hodges_lehmann(effects))
            levels = {"plain95": 0.95, "deciding": old.get("deciding", {}).get("level", 0)}
            new.update((key, interval(effects, level)) for key, level in levels.items() if level)
        yield workload, new, old

def differences(new, old, where):
    if isinstance(new, dict):
        return [d for key in new if key in old for d in differences(new[key], old[key], where + " " + key)]
    same = abs(new - old) <= 1e-9 * max(abs(new), abs(old), 1e-3)
    return [] if same else [f"{where} is stored as {old}, the samples give {new}"]

def main(path="run.sqlite.xz"):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "run.sqlite"), "wb", 0) as plain:
        plain.write((lzma.open(path) if path.endswith(".xz") else open(path, "rb")).read())
        found = list(recompute(sqlite3.connect(plain.name)))
    wrong = [d for workload, new, old in found for d in differences(new, old, workload)]
    print(json.dumps({workload: new for workload, new, _ in found}, indent=2))
    print("\n".join(wrong) or "every stored effect and interval follows from the samples", file=sys.stderr)
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
