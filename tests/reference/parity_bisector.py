#!/usr/bin/env python3
"""parity_bisector.py --checkpoint DIR --fixtures DIR --fixture NAME [--engine PROGRAM] --out DIR

Where do bf16 implementations of one network part, and which rounding does it? A network of plain PyTorch
operations is built from the checkpoint that the engine reads, in fp32 and by the engine's bf16 recipe; each
switch of the recipe is flipped by itself (rotation table, window, GeGLU, final norm, bias, softmax, fast-math).
The stock library's model (transformers, fp32 and bf16 autocast) and the engine (PROGRAM = abba_layers, CPU and
CUDA) are laid beside it. Every curve is the nRMS of the residual stream over the valid tokens, once over all
channels and once without the outlier channels (|ref| > 50 x the median channel RMS), against fp32 and against
the unflipped recipe. Writes curves.json and report.md into DIR. Needs torch and safetensors; transformers may
be missing, and the report then says so.
"""
import argparse
import dataclasses
import json
import os
import subprocess
import sys

import torch
from safetensors.torch import load_file

LIMIT = 0.005  # the seeds' nRMS limit
SEED_VALUE = 0.00725476  # what the first document reports at layer 27
OUTLIER_FACTOR = 50.0
HEAD = 64


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What is rounded, and how. `half` off means fp32 throughout."""
    half: bool = True
    rope_table: str = "bf16"      # bf16 | fp32
    window: int = 64              # |i - j| <= window
    geglu: str = "once"           # once | each: u, gelu and product rounded
    final_norm: str = "bf16"      # bf16 | fp32, the type embedding alike
    bias: str = "once"            # once | twice: product and sum
    softmax: str = "after"        # after: bf16(p) then / l | before: bf16(p / l)
    fast_math: bool = False       # exp by exp2, approximate erf and rsqrt, subnormals flushed


BASE = Recipe()
SWITCHES = {
    "rope table fp32": {"rope_table": "fp32"},
    "window 65": {"window": 65},
    "window 63": {"window": 63},
    "GeGLU rounded at each step": {"geglu": "each"},
    "final norm and type embedding fp32": {"final_norm": "fp32"},
    "bias rounded twice": {"bias": "twice"},
    "softmax normalised before rounding": {"softmax": "before"},
    "fast-math": {"fast_math": True},
    "all of the stock library's": {"rope_table": "fp32", "geglu": "each", "final_norm": "fp32", "softmax": "before"},
}


class Network:
    """The definition of the model in PyTorch operations; products in fp32 on rounded operands."""

    def __init__(self, folder, device):
        with open(os.path.join(folder, "encoder", "config.json"), encoding="utf-8") as stream:
            self.config = json.load(stream)
        self.device = device
        raw = load_file(os.path.join(folder, "model.safetensors"))
        self.raw = {name: tensor.float().to(device) for name, tensor in raw.items()}
        self.layers = self.config["num_hidden_layers"]
        self.heads = self.config["num_attention_heads"]
        kinds = self.config.get("layer_types")
        every = self.config.get("global_attn_every_n_layers", 3)
        self.full = [kinds[i] == "full_attention" if kinds else i % every == 0 for i in range(self.layers)]
        self.recipe = BASE

    def round(self, x):
        return x.bfloat16().float() if self.recipe.half else x

    def weight(self, name):
        return self.round(self.raw[name])

    def linear(self, x, name, bias=None):
        y = x @ self.weight(name).T
        if bias is None:
            return self.round(y)
        if self.recipe.bias == "twice":
            y = self.round(y)
        return self.round(y + self.weight(bias))

    def norm(self, x, gain, bias=None):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5
        scale = torch.rsqrt(variance) if self.recipe.fast_math else 1 / torch.sqrt(variance)
        y = (x - mean) * scale * self.raw[gain]
        return y if bias is None else y + self.raw[bias]

    def gelu(self, x):
        if not self.recipe.fast_math:
            return torch.nn.functional.gelu(x)
        # Abramowitz and Stegun 7.1.26: |error| <= 1.5e-7, as a fast-math erf might be.
        z = x.abs() * 0.70710678
        t = 1 / (1 + 0.3275911 * z)
        poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
        erf = torch.copysign(1 - poly * self.exp(-z * z), x)
        return 0.5 * x * (1 + erf)

    def exp(self, x):
        return torch.exp2(x * 1.44269504) if self.recipe.fast_math else torch.exp(x)

    def table(self, length, theta):
        pairs = torch.arange(32, dtype=torch.float64)
        frequency = 1.0 / (float(theta) ** (pairs / 32)).float()
        angle = torch.arange(length, dtype=torch.float32)[:, None] * frequency[None, :]
        cos, sin = angle.double().cos().float().to(self.device), angle.double().sin().float().to(self.device)
        if self.recipe.half and self.recipe.rope_table == "bf16":
            cos, sin = cos.bfloat16().float(), sin.bfloat16().float()
        return cos[:, None, :], sin[:, None, :]

    def rotate(self, x, table):
        cos, sin = table
        low, high = x[..., :32], x[..., 32:]
        return self.round(torch.cat([low * cos - high * sin, high * cos + low * sin], -1))

    def attend(self, q, k, v, visible):
        scores = torch.einsum("blhd,bmhd->bhlm", q, k) * 0.125
        scores = scores.masked_fill(~visible, -1e30)
        p = self.exp(scores - scores.amax(-1, keepdim=True))
        total = p.sum(-1, keepdim=True)
        if not self.recipe.half:
            weights, total = p / total, 1.0
        elif self.recipe.softmax == "before":
            weights, total = self.round(p / total), 1.0
        else:
            weights = self.round(p)
        out = torch.einsum("bhlm,bmhd->bhld", weights, v) / total
        return self.round(out.permute(0, 2, 1, 3).reshape(q.shape[0], q.shape[1], -1))

    def thetas(self):
        rope = self.config.get("rope_parameters", {})
        full = rope.get("full_attention", {}).get("rope_theta", self.config.get("global_rope_theta", 160000.0))
        local = rope.get("sliding_attention", {}).get("rope_theta", self.config.get("local_rope_theta", 10000.0))
        return full, local

    def masks(self, lengths, tokens):
        position = torch.arange(tokens, device=self.device)
        keys = (position[None, :] < lengths[:, None])[:, None, None, :]
        near = (position[:, None] - position[None, :]).abs() <= self.recipe.window
        # A padded query may see nothing: it sees key 0, and nobody reads it.
        first = position[None, None, None, :] == 0
        return keys, (keys & near[None, None]) | (first & ~(keys & near[None, None]).any(-1, keepdim=True))

    def run(self, recipe, ids, lengths, types):
        """{stage: [B, L, D]} of every residual stream."""
        self.recipe = recipe
        stages = {}
        batch, tokens = ids.shape
        x = self.norm(self.raw["encoder.embeddings.tok_embeddings.weight"][ids],
                      "encoder.embeddings.norm.weight")
        stages["embedding"] = x
        full, near = self.masks(lengths, tokens)
        tables = [self.table(tokens, theta) for theta in self.thetas()]
        for i in range(self.layers):
            p = f"encoder.layers.{i}."
            a = x if i == 0 else self.norm(x, p + "attn_norm.weight")
            qkv = self.linear(self.round(a), p + "attn.Wqkv.weight").view(batch, tokens, 3, self.heads, HEAD)
            table = tables[0 if self.full[i] else 1]
            q, k = self.rotate(qkv[:, :, 0], table), self.rotate(qkv[:, :, 1], table)
            o = self.attend(q, k, qkv[:, :, 2], full if self.full[i] else near)
            x = x + self.linear(o, p + "attn.Wo.weight")
            m = self.round(self.norm(x, p + "mlp_norm.weight"))
            u = m @ self.weight(p + "mlp.Wi.weight").T
            if recipe.half and recipe.geglu == "each":
                u = self.round(u)
            half = u.shape[-1] // 2
            active = self.gelu(u[..., :half])
            if recipe.half and recipe.geglu == "each":
                active = self.round(active)
            x = x + self.linear(self.round(active * u[..., half:]), p + "mlp.Wo.weight")
            stages[f"encoder.{i}"] = x
        h = self.norm(x, "encoder.final_norm.weight")
        kind = self.raw["type_emb.weight"]
        if recipe.half and recipe.final_norm == "bf16":
            h, kind = self.round(h), self.round(kind)
        stages["final"] = h
        x = h + kind[types][:, None, :]
        j = 0
        while f"head.layers.{j}.linear1.weight" in self.raw:
            x = self.decision_layer(f"head.layers.{j}.", x, full, batch, tokens)
            stages[f"decision.{j}"] = x
            j += 1
        return {name: value.reshape(-1, value.shape[-1]) for name, value in stages.items()}

    def decision_layer(self, p, x, visible, batch, tokens):
        y = self.round(self.norm(x, p + "norm1.weight", p + "norm1.bias"))
        qkv = self.linear(y, p + "self_attn.in_proj_weight", p + "self_attn.in_proj_bias")
        qkv = qkv.view(batch, tokens, 3, self.heads, HEAD)
        o = self.attend(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], visible)
        x = x + self.linear(o, p + "self_attn.out_proj.weight", p + "self_attn.out_proj.bias")
        y = self.round(self.norm(x, p + "norm2.weight", p + "norm2.bias"))
        y = torch.relu(self.linear(y, p + "linear1.weight", p + "linear1.bias"))
        return x + self.linear(y, p + "linear2.weight", p + "linear2.bias")


def read_fixture(folder, name, device):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as stream:
        fixture = json.load(stream)
    rows, tokens = fixture["rows"], fixture["length"]
    # Rows that only pad the batch repeat nothing: the engine pads with short rows of its own, so the
    # comparison takes the real ones.
    ids = torch.full((len(rows), tokens), fixture["pad_id"], dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, :len(row["ids"])] = torch.tensor(row["ids"])
    lengths = torch.tensor([len(row["ids"]) for row in rows])
    types = torch.tensor([row["type"] for row in rows])
    return ids.to(device), lengths.to(device), types.to(device)


def stock_stages(network, ids, lengths, autocast):
    """The stock library's encoder on the same weights, by hooks; raises what the library raises."""
    from transformers import ModernBertConfig, ModernBertModel
    config = ModernBertConfig(**{k: v for k, v in network.config.items() if k not in ("model_type", "architectures")})
    config._attn_implementation = "sdpa"
    model = ModernBertModel(config).to(network.device).float().eval()
    own = {name[len("encoder."):]: value for name, value in network.raw.items() if name.startswith("encoder.")}
    missing, unexpected = model.load_state_dict(own, strict=False)
    missing = [name for name in missing if "rotary" not in name and "inv_freq" not in name]
    if missing or unexpected:
        raise RuntimeError(f"the library's names differ: missing {missing[:3]}, unexpected {unexpected[:3]}")
    stages = {}

    def keep(name):
        def hook(_module, _inputs, output):
            value = output[0] if isinstance(output, tuple) else output
            stages[name] = value.detach().float().reshape(-1, value.shape[-1])
        return hook

    model.embeddings.register_forward_hook(keep("embedding"))
    for i, layer in enumerate(model.layers):
        layer.register_forward_hook(keep(f"encoder.{i}"))
    model.final_norm.register_forward_hook(keep("final"))
    mask = (torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]).long()
    with torch.autocast("cuda" if ids.is_cuda else "cpu", dtype=torch.bfloat16, enabled=autocast):
        model(input_ids=ids, attention_mask=mask)
    return stages


def engine_stages(program, config, fixture, backend, precision, out, rows, device):
    path = os.path.join(out, f"engine_{backend}_{precision}.safetensors")
    command = [program, "--config", config, "--fixture", fixture, "--backend", backend,
               "--precision", precision, "--out", path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    stages = {name: value.to(device)[:rows] for name, value in load_file(path).items()}
    os.remove(path)
    return stages


def plain_channels(reference):
    rms = reference.pow(2).mean(0).sqrt()
    return reference.abs().amax(0) <= OUTLIER_FACTOR * rms.median()


def nrms(value, reference):
    value, reference = value.double(), reference.double()
    return ((value - reference).pow(2).sum() / reference.pow(2).sum()).sqrt().item()


def curve(stages, reference, valid):
    """{stage: (all channels, without outliers)} for the stages both have."""
    found = {}
    for name, wanted in reference.items():
        if name in stages and stages[name].shape == wanted.shape:
            value, wanted = stages[name][valid], wanted[valid]
            plain = plain_channels(wanted)
            found[name] = (nrms(value, wanted), nrms(value[:, plain], wanted[:, plain]))
    return found


def table(curves, shown, which):
    lines = ["| what | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for name, found in curves.items():
        cells = [f"{found[s][which]:.6f}" if s in found else "–" for s in shown]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def verdicts(against_fp32, against_base, last):
    lines = []
    base = against_fp32["recipe"][last][1]
    for name in SWITCHES:
        own, apart = against_fp32[name][last][1], against_base[name][last][1]
        words = []
        if (own > LIMIT) != (base > LIMIT):
            words.append(f"moves the distance to fp32 {'past' if own > LIMIT else 'back within'} {LIMIT}")
        if apart > LIMIT:
            words.append(f"by itself is {apart:.5f} away from the unflipped recipe, more than {LIMIT}")
        lines.append(f"- {name}: " + ("; ".join(words) if words else
                     f"no crossing (fp32 {own:.5f} against {base:.5f}; {apart:.5f} from the recipe)"))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--fixture", default="score")
    parser.add_argument("--engine")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = Network(arguments.checkpoint, device)
    ids, lengths, types = read_fixture(arguments.fixtures, arguments.fixture, device)
    valid = (torch.arange(ids.shape[1], device=device)[None, :] < lengths[:, None]).reshape(-1)
    reference = network.run(Recipe(half=False), ids, lengths, types)
    base = network.run(BASE, ids, lengths, types)
    runs, notes = {"recipe": base}, []
    for name, change in SWITCHES.items():
        runs[name] = network.run(dataclasses.replace(BASE, **change), ids, lengths, types)
    for name, autocast in (("stock library fp32", False), ("stock library bf16 autocast", True)):
        try:
            runs[name] = stock_stages(network, ids, lengths, autocast)
        except Exception as error:  # whatever a library of another version raises
            notes.append(f"{name}: could not be run: {type(error).__name__}: {error}")
    if arguments.engine:
        config = os.path.basename(os.path.normpath(arguments.checkpoint))
        for backend in ("cuda", "cpu"):
            for precision in ("fp32", "bf16"):
                name = f"engine {backend} {precision}"
                try:
                    runs[name] = engine_stages(arguments.engine, config, arguments.fixture, backend, precision,
                                               arguments.out, valid.numel(), device)
                except RuntimeError as error:
                    notes.append(f"{name}: could not be run: {error}")
    against_fp32 = {name: curve(stages, reference, valid) for name, stages in runs.items()}
    against_base = {name: curve(stages, base, valid) for name, stages in runs.items() if name != "recipe"}
    against_stock = {name: curve(stages, runs["stock library bf16 autocast"], valid)
                     for name, stages in runs.items() if "stock library bf16 autocast" in runs}
    last = f"encoder.{network.layers - 1}"
    picks = sorted({0, 1, 2, network.layers // 3, 2 * network.layers // 3, network.layers - 1})
    shown = ["embedding"] + [f"encoder.{i}" for i in picks] + ["final", "decision.0", "decision.1"]
    versions = f"torch {torch.__version__}"
    try:
        import transformers
        versions += f", transformers {transformers.__version__}"
    except ImportError:
        pass
    device_name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    text = [f"# Where bf16 implementations part: {arguments.fixture}, {os.path.basename(arguments.checkpoint)}", "",
            f"{versions} on {device_name}; {int(valid.sum())} valid tokens; limit {LIMIT}, the first document's "
            f"value {SEED_VALUE}. nRMS of the residual stream.", "",
            "## Against fp32, outlier channels left out", "", table(against_fp32, shown, 1), "",
            "## Against fp32, every channel", "", table(against_fp32, shown, 0), "",
            "## Against the engine's recipe, outlier channels left out", "", table(against_base, shown, 1), "",
            "## Against the stock library under bf16 autocast, outlier channels left out", "",
            table(against_stock, shown, 1) if against_stock else "It could not be run.", "",
            f"## One switch at a time, at {last}", "", verdicts(against_fp32, against_base, last), ""]
    text += [f"Not run: {note}" for note in notes]
    with open(os.path.join(arguments.out, "report.md"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(text) + "\n")
    with open(os.path.join(arguments.out, "curves.json"), "w", encoding="utf-8") as stream:
        json.dump({"fixture": arguments.fixture, "versions": versions, "device": device_name,
                   "limit": LIMIT, "notes": notes, "against_fp32": against_fp32, "against_recipe": against_base,
                   "against_stock_bf16": against_stock}, stream, indent=1)
    print("\n".join(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
