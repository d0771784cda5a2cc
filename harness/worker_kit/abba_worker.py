"""abba_worker.py: makes a Python program an arm of an abba experiment (standard library only).

Derive from Worker, implement prepare(workload) and request(), and end with run(MyWorker()).
The kit owns the protocol abba.worker/1 (README.md beside this file): pipes, the timed loop and its
clock (time.perf_counter_ns, the monotonic clock), warm-ups, sample arrays, digests, known effects.
Standard output is the protocol's alone: what a worker prints goes to standard error.
"""

import array
import base64
import gc
import hashlib
import json
import math
import os
import sys
import time

PROTOCOL = "abba.worker/1"
MAX_REQUEST_BYTES = 1 << 20
MAX_ANSWER_BYTES = 64 << 20
MAX_REQUESTS = 1_000_000
now_ns = time.perf_counter_ns


class Refused(Exception):
    """A refusal with a stable code; any other exception gives the code "failed"."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Tensor:
    """An output: `data` are little-endian row-major bytes, `values` the same as floats."""

    def __init__(self, stage, dtype, shape, data, values=()):
        self.stage, self.dtype, self.shape = stage, dtype, list(shape)
        self.data, self.values = bytes(data), values

    def digest_bytes(self):
        shape = ",".join(str(size) for size in self.shape)
        return f"{self.dtype}\n{shape}\n".encode() + self.data


def floats(stage, values, shape=None):
    """A tensor of 32-bit floats from a sequence of numbers."""
    packed = array.array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return Tensor(stage, "F32", shape or [len(packed)], packed.tobytes(), packed)


class Worker:
    """What is needed: prepare and request. Everything else has a default."""

    name, version = "worker", "0"
    factors = {}  # name -> [level, ...] or [{"name", "exactness", "exact_to"}, ...]; first = default
    hot = []  # factors whose level request() reads, so that they can be switched between two slots
    stages = []  # of outputs()
    boundaries = ["request"]  # names, or {"name", "parent", "unit", "clock"}; the first = default
    metrics = []  # {"name", "unit", "direction"}
    workload_form = {}  # {"input": in words, "example": an input that prepare() accepts}
    source_stamp, files_to_hash, capabilities, facts = "", [], [], {}

    def prepare(self, workload):
        """Sets up {"id", "input", "rotate", "seed", "boundaries"}; may return
        {"items", "bytes", "flops", "facts"}."""
        raise NotImplementedError

    def request(self):
        """One request, start to end: the timed call. self.variant says which variant is due."""
        raise NotImplementedError

    def load(self, settings, files, factors, device):
        """Self.level is set; return {} or what differs: settings, factors, device, memory."""

    def switched(self):
        """After a hot factor got another level, outside of any request's time."""

    def select(self, workload):
        """Before a slot of a workload other than the last one."""
        self.prepare(workload)

    def outputs(self, stages, values):
        """Tensors of the last request, in the order of self.stages."""
        return []

    def graph_capture(self):
        """What each shape of the selected workload costs until it runs as a captured graph: a list
        of {"shape"} with those of first_run_ns, warm_runs and warm_ns, capture_ns, instantiate_ns,
        upload_ns, first_replay_ns, nodes, bytes that are known, as integers; a shape that runs
        without a graph has none from capture_ns on. A worker that defines it declares it.
        self.first_request_ns is what first making the workload ready took in this process."""
        raise Refused("unsupported", "this worker captures no graph")

    # For request().
    variant, level, recorder, active_boundaries = 0, {}, None, ()
    first_request_ns = -1

    def span(self, name):
        """with self.span("pack"): ..."""
        return _Span(self.recorder, name)

    def value(self, metric, value):
        self.recorder.value(metric, value)


class _Span:
    def __init__(self, recorder, name):
        self.recorder, self.name = recorder, name

    def __enter__(self):
        recorder = self.recorder
        if recorder is None:
            return self
        self.parent, recorder.open = recorder.open, self.name
        self.start = now_ns()
        return self

    def __exit__(self, *_):
        recorder = self.recorder
        if recorder is None:
            return
        if self.name == recorder.outermost:
            recorder.injection.inside_request(self.start)
        end = now_ns()
        recorder.open = self.parent
        recorder.request.append((self.name, self.parent, self.start, end))


class _Recorder:
    def __init__(self, outermost, metrics, total, max_stored, injection):
        self.outermost, self.injection = outermost, injection
        self.values = {metric["name"]: [None] * total for metric in metrics}
        self.stored, self.totals, self.left = [], {}, max_stored
        self.request, self.open, self.seq = [], "", 0

    def begin_request(self, seq):
        self.request, self.open, self.seq = [], "", seq

    def value(self, metric, value):
        if metric not in self.values:
            raise Refused("undeclared_metric", f"the metric was not declared: {metric}")
        self.values[metric][self.seq] = float(value) if math.isfinite(value) else None

    def outermost_span(self):
        return next((s for s in self.request if s[0] == self.outermost), None)

    def end_request(self, begin, end):
        store, self.left = self.left > 0, self.left - 1
        for name, parent, start, stop in sorted(self.request, key=lambda span: span[2]):
            if name == self.outermost or start < begin or stop > end:
                continue
            parent = parent or self.outermost
            duration, count = self.totals.get((name, parent), (0, 0))
            self.totals[(name, parent)] = (duration + stop - start, count + 1)
            if store:
                self.stored.append((self.seq, name, parent, start, stop - start))


class _Injection:
    KINDS = {"spin": ("fraction", 10), "delay": ("ns", 1e10), "drift": ("ns_per_request", 1e9),
             "hidden": ("ns", 1e10)}

    def __init__(self, inject=None):
        self.effects, self.slots, self.requests = [], 0, 0
        self.now, self.clock_read_ns = {}, 0
        for effect in [] if inject is None else inject if isinstance(inject, list) else [inject]:
            kind = effect.get("kind") if isinstance(effect, dict) else None
            if kind not in self.KINDS:
                raise Refused("bad_inject", f"inject: unknown kind {kind!r}")
            key, most = self.KINDS[kind]
            amount = effect.get(key)
            if not isinstance(amount, (int, float)) or not 0 <= amount <= most:
                raise Refused("bad_inject", f"inject: {key!r} must be a number from 0 to {most:g}")
            if effect.get("where", "host") != "host":
                raise Refused("bad_inject", "inject: this kit spins on the host only; leave out 'where'")
            modulus, remainder = effect.get("slots", [1, 0])
            position = effect.get("position")
            if position is not None and (not isinstance(position, int) or not 0 <= position <= 1000):
                raise Refused("bad_inject", "inject: 'position' must be a number from 0 to 1000")
            self.effects.append((kind, amount, max(1, modulus), remainder, position))

    def begin_slot(self, slot_id):
        self.now = dict.fromkeys(self.KINDS, 0)
        place = slot_id.rpartition("/s")[2]  # "17/s2" is the third slot of its block
        for kind, amount, modulus, remainder, position in self.effects:
            if self.slots % modulus == remainder and position in (None, int(place) if place.isdigit() else -1):
                self.now[kind] += amount
        self.slots += 1

    def before_request(self):
        self.requests += 1
        if self.now["hidden"]:
            _spin_until(now_ns() + int(self.now["hidden"]))

    def inside_request(self, start):
        if self.effects:
            now = now_ns()
            extra = (self.now["spin"] * (now - start) + self.now["delay"]
                     + self.now["drift"] * self.requests - 1.5 * self.clock_read_ns)
            if extra > 0:
                _spin_until(now + int(extra))


def _spin_until(deadline):
    while now_ns() < deadline:
        pass


def _integer(message, key, default, low, high):
    value = message.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused("bad_message", f"{key} must be an integer from {low} to {high}")
    return value


def _no_constant(text):
    raise ValueError(f"{text} is no JSON")


def _no_twice(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


class Session:
    """One conversation: answer(line) turns a request line into an answer line."""

    def __init__(self, worker):
        self.worker, self.finished, self.loaded = worker, False, False
        self.workloads, self.selected, self.injection = {}, None, _Injection()
        self.first_request_ns = {}
        self.boundaries = [dict({"unit": "ns", "clock": "perf_counter_ns", "parent": ""},
                                **(b if isinstance(b, dict) else {"name": b}))
                           for b in worker.boundaries]
        self.factors = {
            name: [dict({"exactness": "bitwise", "exact_to": ""},
                        **(level if isinstance(level, dict) else {"name": level}))
                   for level in levels]
            for name, levels in worker.factors.items()}

    def answer(self, line):
        try:
            try:
                message = json.loads(line, parse_constant=_no_constant,
                                     object_pairs_hook=_no_twice)
            except (ValueError, RecursionError) as failure:
                raise Refused("bad_json", f"not valid JSON: {failure}") from None
            kind = message.get("type") if isinstance(message, dict) else None
            handler = {"hello": self.hello, "load": self.load, "prepare": self.prepare,
                       "slot": self.slot, "outputs": self.outputs,
                       "graph_capture": self.graph_capture,
                       "shutdown": self.shutdown}.get(kind if isinstance(kind, str) else None)
            if handler is None:
                raise Refused("unknown_message", f"unknown message type {str(kind)[:40]!r}")
            text = json.dumps(handler(message), separators=(",", ":"), allow_nan=False)
            if len(text) >= MAX_ANSWER_BYTES:
                raise Refused("too_large", f"the answer has {len(text)} bytes")
            return text
        except Exception as failure:  # a worker's mistake must not end the conversation
            code = getattr(failure, "code", None)
            text = str(failure) or type(failure).__name__
            return json.dumps({"error": {"code": code if isinstance(code, str) else "failed",
                                         "message": text}})

    def hello(self, message=None):
        if message is not None and PROTOCOL not in (message.get("versions") or []):
            raise Refused("bad_version", f"this worker speaks only {PROTOCOL}")
        w = self.worker
        capabilities = ["load", "spans", "inject"] + (["outputs"] if w.stages else [])
        if type(w).graph_capture is not Worker.graph_capture:
            capabilities.append("graph_capture")
        return {"type": "hello", "protocol": PROTOCOL, "name": w.name, "version": w.version,
                "source_stamp": w.source_stamp, "files_to_hash": list(w.files_to_hash),
                "workload_form": w.workload_form, "boundaries": self.boundaries,
                "metrics": list(w.metrics),
                "factors": [{"name": name, "levels": levels, "default": levels[0]["name"],
                             "hot": name in w.hot} for name, levels in self.factors.items()],
                "capabilities": capabilities + list(w.capabilities), "stages": list(w.stages),
                "facts": w.facts}

    def load(self, message):
        asked = message.get("factors") or {}
        factors = {name: levels[0]["name"] for name, levels in self.factors.items()}
        self.check_factors(asked)
        factors.update(asked)
        injection = _Injection(message.get("inject"))
        settings, files = message.get("settings") or {}, message.get("files") or {}
        device = message.get("device") or "none"
        self.workloads, self.selected, self.loaded = {}, None, False
        self.worker.level = dict(factors)
        start = now_ns()
        effective = self.worker.load(settings, files, factors, device) or {}
        load_ns = now_ns() - start
        self.loaded, self.injection = True, injection
        self.worker.level = dict(effective.get("factors", factors))
        self.injection.clock_read_ns = _clock_read_ns()
        setup = dict(effective.get("setup_ns", {}), load=load_ns, clock_read=self.injection.clock_read_ns)
        return {"type": "load", "settings": effective.get("settings", settings),
                "factors": self.worker.level, "device": effective.get("device"),
                "memory": effective.get("memory", _resident_memory()), "setup_ns": setup,
                "inject": message.get("inject")}

    def check_factors(self, asked):
        for name, level in asked.items():
            if name not in self.factors:
                raise Refused("unknown_factor", f"this worker has no factor {name!r}")
            if level not in [known["name"] for known in self.factors[name]]:
                raise Refused("unknown_level", f"the factor {name!r} has no level {level!r}")

    def switch_factors(self, message):
        """Hot factors for this slot or these outputs; what the answer repeats."""
        asked = message.get("factors")
        if asked is None:
            return {}
        self.check_factors(asked)
        for name in asked:
            if name not in self.worker.hot:
                raise Refused("not_hot", f"the factor {name!r} needs a load")
        if not self.loaded:
            self.load({})
        before, self.worker.level = self.worker.level, dict(self.worker.level, **asked)
        if before != self.worker.level:
            self.worker.switched()
        return {"factors": asked}

    def checked_boundaries(self, asked):
        known = [boundary["name"] for boundary in self.boundaries]
        for name in asked or []:
            if name not in known:
                raise Refused("unknown_boundary", f"this worker declares no boundary {name!r}")
        return list(asked or known[:1])

    def prepare(self, message):
        if not self.loaded:
            self.load({})
        workload = message.get("workload")
        if not isinstance(workload, dict) or not isinstance(workload.get("id"), str):
            raise Refused("bad_message", "prepare needs workload.id")
        if not workload["id"]:
            raise Refused("bad_message", "prepare needs workload.id")
        workload = dict({"input": None, "rotate": 0, "seed": 0}, **workload)
        workload["boundaries"] = self.checked_boundaries(workload.get("boundaries"))
        self.workloads.pop(workload["id"], None)
        self.selected, self.worker.variant = None, 0
        self.worker.active_boundaries = workload["boundaries"]
        prepared = self.worker.prepare(workload) or {}
        start = now_ns()
        self.worker.request()  # readiness: one full request answered
        first_request_ns = now_ns() - start
        self.first_request_ns.setdefault(workload["id"], first_request_ns)  # the first of them stays
        self.workloads[workload["id"]], self.selected = workload, workload["id"]
        return {"type": "prepare", "ready": True,
                "work": {key: prepared.get(key, -1) for key in ("items", "bytes", "flops")},
                "facts": prepared.get("facts", {}), "first_request_ns": first_request_ns}

    def select(self, message, boundaries):
        workload = self.workloads.get(message.get("workload"))
        if workload is None:
            raise Refused("unknown_workload", f"not prepared: {message.get('workload')!r}")
        self.worker.active_boundaries = boundaries or workload["boundaries"]
        self.worker.variant = 0
        if self.selected != workload["id"]:
            self.selected = None
            self.worker.select(workload)
            self.selected = workload["id"]
        return workload

    def slot(self, message):
        slot_id = message.get("slot_id")
        if not isinstance(slot_id, str) or not slot_id:
            raise Refused("bad_message", "slot needs slot_id")
        requests = _integer(message, "requests", None, 1, MAX_REQUESTS)
        warmup = _integer(message, "warmup", 0, 0, MAX_REQUESTS - requests)
        max_spans = min(1000, _integer(message, "max_spans", 50, 0, 1 << 40))
        interval_ns = min(3.6e12, max(0.0, float(message.get("interval_ms", 0)) * 1e6))
        asked = message.get("boundaries")
        boundaries = self.checked_boundaries(asked) if asked else []
        if message.get("flush"):
            raise Refused("unsupported", "this kit cannot flush caches")
        switched = self.switch_factors(message)
        workload = self.select(message, boundaries)
        outermost = self.worker.active_boundaries[0]
        recorder = _Recorder(outermost, self.worker.metrics, warmup + requests, max_spans,
                             self.injection)
        samples = self.timed_loop(recorder, workload, warmup, warmup + requests, interval_ns,
                                    slot_id)
        start_ns, duration_ns, failed, failure_text = samples
        digest = ""
        if message.get("digest", True) and self.worker.stages and \
                (not failed or failed[-1] != warmup + requests - 1):
            sha = hashlib.sha256()
            for tensor in self.worker.outputs([], False):
                sha.update(tensor.digest_bytes())
            digest = sha.hexdigest()
        columns = list(zip(*recorder.stored)) or [[]] * 5
        totals = recorder.totals
        return {"type": "slot", "slot_id": slot_id, "workload": workload["id"],
                "boundary": outermost, "warmup": warmup, "start_ns": start_ns,
                "duration_ns": duration_ns, "failed": failed, "failure_text": failure_text[:1000],
                "spans": dict(zip(("seq", "name", "parent", "start_ns", "duration_ns"), columns)),
                "totals": {"name": [key[0] for key in totals],
                           "parent": [key[1] for key in totals],
                           "duration_ns": [total[0] for total in totals.values()],
                           "count": [total[1] for total in totals.values()]},
                "spans_dropped": 0,
                "values": {name: values for name, values in recorder.values.items()
                           if any(value is not None for value in values)},
                "allocations": -1, "digest": digest, **switched}

    def timed_loop(self, recorder, workload, warmup, total, interval_ns, slot_id):
        worker, injection, rotate = self.worker, self.injection, workload["rotate"]
        whole_call = not next(b["parent"] for b in self.boundaries
                              if b["name"] == recorder.outermost)
        starts, durations, failed, failure_text = [0] * total, [0] * total, [], ""
        worker.recorder = recorder
        injection.begin_slot(slot_id)
        gc.collect()
        gc_was_enabled = gc.isenabled()
        gc.disable()
        try:
            first = now_ns()
            for seq in range(total):
                worker.variant = seq % rotate if rotate else 0
                recorder.begin_request(seq)
                if interval_ns:
                    due = first + int(interval_ns * seq)
                    time.sleep(max(0, due - now_ns() - 100_000) / 1e9)
                    _spin_until(due)
                injection.before_request()
                problem = None
                begin = now_ns()
                try:
                    worker.request()
                except Exception as failure:  # a failed request is a sample, marked
                    problem = str(failure) or type(failure).__name__
                span = recorder.outermost_span() if recorder.request else None
                if span is None:
                    injection.inside_request(begin)
                end = now_ns()
                if span is not None:
                    begin, end = span[2], span[3]
                elif not whole_call and problem is None:
                    problem = "request() opened no span of the outermost boundary asked for"
                starts[seq], durations[seq] = begin, end - begin
                if problem is not None:
                    failure_text = failure_text or problem
                    failed.append(seq)
                if seq >= warmup and recorder.request:
                    recorder.end_request(begin, end)
        finally:
            worker.recorder = None
            if gc_was_enabled:
                gc.enable()
        return starts, durations, failed, failure_text

    def outputs(self, message):
        worker = self.worker
        if not worker.stages:
            raise Refused("unsupported", "this worker declares no stages")
        stages = message.get("stages") or []
        for stage in stages:
            if stage not in worker.stages:
                raise Refused("unknown_stage", f"this worker has no stage {stage!r}")
        with_values = bool(message.get("values", False))
        switched = self.switch_factors(message)
        self.select(message, [])
        worker.request()
        tensors = []
        for tensor in worker.outputs(stages, with_values):
            if stages and tensor.stage not in stages:
                continue
            answer = {"stage": tensor.stage, "dtype": tensor.dtype, "shape": tensor.shape,
                      "digest": hashlib.sha256(tensor.digest_bytes()).hexdigest()}
            if with_values:
                packed = array.array("f", tensor.values)
                if sys.byteorder == "big":
                    packed.byteswap()
                answer["values_f32"] = base64.b64encode(packed.tobytes()).decode()
            tensors.append(answer)
        return {"type": "outputs", "tensors": tensors, **switched}

    def graph_capture(self, message):
        workload = self.select(message, [])
        self.worker.first_request_ns = self.first_request_ns[workload["id"]]
        return {"type": "graph_capture", "ledger": self.worker.graph_capture()}

    def shutdown(self, _):
        self.finished = True
        return {"type": "shutdown"}


def _clock_read_ns():
    reads, best = 100, math.inf
    for _ in range(10):  # the quickest row: the others may hold an interruption
        start = now_ns()
        for _ in range(reads):
            last = now_ns()
        best = min(best, last - start)
    return best / reads


def _resident_memory():
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return {"resident_bytes": int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")}
    except (OSError, ValueError, IndexError):
        return {}


def run(worker):
    """Serves the protocol until shutdown or the end of standard input, then ends the process."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    session = Session(worker)
    if "--describe" in sys.argv[1:]:
        out.write(json.dumps(session.hello(), separators=(",", ":")) + "\n")
        out.flush()
        sys.exit(0)
    pipe = os.fdopen(os.dup(0), "rb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    while not session.finished:
        line = pipe.readline(MAX_REQUEST_BYTES + 1)
        if not line:
            break
        if len(line) > MAX_REQUEST_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = pipe.readline(MAX_REQUEST_BYTES)
            answer = json.dumps({"error": {"code": "too_large",
                                           "message": "a request over 1 MiB"}})
        else:
            answer = session.answer(line.decode("utf-8", "replace"))
        out.write(answer + "\n")
        out.flush()
    sys.exit(0)
