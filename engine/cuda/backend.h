// The CUDA backend: ops::Backend on one NVIDIA GPU, in bf16 by the recipe of the numerics page or
// in fp32 for checking. It owns its stream, weights, arenas and scratch; nothing is allocated in a
// request. One of its operations only starts work: what fails on the device is thrown by the next
// synchronize() or download(). Refuses, with one sentence, a machine whose GPU it cannot use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/device.h"
#include "engine/cuda/kernels/kernel_set.h"
#include "engine/ops/backend.h"

namespace abba::cuda {

struct Settings {
  ops::Precision precision = ops::Precision::kBf16;
  ops::Choices choices;
  int device = 0;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES, for messages
};

// Throws Error(kPreflight) if the device cannot be used.
[[nodiscard]] std::unique_ptr<ops::Backend> make_backend(const Settings& settings);

// What a backend holds and found, for `doctor`, the worker's replies and tests.
struct Report {
  DeviceInfo device;
  std::size_t weight_bytes = 0;   // of the weights themselves
  std::size_t arena_bytes = 0;    // of the arenas alive
  std::size_t scratch_bytes = 0;  // accumulators, the library's workspace, rests of slabs
  std::size_t used_bytes = 0;     // of the device, by this process and others
  std::vector<std::string> loaded_kernels;
  std::vector<UnavailableKernel> unavailable_kernels;
  std::vector<std::string> unpinned_products;  // gemm = pinned, but no row in the table
  std::vector<std::string> refused_products;   // the library has no algorithm: plain_product runs
  std::int64_t launches = 0;
  std::int64_t uploads = 0;           // copies to the device
  std::int64_t synchronizations = 0;  // waits for the stream
};
// `backend` was made by make_backend (ABBA_CHECK).
[[nodiscard]] Report report_of(const ops::Backend& backend);

}  // namespace abba::cuda
