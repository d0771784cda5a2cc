"""The original package on one checkpoint: rows, raw logits, answers, and whether fp32 decides their digits.

Needs laya and torch (original_oracle.py --install). The rows are taken where the package hands them to its own
model, by a hook on the module, so that nothing of the package is replaced or repeated here.
"""
import copy
import itertools
import math
import os

# Logits that move by this much in any direction must leave every published digit where it is; otherwise the
# order of fp32 additions, which no two programs share, would decide a digit. The logit gate is 2e-4; seen are
# 2.5e-5 at most, with the products of AVX-512 and of AVX2, and no digit that differs.
DECIDED_LOGIT = 1e-5
DIRECTIONS = 24


def load(checkpoint, threads=1):
    """The package's Agent in fp32 on the CPU, without autocast."""
    os.environ.pop("LAYA_CPU_AMP", None)
    import laya
    import torch

    torch.set_num_threads(threads)
    agent = laya.load(checkpoint, device="cpu")
    if getattr(agent, "amp_enabled", False):
        raise RuntimeError("the package would run autocast on this CPU; fp32 is wanted")
    return agent


def short(value):
    """A float32 as the shortest decimal that reads back as the same float32."""
    return float("%.9g" % value)


class Original:
    """One checkpoint; answer(request) gives what a golden holds."""

    def __init__(self, checkpoint, threads=1):
        self.agent = load(checkpoint, threads)
        self.calls = []
        self.agent.model.register_forward_hook(lambda module, inputs, output: self.calls.append((inputs, output)))
        self.double = copy.deepcopy(self.agent.model).double()
        self.double.act_head.float()
        self.double._forward_hooks.clear()

    def answer(self, request):
        """{"rows", "answers", "usage"}, or {"refused": reason}."""
        options = {key: request[key] for key in ("max_len", "head_max_len") if key in request}
        self.calls.clear()
        try:
            result = self.agent.system_one(copy.deepcopy(request["state"]), copy.deepcopy(request["questions"]), **options)
        except (ValueError, TypeError) as reason:
            return {"refused": f"{type(reason).__name__}: {reason}"}
        rows = [row for inputs, output in self.calls for row in self.rows_of(inputs, output)]
        for row, (key, answer) in zip(rows, result["answers"].items()):
            row["p"] = self.probabilities(row, answer, key)
        return {"rows": rows, "answers": result["answers"], "usage": result.get("usage")}

    @staticmethod
    def rows_of(inputs, output):
        ids, attention, markers, used, kinds = (tensor.cpu() for tensor in inputs[:5])
        logits, act = output
        for index in range(ids.shape[0]):
            count, options = int(attention[index].sum()), int(used[index].sum())
            yield {"ids": ids[index, :count].tolist(), "markers": markers[index, :options].tolist(),
                   "type": int(kinds[index]), "logits": [short(x) for x in logits[index, :options].tolist()],
                   "act": [short(x) for x in act[index].tolist()]}

    def temperature(self, row):
        from laya import common

        key = common.temp_bucket(row["type"], len(row["logits"]))
        return self.agent.temperature_by_options.get(key, self.agent.temperature[row["type"]])

    def probabilities(self, row, answer, key):
        """Before rounding, float32; they must round to what the package published."""
        import numpy as np

        z = np.asarray(row["logits"], dtype=np.float32) / self.temperature(row)
        p = np.exp(z - z.max())
        p = p / p.sum()
        published = [answer["noul"]] if row["type"] == 2 else list(answer["probabilities"].values())
        mine = [round(float(x), 4) for x in (p[1:] if row["type"] == 2 else p)]
        if published != mine:
            raise RuntimeError(f"question {key!r}: the package published {published}, its logits give {mine}")
        return [short(x) for x in p]

    def undecided(self, golden):
        """Indices of the questions of which a published digit changes when the logits move by DECIDED_LOGIT."""
        inputs = [call[0] for call in self.calls]
        exact = [row for call in inputs for row in self.rows_of(call, self.double(*call))]
        rows = enumerate(zip(golden["rows"], exact))
        return [index for index, (row, double) in rows if not self.row_is_decided(row, double)]

    def row_is_decided(self, row, double):
        wanted = digits(row["type"], row["logits"], row["act"], self.temperature(row))
        for direction in range(DIRECTIONS):
            moved = [[value + (0 if direction == 0 else sign(index, direction) * DECIDED_LOGIT)
                      for index, value in enumerate(double[part])] for part in ("logits", "act")]
            if digits(row["type"], *moved, self.temperature(row)) != wanted:
                return False
        return True


def sign(index, direction):
    """A fixed pattern of signs; over the directions every pair of options moves apart and together."""
    return 1 if (index * (2 * direction + 1) + direction * direction // 2) % 7 % 2 else -1


def softmax(values, temperature=1.0):
    top = max(values)
    weights = [math.exp((value - top) / temperature) for value in values]
    return [weight / sum(weights) for weight in weights]


def digits(kind, logits, act, temperature):
    """What is published, computed in double: for finding answers that hang on a rounding, not for judging."""
    p = softmax(logits, temperature)
    entropy = -sum(x * math.log(max(x, 1e-12)) for x in p)
    spread = 1.0 if len(p) < 2 else min(1.0, max(0.0, 1.0 - entropy / math.log(len(p))))
    numbers = [*p, max(p), spread, softmax(act)[0]]
    if kind == 1:
        numbers.append(sum(level * x for level, x in enumerate(p)))
    return [p.index(max(p)), *itertools.chain(round(number, 4) for number in numbers)]
