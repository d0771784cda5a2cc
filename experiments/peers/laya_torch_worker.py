"""The original package (`laya` on PyTorch) as an arm, for comparing the engine with it as a program.

    .venv-original/bin/python experiments/peers/laya_torch_worker.py

Installed by tests/reference/original_oracle.py --install. Runs on the CPU in fp32 without autocast. Settings:
{"backend": "cpu", "precision": "fp32", "threads": n}; files entry "checkpoint" (or another that the input names);
input {"request": {"state", "questions"[, "max_len", "head_max_len"]}} or {"request": NAME}, a file of the files entry
"requests". Factor mode: eager, or the package's model
under torch.compile (on CUDA the package compiles by itself; on a CPU it does not, so it is done here).
Boundaries: engine (request to decoded answers), in it model (collated ids to logits as numpy) and, in eager mode, encoder
(to the end of the decision layers). The package replaces nothing and times nothing: spans open where its own calls begin.
"""
import importlib.metadata
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../harness/worker_kit"))
import abba_worker  # noqa: E402
from abba_worker import Refused  # noqa: E402

SETTINGS = {"backend": ["cpu"], "precision": ["fp32"]}
EXAMPLE = {"request": {"state": "Please refund the duplicate charge.", "questions": {
    "refund": {"type": "noul", "instructions": "Does the customer ask for a refund?"}}}}


def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


class Spans:
    """Wraps what the package calls, to open a span at a call's begin and close it at its end."""

    def __init__(self, worker):
        self.worker, self.open = worker, []

    def begin(self, name):
        span = self.worker.span(name)
        span.__enter__()
        self.open.append((name, span))

    def end(self, name):
        if self.open and self.open[-1][0] == name:
            self.open.pop()[1].__exit__()

    def close_all(self):
        while self.open:
            self.open.pop()[1].__exit__()


class LayaTorch(abba_worker.Worker):
    name, version = "laya-original", version_of("laya")
    boundaries = ["engine", {"name": "model", "parent": "engine"}, {"name": "encoder", "parent": "model"}]
    stages = ["logits", "action_logits", "published"]
    factors = {"mode": ["eager", {"name": "compiled", "exactness": "tolerance", "exact_to": "eager"}]}
    workload_form = {"input": '{"request": {"state": ..., "questions": {...}}}', "example": EXAMPLE}
    facts = {name: version_of(name) for name in ("laya", "torch", "transformers", "tokenizers", "numpy")}

    def __init__(self):
        self.agents, self.files, self.folder, self.request_of, self.last = {}, {}, None, {}, None
        self.spans, self.captured, self.collate = Spans(self), [], None

    def load(self, settings, files, factors, device):
        if device not in ("", "none", "cpu"):
            raise Refused("bad_device", f"this worker runs on the CPU, not on {device!r}")
        for key, value in settings.items():
            if key == "threads":
                if not isinstance(value, int) or not 1 <= value <= 256:
                    raise Refused("bad_settings", f"threads is {value!r}, accepted is 1 to 256")
            elif value not in SETTINGS.get(key, []):
                raise Refused("bad_settings", f"{key} = {value!r}: accepted are threads and {SETTINGS}")
        for name, path in files.items():
            if not os.path.exists(path):
                raise Refused("bad_input", f"{name}: {path} does not exist; make it, or name another path")
        self.agents, self.files, self.request_of, self.last = {}, files, {}, None
        threads = settings.get("threads", 1)
        import torch

        torch.set_num_threads(threads)
        if "checkpoint" in files:
            self.agent("checkpoint")
        return {"settings": {"backend": "cpu", "precision": "fp32", "threads": threads},
                "device": {"kind": "cpu", "isa": torch.backends.cpu.get_cpu_capability(), "product": "fp32",
                           "library": f"torch {torch.__version__}"}}

    def agent(self, name):
        """The package's Agent of a files entry, made on first use."""
        if name in self.agents:
            return self.agents[name]
        checkpoint = self.files.get(name) or self.example_checkpoint(name)
        import laya
        import torch

        agent = laya.load(as_package_reads_it(checkpoint, self.scratch()), device="cpu")
        if getattr(agent, "amp_enabled", False):
            raise Refused("bad_settings", "the package would run autocast here; unset LAYA_CPU_AMP")
        self.observe(agent)
        if self.level.get("mode") == "compiled":
            agent.model.forward = torch.compile(agent.model.forward, dynamic=True)
        self.agents[name] = agent
        return agent

    def example_checkpoint(self, name):
        if name != "checkpoint" or not os.environ.get("ABBA_LAYA_CHECKPOINT"):
            raise Refused("no_checkpoint", f"no files entry {name!r}: declare a checkpoint folder under it (or, for "
                                           "worker-check, set ABBA_LAYA_CHECKPOINT)")
        return os.environ["ABBA_LAYA_CHECKPOINT"]

    def scratch(self):
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="abba-laya-original-")
        return self.folder.name

    def observe(self, agent):
        """Spans at the package's own calls: collating begins model and encoder, the last decision layer ends encoder."""
        import laya.agent

        if self.collate is None:  # once: the module's name is what every agent's methods look up
            self.collate, laya.agent.collate_items = laya.agent.collate_items, self.timed_collate
        forward = agent._forward

        def timed_forward(batch):
            result = forward(batch)
            self.spans.end("model")
            return result

        agent._forward = timed_forward  # this agent's alone, the class's method stays
        if self.has_encoder():
            agent.model.head.layers[-1].register_forward_hook(lambda *_: self.spans.end("encoder"))
        agent.model.register_forward_hook(lambda module, inputs, output: self.captured.append((inputs, output)))

    def has_encoder(self):
        """A hook inside a compiled graph would cut it in two: there the boundary does not exist."""
        return self.level.get("mode") != "compiled"

    def timed_collate(self, *args, **kwargs):
        self.spans.begin("model")
        if self.has_encoder():
            self.spans.begin("encoder")
        return self.collate(*args, **kwargs)

    def prepare(self, workload):
        request = self.named_request((workload["input"] or {}).get("request"))
        if not isinstance(request, dict) or "state" not in request or not isinstance(request.get("questions"), dict):
            raise Refused("bad_input", f"input must be like {EXAMPLE}")
        if "encoder" in workload["boundaries"] and not self.has_encoder():
            raise Refused("no_boundary", "mode compiled has no boundary encoder, its graph is whole; time engine and model")
        if workload["rotate"]:
            raise Refused("bad_input", "this worker has no variants of a request; leave rotate out")
        self.request_of[workload["id"]] = (self.agent(workload["input"].get("checkpoint", "checkpoint")), request)
        self.select(workload)
        self.request()
        rows = [int(count) for inputs, _ in self.captured for count in inputs[1].sum(1)]
        return {"items": len(request["questions"]), "facts": {"rows": len(rows), "tokens": sum(rows)}}

    def named_request(self, request):
        """The object itself, or of a name the file in the folder of requests."""
        if not isinstance(request, str):
            return request
        if not request.isidentifier() or "requests" not in self.files:
            raise Refused("bad_input", f"request {request!r} by name needs a files entry \"requests\", a folder")
        with open(os.path.join(self.files["requests"], request + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def select(self, workload):
        self.selected = self.request_of[workload["id"]]

    def request(self):
        agent, request = self.selected
        self.captured.clear()
        options = {key: request[key] for key in ("max_len", "head_max_len") if key in request}
        try:
            with self.span("engine"):
                self.last = agent.system_one(request["state"], request["questions"], **options)
        finally:
            self.spans.close_all()

    def outputs(self, stages, values):
        logits, actions, used = [], [], []
        for inputs, (raw, act) in self.captured:
            mask = inputs[3].bool()
            logits += raw[mask].tolist()
            actions += act.flatten().tolist()
            used += [int(count) for count in mask.sum(1)]
        published = [value for answer in self.last["answers"].values() for value in
                     ([1 - answer["noul"], answer["noul"]] if answer["type"] == "noul" else answer["probabilities"].values())]
        width = len(actions) // max(1, len(used))
        tensors = [abba_worker.floats("logits", logits), abba_worker.floats("action_logits", actions, [len(used), width]),
                   abba_worker.floats("published", published)]
        return [tensor for tensor in tensors if not stages or tensor.stage in stages]


def as_package_reads_it(checkpoint, folder):
    """The package may rewrite tokenizer_config.json where it loads: a folder of links with a tokenizer of its own."""
    view = tempfile.mkdtemp(dir=folder)
    for entry in os.listdir(checkpoint):
        source, target = os.path.join(os.path.abspath(checkpoint), entry), os.path.join(view, entry)
        if entry == "tokenizer":
            shutil.copytree(source, target)
        else:
            os.symlink(source, target)
    return view


if __name__ == "__main__":
    abba_worker.run(LayaTorch())
