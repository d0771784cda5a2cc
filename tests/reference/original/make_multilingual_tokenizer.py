#!/usr/bin/env python3
"""Makes multilingual/tokenizer.json.xz: a small Metaspace BPE with byte fallback, trained on the words of the
requests and on the text of this Python installation. Committed, because another installation gives another one.

    .venv/bin/python tests/reference/original/make_multilingual_tokenizer.py
"""
import json
import lzma
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import oracle_strings  # noqa: E402
import oracle_tokenizers  # noqa: E402
from original_requests import CODE, WORDS, Maker  # noqa: E402


def as_package_reads(content, lstrip):
    return {"__type": "AddedToken", "content": content, "lstrip": lstrip, "rstrip": False, "single_word": False,
            "normalized": False, "special": True}


def main():
    maker = Maker("tokenizer", 0.5)
    texts = [maker.text(20, 60) for _ in range(4000)] + [CODE] * 20 + WORDS["other"] * 20
    texts += [line for whole in oracle_strings.library_text() for line in whole.split("\n")[:4000]]
    tokenizer, config = oracle_tokenizers.multilingual(texts)
    folder = os.path.join(HERE, "multilingual")
    with lzma.open(os.path.join(folder, "tokenizer.json.xz"), "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode())
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump(config | {"tokenizer_class": "PreTrainedTokenizerFast", "sep_token": as_package_reads("<eos>", False),
                            "mask_token": as_package_reads("<mask>", True)}, file, indent=2)
    path = os.path.join(folder, "encoder", "config.json")
    with open(path, encoding="utf-8") as file:
        encoder = json.load(file)
    largest = max([*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])])
    encoder["vocab_size"] = (largest // 64 + 1) * 64
    with open(path, "w", encoding="utf-8") as file:
        json.dump(encoder, file, indent=2)


if __name__ == "__main__":
    main()
