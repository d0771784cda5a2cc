"""A worker that breaks exactly one rule of abba.worker/1: rule_breaker.py [RULE].

Without a rule it keeps them all; "no-example" and "needs-file" keep them too, but want something of their
user, and so does "a-factor-refused". Each entry of BREAKS is one rule's breach: a function of the session, the message and the answer that
the kit gave, which returns the answer to give instead.
"""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../harness/worker_kit"))
import abba_worker  # noqa: E402

RULE = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("--") else ""
DESCRIBES = "--describe" in sys.argv


class Subject(abba_worker.Worker):
    name, version, stages = "breaker", "1", ["x", "y"]
    factors = {"loop": ["plain", "fast"], "pace": ["slow", "quick"]}
    hot = ["pace"]
    boundaries = ["request", {"name": "inner", "parent": "request"}]
    metrics = [{"name": "rate", "unit": "1/s", "direction": "higher-is-better"}]
    workload_form = {} if RULE == "no-example" else {"example": {"n": 3}}
    capabilities = ["serve", "flush"]
    files_to_hash = [os.path.abspath(__file__)]
    requests = draws = 0

    def load(self, settings, files, factors, device):
        if RULE == "needs-file" and "data" not in files:
            raise abba_worker.Refused("no_file", "the file \"data\" is needed")
        for path in files.values():
            if not pathlib.Path(path).exists() and RULE != "missing-file-refused":
                raise abba_worker.Refused("no_file", f"{path} does not exist")
        return {"device": {"uuid": "GPU-0"}}

    def prepare(self, workload):
        self.n, self.seed = workload["input"]["n"], workload["seed"]
        if RULE == "variants-repeatable" and workload["rotate"]:
            self.draws += 1
            self.seed += self.draws

    def request(self):
        self.requests += 1
        with self.span("inner"):
            self.x = [i + 0.5 + self.seed % 9 + self.variant for i in range(self.n)]
        if self.recorder is not None:
            self.value("rate", 1.0)

    def outputs(self, stages, values):
        print("a stray print does not reach the protocol")
        unsteady = {"digest-repeatable": self.requests if self.recorded else 0,
                    "digest-same-in-two-processes": os.getpid() if self.recorded else 0,
                    "outputs-repeatable": 0 if self.recorded else self.requests}.get(RULE, 0)
        return [abba_worker.floats("x", [value + unsteady for value in self.x]),
                abba_worker.floats("y", self.x[:1])]

    def graph_capture(self):
        if RULE == "results-kept-by-capture":
            self.seed += 1
        return [{"shape": f"[{self.n}]", "first_run_ns": self.first_request_ns, "warm_runs": 1,
                 "warm_ns": 900, "capture_ns": 1700, "bytes": 0}]

    recorded = False  # the outputs of a slot, not of the message outputs


class Session(abba_worker.Session):
    def answer(self, line):
        text = super().answer(line)
        return BREAK_LINE[RULE](line, text) if RULE in BREAK_LINE else text

    def hello(self, message=None):
        if RULE == "version-refused" and message:
            message = dict(message, versions=[abba_worker.PROTOCOL])
        return changed(self, "hello", message, super().hello(message))

    def load(self, message):
        if RULE.startswith("unknown-"):
            kind = RULE.split("-")[1]
            asked = message.get("factors") or {}
            message = dict(message, factors={
                name: level for name, level in asked.items()
                if not (kind == "factor" and name not in self.factors)
                and not (kind == "level" and level == "no-such-level")})
        kept = dict(self.workloads)
        answer = super().load(message)
        if RULE == "load-forgets-workloads":
            self.workloads = kept
        if RULE == "injected-delay-measured":
            self.injection = abba_worker._Injection()
        return changed(self, "load", message, answer)

    def prepare(self, message):
        if RULE == "bad-prepare-refused" and not isinstance(message.get("workload"), dict):
            return {"type": "prepare", "ready": True, "work": {"items": 1, "bytes": 1, "flops": 1},
                    "first_request_ns": 1}
        if RULE == "workloads-kept":
            self.workloads = {}
        return changed(self, "prepare", message, super().prepare(message))

    def slot(self, message):
        if RULE == "unknown-workload-refused" and message["workload"] not in self.workloads:
            message = dict(message, workload=next(iter(self.workloads)))
        if RULE == "unknown-boundary-refused" and "no-such-boundary" in message["boundaries"]:
            message = dict(message, boundaries=[])
        if RULE == "bad-slot-refused":
            message = dict(message, requests=max(1, message["requests"]))
        if RULE == "pacing-kept":
            message = dict(message, interval_ms=0)
        if RULE == "span-limit-kept":
            message = dict(message, max_spans=50)
        if RULE == "cold-factors-refused" and "loop" in message.get("factors", {}):
            message = dict(message, factors={})
        flush = {"flush": dict(FLUSH, cold_ns=110 if RULE == "flush-makes-cold" else 900)}
        if not message.pop("flush", False):
            flush = {}
        self.worker.recorded = True
        answer = super().slot(message)
        self.worker.recorded = False
        return changed(self, "slot", message, dict(answer, **flush))

    def outputs(self, message):
        if RULE == "unknown-stage-refused":
            message = dict(message, stages=[s for s in message["stages"] if s in ("x", "y")])
        return changed(self, "outputs", message, super().outputs(message))

    def graph_capture(self, message):
        if RULE == "unprepared-capture-refused":
            message = dict(message, workload=next(iter(self.workloads)))
        return changed(self, "graph_capture", message, super().graph_capture(message))

    def shutdown(self, message):
        EXIT.append(0)
        return changed(self, "shutdown", message, super().shutdown(message))


def changed(session, kind, message, answer):
    """The answer with the one member changed that RULE is about."""
    of_kind, change = BREAKS.get(RULE, ("", None))
    return change(session, message, answer) if of_kind == kind else answer


def members(**new):
    return lambda session, message, answer: dict(answer, **new)


def member(name, change):
    return lambda session, message, answer: dict(answer, **{name: change(answer[name])})


def first_changed(session, message, answer):
    """A tensor whose digest is of something else."""
    tensors = [dict(tensor) for tensor in answer["tensors"]]
    tensors[0]["digest"] = tensors[0]["digest"][::-1]
    return dict(answer, tensors=tensors)


FLUSH = {"cache": "of the test", "bytes": 1024, "warm_ns": 100}
FACTOR = {"name": "loop", "hot": False, "default": "plain",
          "levels": [{"name": "plain", "exactness": "bitwise", "exact_to": ""}]}
BREAKS = {
    "answers-name-their-type": ("slot", members(type="prepare")),
    "hello-valid": ("hello", members(name="")),
    "boundaries-nest": ("hello", members(boundaries=[
        {"name": "request", "unit": "ns", "clock": "c", "parent": "nowhere"}])),
    "metrics-declared": ("hello", members(metrics=[{"name": "rate", "direction": "sideways"}])),
    "factors-declared": ("hello", members(factors=[dict(FACTOR, default="none of them")])),
    "capabilities-fit": ("hello", member("capabilities", lambda all: [
        one for one in all if one != "outputs"])),
    "files-to-hash-exist": ("hello", members(files_to_hash=["/no/such/file"])),
    "describe-equals-hello": ("hello", members(**({"version": "2"} if DESCRIBES else {}))),
    "describe-touches-no-device": ("hello", members(**(
        {"version": "2"} if DESCRIBES and os.environ.get("CUDA_VISIBLE_DEVICES") == "" else {}))),
    "load-valid": ("load", members(settings=[])),
    "default-levels-in-effect": ("load", lambda session, message, answer: dict(
        answer, factors=dict(answer["factors"], **({} if message.get("factors") else {"loop": "fast"})))),
    # Left out though its levels can be asked for.
    "a-factor-left-out": ("load", lambda session, message, answer: dict(
        answer, factors={name: level for name, level in answer["factors"].items() if name != "loop"})),
    # Left out, and refused if it is asked for.
    "a-factor-refused": ("load", lambda session, message, answer: (
        {"error": {"code": "unknown_factor", "message": "loop does nothing here"}}
        if "loop" in (message.get("factors") or {}) else dict(
            answer, factors={name: level for name, level in answer["factors"].items() if name != "loop"}))),
    "levels-in-effect": ("load", members(factors={"loop": "plain", "pace": "slow"})),
    "settings-in-effect": ("load", members(settings={})),
    "device-named": ("load", members(device=None)),
    "prepare-valid": ("prepare", members(work={})),
    "prepare-ready": ("prepare", members(ready=False)),
    "prepare-answers-a-request": ("prepare", members(first_request_ns=-1)),
    "example-accepted": ("hello", members(workload_form={"example": {"m": 3}})),
    "slot-valid": ("slot", members(allocations="none")),
    "slot-id-echoed": ("slot", members(slot_id="another")),
    "request-echoed": ("slot", member("warmup", lambda count: count + 1)),
    "samples-counted": ("slot", member("duration_ns", lambda all: all[1:])),
    "samples-in-order": ("slot", member("start_ns", lambda all: [
        start + 10**9 * (i == 0) for i, start in enumerate(all)])),
    "failures-in-order": ("slot", members(failed=[0, 0])),
    "requests-succeed": ("slot", lambda session, message, answer: dict(
        answer, failed=[0], failure_text="the first one") if message["slot_id"] == "failures" else answer),
    "samples-fit-the-exchange": ("slot", member("duration_ns", lambda all: [
        *all[:-1], all[-1] + 10**10])),
    "hot-factors-switch": ("slot", lambda session, message, answer: {
        key: value for key, value in answer.items() if key != "factors"}),
    "spans-nested": ("slot", member("spans", lambda spans: dict(
        spans, duration_ns=[10**12] * len(spans["seq"])))),
    "span-totals-add-up": ("slot", member("totals", lambda totals: dict(
        totals, duration_ns=[total + 1 for total in totals["duration_ns"]]))),
    "values-declared": ("slot", lambda session, message, answer: dict(
        answer, values={"undeclared": [1.0] * len(answer["start_ns"])})),
    "outputs-valid": ("outputs", member("tensors", lambda all: [
        dict(tensor, shape=[-1]) for tensor in all])),
    "stages-answered-once": ("outputs", lambda session, message, answer: dict(
        answer, tensors=answer["tensors"][:1] * 2 if not message["stages"] else answer["tensors"])),
    "stages-asked-for-only": ("outputs", lambda session, message, answer: dict(
        answer, tensors=[dict(answer["tensors"][0], stage=stage) for stage in ("x", "y")])
        if message["stages"] else answer),
    "digest-as-defined": ("outputs", first_changed),
    "graph-capture-answered": ("graph_capture", members(ledger=[])),
    "shutdown-answered": ("shutdown", lambda session, message, answer: os._exit(0)),
    "shutdown-exits-zero": ("shutdown", lambda session, message, answer: EXIT.append(3) or answer),
}

def on(test, make):
    """A line that passes `test` is answered by `make` of the kit's answer."""
    return lambda line, text: make(text) if test(line, text) else text


def is_slot(line, text):
    return text.startswith('{"type":"slot"')


def of_type(kind):
    return lambda line, text: f'"type":"{kind}"' in line[:60]


BREAK_LINE = {
    "answers-are-json": on(is_slot, lambda text: "Segmentation fault (just kidding)"),
    "one-answer-a-request": on(is_slot, lambda text: text + "\n" + text),
    "answers-bounded": on(is_slot, lambda text: '{"type":"' + "x" * (65 << 20) + '"}'),
    "errors-say-what": on(lambda line, text: "unknown_workload" in text,
                          lambda text: '{"error":{"code":"","message":""}}'),
    "unknown-message-refused": on(lambda line, text: "unknown_message" in text,
                                  lambda text: '{"type":"whatever"}'),
    "garbage-survived": on(lambda line, text: "bad_json" in text, lambda text: os._exit(1)),
    "serve-answered": on(of_type("serve"),
                         lambda text: '{"type":"serve","base_url":"http://example.org/"}'),
}
KEEP_LINE = {"serve": '{"type":"serve","base_url":"http://127.0.0.1:1/"}'}
EXIT = [0]


def answer_like_a_kit(self, line):
    for kind, text in KEEP_LINE.items():
        if of_type(kind)(line, "") and RULE != f"{kind.replace('_', '-')}-answered":
            return text
    return breaking(self, line)


breaking, Session.answer = Session.answer, answer_like_a_kit
abba_worker.Session = Session
if RULE == "large-request-refused":
    abba_worker.MAX_REQUEST_BYTES = 1 << 30
try:
    abba_worker.run(Subject())
except SystemExit:
    pass
if RULE == "end-of-input-ends" and not DESCRIBES and EXIT == [0]:  # no shutdown came
    time.sleep(60)
os._exit(EXIT[-1])
