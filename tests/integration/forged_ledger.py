"""Ledger events as a forger makes them: edited, and edited with every digest computed anew."""

import hashlib
import json


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(event):
    """As the ledger's format has it: SHA-256 of the canonical JSON without the digest itself."""
    content = {key: value for key, value in event.items() if key != "digest"}
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def read(folder):
    """[(file, event)], parents before children."""
    waiting = {file: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}
    ordered = []
    while waiting:
        digests = {event["digest"] for event in waiting.values()}
        free = [file for file, event in waiting.items() if not digests & set(event["parents"])]
        for file in free:
            ordered.append((file, waiting.pop(file)))
    return ordered


def rewrite(folder, change):
    """Every event through `change` (None takes it out), then all digests and parents anew."""
    renamed = {}
    for file, event in read(folder):
        old = event["digest"]
        parents = [renamed.get(parent, [parent]) for parent in event["parents"]]
        file.unlink()
        event["parents"] = sorted({p for group in parents for p in group})
        changed = change(event)
        if changed is None:
            renamed[old] = event["parents"]  # its children follow its parents
            continue
        changed["digest"] = digest(changed)
        renamed[old] = [changed["digest"]]
        stem = (changed["utc"].replace("-", "").replace(":", "") + "-" + changed["lock"][:8] + "-" +
                changed["event"])
        file = folder / f"{stem}.json"
        while file.exists():
            file = folder / f"{stem}-{len(renamed)}.json"
        file.write_text(json.dumps(changed))
    return renamed


def edit(file, change):
    event = json.loads(file.read_text())
    change(event)
    file.write_text(json.dumps(event))
    return event
