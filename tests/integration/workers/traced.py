"""A worker that traces itself: it writes the file that libabba_trace.so would, from its own made-up
activity, so that everything from the injected variables to the report can be tried without a GPU.
The format is written down here a second time, from the words of harness/trace/trace_format.h.
"""

import atexit
import ctypes
import os
import struct
import sys
import time

sys.path.insert(0, os.environ["ABBA_WORKER_KIT"])
import abba_worker  # noqa: E402

MAGIC, VERSION = b"abbatrc\n", 1
INFO, CLOCK, NAME, KERNEL, COPY, API, MARKER, END = range(1, 9)
# CUPTI's clock is another one than the steady clock; the file pairs them.
AHEAD_NS = 1_700_000_000_000_000_000


class TraceFile:
    """Records in memory, written at the end of the process."""

    def __init__(self, path):
        self.path, self.records, self.names = path, [], {}
        self.info("status", "ok")
        self.info("mode", "made up")
        self.info("cupti_version", "130001")
        self.info("buffer_bytes", "4194304")
        self.pair()

    def add(self, kind, payload):
        self.records.append(struct.pack("<II", kind, len(payload)) + payload)

    def info(self, key, value):
        self.add(INFO, struct.pack("<I", len(key)) + key.encode() + value.encode())

    def pair(self):
        now = time.monotonic_ns()
        self.add(CLOCK, struct.pack("<qq", now + AHEAD_NS, now))

    def name(self, text):
        if text not in self.names:
            self.names[text] = len(self.names) + 1
            self.add(NAME, struct.pack("<I", self.names[text]) + text.encode())
        return self.names[text]

    def kernel(self, name, start, end, correlation, node=0):
        self.add(KERNEL, struct.pack("<QQQ14I", start + AHEAD_NS, end + AHEAD_NS, node, self.name(name), 0, 7,
                                     correlation, 1 if node else 0, 64, 2, 1, 128, 1, 1, 40, 1024, 2048))

    def copy(self, kind, start, end, size, correlation):
        self.add(COPY, struct.pack("<QQQ4I", start + AHEAD_NS, end + AHEAD_NS, size, self.name(kind), 0, 7,
                                   correlation))

    def call(self, name, start, end, correlation):
        self.add(API, struct.pack("<QQ4I", start + AHEAD_NS, end + AHEAD_NS, self.name(name), os.getpid(),
                                  correlation, 0))

    def marker(self, identity, phase, at, name=""):
        self.add(MARKER, struct.pack("<Q4I", at + AHEAD_NS, identity, phase, os.getpid(),
                                     self.name(name) if name else 0))

    def write(self, fault):
        self.pair()
        data = MAGIC + struct.pack("<II", VERSION, os.getpid()) + b"".join(self.records)
        if fault == "cut":
            data = data[:-3]
        elif fault == "garbage":
            data = b"this is no trace" + data
        else:
            data += struct.pack("<IIQQQ", END, 24, 3 if fault == "dropped" else 0, 0, 0)
        with open(self.path, "xb") as file:
            file.write(data)


class Traced(abba_worker.Worker):
    name, version, stages = "traced", "1", ["answer"]
    factors = {"norm": ["plain", "fused"]}

    def load(self, settings, files, factors, device):
        self.fault = settings.get("fault", "") if self.level["norm"] == "fused" else ""
        self.rows = settings.get("rows", 1)
        self.range = settings.get("range", "layer").replace("~", "/home/someone")
        self.correlation = 0
        path = os.environ.get("ABBA_TRACE_FILE", "")
        if path and self.fault == "real":  # what the CUDA driver does at first use
            ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
        self.trace = TraceFile(path) if path and self.fault not in ("nothing", "real") else None
        if self.trace:
            for variable in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
                assert os.path.isfile(os.environ[variable]), variable
            atexit.register(lambda: self.trace.write(self.fault))
        return {}

    def prepare(self, workload):
        return {"items": 1, "facts": {"launches": 3 if self.level["norm"] == "plain" else 2}}

    def request(self):
        start = time.perf_counter_ns()
        time.sleep(0.003)
        if self.trace:
            if self.fault == "die" and self.recorder is not None:
                os._exit(3)
            self.record(start)

    def record(self, start):
        """A copy, then products and a norm (two kernels where it is not fused) of 100 us each, 50 us apart."""
        us = 1000
        self.correlation += 10 * self.rows
        first = self.correlation
        at = start + 200 * us
        self.trace.marker(first, 0, at, "request")
        self.trace.marker(first + 1, 0, at + 10 * us, self.range)
        self.trace.copy("host-to-device", at, at + 20 * us, 4096, first)
        self.trace.call("cudaMemcpyAsync", at, at + 5 * us, first)
        names = ["void product<float, 4>(float const*, int)"]
        names += ["norm_mean", "norm_scale"] if self.level["norm"] == "plain" else ["norm_fused"]
        for i, kernel in enumerate(names * self.rows):
            begin = at + 50 * us + i * (150 * us // self.rows)
            self.trace.call("cudaLaunchKernel", at + 12 * us + i, at + 13 * us + i, first + 1 + i)
            self.trace.kernel(kernel, begin, begin + 100 * us // self.rows, first + 1 + i, node=i)
        self.trace.marker(first + 1, 1, at + 900 * us)
        self.trace.marker(first, 1, at + 1000 * us)

    def outputs(self, stages, values):
        return [abba_worker.floats("answer", [0.5])]


abba_worker.run(Traced())
