"""Rows of logits and what numpy makes of them by the original's arithmetic: pins numpy's float32 exp and log.

Half of the rows are such that a correctly rounded exp or log would publish another number. Needs numpy.
"""
import math
import random

SEED = "decode"
SPECIAL, COMMON = 150, 350


def draw(index):
    rng = random.Random(f"{SEED}/{index}")
    kind = rng.choice(["choice", "score", "noul"])
    count = 2 if kind == "noul" else rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 17, 33, 64, 100])
    spread = rng.choice([0.02, 1, 2, 4, 12])
    return kind, [rng.gauss(0, spread) for _ in range(count)], rng.choice([0.5, 1.0, 1.2514300346374512, 1.6369030475616455, 5.0])


def published(kind, logits, temperature, exp, log):
    """The numbers of one answer: probabilities, confidence, level."""
    import numpy as np

    z = np.asarray(logits, dtype=np.float32) / temperature
    p = exp(z - z.max())
    p = p / p.sum()
    entropy = -(p * log(np.clip(p, 1e-12, 1.0))).sum()
    spread = 1.0 if len(p) < 2 else float(np.clip(1.0 - entropy / math.log(len(p)), 0.0, 1.0))
    if kind == "noul":
        spread = max(float(p[1]), 1.0 - float(p[1]))
    numbers = [round(float(x), 4) for x in p] + [round(spread, 4)]
    if kind == "score":
        numbers.append(round(float((np.arange(len(p)) * p).sum()), 4))
    return numbers


def rounded_once(function):
    import numpy as np

    return lambda x: function(np.asarray(x, dtype=np.float64)).astype(np.float32)


def rows():
    import numpy as np

    special, common, index = [], [], 0
    while len(special) < SPECIAL or len(common) < COMMON:
        kind, logits, temperature = draw(index)
        index += 1
        logits = [float("%.9g" % np.float32(x)) for x in logits]
        numbers = published(kind, logits, temperature, np.exp, np.log)
        other = published(kind, logits, temperature, rounded_once(np.exp), rounded_once(np.log))
        bucket, limit = (common, COMMON) if numbers == other else (special, SPECIAL)
        if len(bucket) < limit:
            bucket.append({"kind": kind, "logits": logits, "temperature": temperature, "numbers": numbers,
                           "hangs_on_exp": numbers != other})
    return special + common
