"""Published vectors of the English checkpoint against the installed package: is this the original that is meant?

Rows of token ids need the English tokenizer; answers are decoded from published logits, planted by a hook on the
package's model. What needs the published weights is not checked here.
"""
import tokenizer_oracle

LOGITS = [  # question, logits, action logits, what the answer must hold
    ({"type": "choice", "instructions": "?", "criteria": ["a", "b"]}, [-1.0, -0.625], [-0.75, 0.5],
     {"choice": "b", "probabilities": {"a": 0.451, "b": 0.549}, "confidence": 0.0069, "action": {"act_probability": 0.2227}}),
    ({"type": "score", "instructions": "?", "criteria": ["a", "b", "c"]}, [0.25, 1.5, -0.5], [-0.75, 0.5],
     {"score": 0.8943, "confidence": 0.1885}),
    ({"type": "noul", "instructions": "?"}, [0.0, 0.0], [0.0, 0.0], {"noul": 0.5}),
    ({"type": "choice", "instructions": "?", "criteria": ["first", "second"]}, [2.0, 2.0], [1.0, 0.0], {"choice": "first"}),
]


def row_text(row):
    return " ".join(map(str, row["ids"])) + " | " + " ".join(map(str, row["markers"]))


def mistakes(original):
    """Sentences; empty if the package gives what was published."""
    found = []
    for state, question, ids, markers in tokenizer_oracle.ROWS:
        row = original.answer({"state": state, "questions": {"q": question}})["rows"][0]
        if row_text(row) != f"{ids} | {markers}":
            found.append(f"the row of {question['instructions']!r} is not the published one")
    request = {"state": tokenizer_oracle.LONG_STATE, "questions": {"q": tokenizer_oracle.LONG_QUESTION}}
    row = original.answer(request)["rows"][0]
    unit = tokenizer_oracle.LONG_UNIT
    if (len(row["ids"]), row["markers"], row["ids"][36:511]) != (512, [15, 20, 25, 30], (unit * 60)[:475]):
        found.append("the long row is not the published one")
    for question, logits, act, wanted in LOGITS:
        answer = planted(original, question, logits, act)
        if {key: answer.get(key) for key in wanted} != wanted:
            found.append(f"logits {logits} of a {question['type']} are published as {wanted}, the package gives {answer}")
    return found


def planted(original, question, logits, act):
    import torch

    hook = original.agent.model.register_forward_hook(
        lambda *_: (torch.tensor([logits], dtype=torch.float32), torch.tensor([act], dtype=torch.float32)))
    try:
        return original.agent.system_one("x", {"q": question})["answers"]["q"]
    finally:
        hook.remove()
