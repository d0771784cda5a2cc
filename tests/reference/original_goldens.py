"""Goldens of the original package: where they lie, how they are read and written, what they are bound to.

Standard library only. A golden file is JSON lines, plain or as .xz: first a header {"schema", "family", "checkpoint",
"versions", "scripts_sha256", ...}, then one line a request.
"""
import hashlib
import importlib.metadata
import json
import lzma
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "goldens")
LOCK = os.path.join(HERE, "requirements.lock")
SCHEMA = "abba.original/1"
FAMILIES = ("tiny", "english", "typed", "multilingual")
PINNED = ("laya", "torch", "transformers", "tokenizers", "numpy", "safetensors")
SCRIPTS = ("original_oracle.py", "original_model.py", "original_requests.py", "original_decode.py", "original_goldens.py",
           "original_published.py")


class BadFixture(Exception):
    """Says which path was tried and what was wrong with it."""


class NoVocabulary(Exception):
    """The English vocabulary is not installed here."""


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def scripts_digest():
    """Of the scripts that make goldens and of the configurations they make checkpoints from."""
    digest = hashlib.sha256()
    paths = [os.path.join(HERE, name) for name in SCRIPTS]
    for folder, folders, names in os.walk(os.path.join(HERE, "original")):
        folders.sort()
        paths += [os.path.join(folder, name) for name in sorted(names)]
    for path in paths:
        digest.update(os.path.relpath(path, HERE).encode() + b"\n" + sha256_of(path).encode() + b"\n")
    return digest.hexdigest()


def pinned():
    """{name: version} of requirements.lock, for the packages that results depend on."""
    with open(LOCK, encoding="utf-8") as file:
        lines = dict(re.findall(r"^([a-z0-9_.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", file.read(), re.MULTILINE))
    missing = [name for name in PINNED if name not in lines]
    if missing:
        raise BadFixture(f"{LOCK}: does not pin {', '.join(missing)} with version and hash")
    return {name: lines[name] for name in PINNED}


def installed():
    found = {}
    for name in PINNED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write(path, header, items):
    lines = "".join(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n" for value in (header, *items))
    with lzma.open(path, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(lines.encode())


def read(path):
    """(header, requests). Throws BadFixture with the path and the parser's words."""
    try:
        opened = lzma.open(path, "rb") if path.endswith(".xz") else open(path, "rb")
        with opened as file:
            lines = file.read().decode("utf-8").removesuffix("\n").split("\n")  # splitlines knows more line ends than JSON
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as reason:
        raise BadFixture(f"{path}: {reason}") from None
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(json.loads(line))
        except ValueError as reason:
            raise BadFixture(f"{path}, line {number}: {reason}") from None
    if not values or not isinstance(values[0], dict) or values[0].get("schema") != SCHEMA:
        raise BadFixture(f"{path}: the first line must be an object with \"schema\": \"{SCHEMA}\"")
    for number, value in enumerate(values[1:], 2):
        good = isinstance(value, dict) and "request" in value and ("refused" in value or {"rows", "answers"} <= set(value))
        if values[0].get("family") != "decode" and not good:
            raise BadFixture(f"{path}, line {number}: a golden has \"request\" and either \"refused\" or \"rows\" and \"answers\"")
    if len(values) < 2:
        raise BadFixture(f"{path}: holds a header and no request")
    return values[0], values[1:]


def checkpoint_facts(checkpoint):
    return {"path": os.path.abspath(checkpoint), "model_sha256": sha256_of(os.path.join(checkpoint, "model.safetensors")),
            "tokenizer_sha256": sha256_of(os.path.join(checkpoint, "tokenizer", "tokenizer.json"))}


def english_tokenizer(folder):
    """The English vocabulary, from the environment of the tokenizer oracle (./dev setup_oracle)."""
    import oracle_tokenizers

    environment = os.path.join(HERE, "../../.venv")
    try:
        return oracle_tokenizers.write(folder, oracle_tokenizers.english(environment))
    except OSError as reason:
        raise NoVocabulary(f"the English tokenizer cannot be made: {reason}; run ./dev setup_oracle") from None


def multilingual_tokenizer(folder):
    os.makedirs(folder)
    shutil.copy(os.path.join(HERE, "original/multilingual/tokenizer_config.json"), folder)
    with lzma.open(os.path.join(HERE, "original/multilingual/tokenizer.json.xz")) as file:
        with open(os.path.join(folder, "tokenizer.json"), "wb") as out:
            shutil.copyfileobj(file, out)
    return folder


def make_checkpoint(family, laya, folder):
    """(path, facts) of the family's small synthetic checkpoint, made by the program `laya` below `folder`."""
    out, config, tokenizer = os.path.join(folder, family), family, "builtin"
    if family != "tiny":
        config = os.path.join(HERE, "original", family)
        tokenizer = {"multilingual": multilingual_tokenizer}.get(family, english_tokenizer)(os.path.join(folder, "tokenizer"))
    done = subprocess.run([laya, "checkpoint", "make", "--config", config, "--seed", "1", "--tokenizer", tokenizer,
                           "--out", out], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadFixture(f"{laya} checkpoint make --config {config} ended with {done.returncode}: {done.stderr.strip()}")
    if family != "tiny":  # as shipped, temperatures outside of what is allowed included
        shutil.copy(os.path.join(config, "rl_agent_config.json"), out)
    facts = checkpoint_facts(out)
    facts["path"] = f"checkpoint make --config {family} --seed 1"
    return out, facts
