// The one place where settings become a backend, and where what only one backend can say is asked:
// its device, its proofs, its memory. A program built without CUDA refuses it in one sentence.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "engine/ops/backend.h"
#include "experiments/laya/engine_settings.h"

namespace abba::laya {

// Throws Error(kBadInput) or Error(kPreflight) as the backends do.
std::unique_ptr<ops::Backend> make_backend(const EngineSettings& settings);

// What computes: {"kind": "cpu", "isa": ...} or {"kind": "cuda", "name": ..., "uuid": ...}.
base::Json device_json(const EngineSettings& settings);

// What a backend holds and found while it was used: bytes on its device, kernels it could not load,
// products without a pinned algorithm. Null for the CPU.
base::Json report_json(const ops::Backend& backend);

// What a chosen level's declared class is worth on this machine.
struct ProvedLevel {
  std::string_view factor;
  std::string_view level;
  std::string to;
  ops::ExactnessKind proved = ops::ExactnessKind::kTolerance;
  std::string detail;
};
std::vector<ProvedLevel> prove_exactness(const EngineSettings& settings, std::int64_t hidden);

// Device time of what `issue` starts, in nanoseconds; on a host backend its wall time. `issue` must
// not wait for the device.
using DeviceTimer = std::function<double(const std::function<void()>& issue)>;
DeviceTimer device_timer(ops::Backend& backend);

// The cache of a GPU, the current device of the calling thread, emptied between two requests.
struct DeviceFlush {
  std::function<void()> flush;
  std::function<double()> walk_ns;  // over a small memory that a flush does not touch
  double flushed_bytes = 0;
};
// No function in it for the CPU, whose caches the worker kit empties. Throws Error(kBroken) if the
// device's cannot be.
DeviceFlush device_flush(const EngineSettings& settings);

// Prints lines for the committed table of matrix product algorithms: every product `backend` has
// planned, timed. Each is preceded by a comment with its times. Throws Error(kBadInput) for the
// CPU.
void print_pinned_rows(const ops::Backend& backend);

// The same for people: "device memory: 842 MiB of weights, ..."; empty for the CPU.
std::string memory_text(const ops::Backend& backend);

// What each backend of this program would run on, or why it cannot ("available": false with a
// "reason"): {"schema", "cpu": {...}, "cuda": {...}}; memory in bytes, CUDA versions as the driver
// gives them (13000).
base::Json backends_json();
// The same for people, one line a backend.
std::string backends_text(const base::Json& backends);

}  // namespace abba::laya
