// Making a backend, planning shapes, moving data in and out.
#include "engine/cuda/backend.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/kernels/kernel_list.h"
#include "engine/cuda/kernels/spin.h"
#include "engine/cuda/range.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

constexpr std::size_t kDownloadBytes = std::size_t{1} << 20U;

class DeviceArena final : public ops::Arena {
 public:
  // `total_bytes`: of the backend's arenas, which this one counts in.
  DeviceArena(std::size_t size_bytes, std::size_t& total_bytes)
      : memory_(size_bytes, "activations of one shape"), total_bytes_(total_bytes) {
    total_bytes_ += size_bytes;
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  ~DeviceArena() override { total_bytes_ -= memory_.size_bytes(); }
  std::byte* data() override { return memory_.data(); }
  std::size_t size_bytes() const override { return memory_.size_bytes(); }

 private:
  DeviceBuffer memory_;
  std::size_t& total_bytes_;
};

DeviceInfo usable_device(const Settings& settings) {
  DeviceAnswer answer = find_device(settings.device, settings.visible_devices);
  if (answer.unavailable.empty()) return answer.info;
  throw base::Error(base::ErrorCode::kPreflight, "backend \"cuda\"", answer.unavailable);
}

}  // namespace

CudaBackend::CudaBackend(const Settings& settings, KernelLoader loader)
    : settings_(settings),
      device_(usable_device(settings)),
      kernels_(all_kernels(), device_.name + " " + device_.uuid, std::move(loader)),
      product_(platform_text(lt_version(), device_.driver_version, device_.compute_capability,
                             device_.sm_count),
               settings.choices.gemm),
      download_staging_(kDownloadBytes, "results on their way back") {}

// Nothing may still read what is about to be freed.
CudaBackend::~CudaBackend() {
  cudaStreamSynchronize(stream_.get());
}

std::unique_ptr<ops::Backend> make_backend(const Settings& settings) {
  return std::make_unique<CudaBackend>(settings, load_kernel);
}

Report report_of(const ops::Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  ABBA_CHECK(cuda != nullptr);
  return cuda->report();
}

Report CudaBackend::report() const {
  Report report;
  report.device = device_;
  report.weight_bytes = weight_bytes();
  report.arena_bytes = arena_bytes_;
  report.scratch_bytes = accumulators_.size_bytes() + product_.workspace_bytes() +
                         weight_memory_.held_bytes() - weight_memory_.taken_bytes();
  report.used_bytes = memory_use().used_bytes;
  report.loaded_kernels = kernels_.loaded();
  report.unavailable_kernels = kernels_.unavailable();
  report.unpinned_products = product_.unpinned();
  report.refused_products = product_.refused();
  report.launches = state_.launches;
  report.uploads = uploads_;
  report.synchronizations = synchronizations_;
  return report;
}

std::string CudaBackend::product_path() const {
  const char* type = settings_.precision == ops::Precision::kBf16 ? "bf16" : "fp32";
  return "cuBLASLt " + lt_version_text() + " " + type + ", sm_" +
         std::to_string(device_.compute_capability);
}

tensor::DType CudaBackend::act() const {
  return settings_.precision == ops::Precision::kBf16 ? tensor::DType::kBf16 : tensor::DType::kF32;
}

void CudaBackend::begin_range(const char* name) {
  cuda::begin_range(name);
}

void CudaBackend::end_range() {
  cuda::end_range();
}

LaunchContext CudaBackend::context() {
  return {stream_.get(), kernels_, state_, settings_.precision, settings_.choices.handles};
}

void CudaBackend::note(int code, std::string_view what) {
  if (code == 0 || state_.first_error != 0) return;
  state_.first_error = code;
  state_.failed = what;
}

void CudaBackend::note_library(int status) {
  if (library_status_ == 0) library_status_ = status;
}

std::unique_ptr<ops::Arena> CudaBackend::make_arena(std::size_t size_bytes) {
  return std::make_unique<DeviceArena>(size_bytes, arena_bytes_);
}

void CudaBackend::plan_upload(std::size_t size_bytes) {
  if (size_bytes <= upload_staging_.size_bytes()) return;
  stream_.synchronize();  // a copy may still read the staging block
  upload_staging_ = PinnedBuffer(size_bytes, "a batch on its way to the device");
}

// Copied and waited for: what upload = separate_sync does for each tensor.
void CudaBackend::upload(const void* bytes, tensor::View to) {
  ABBA_CHECK(to.is_contiguous());
  note(cudaMemcpyAsync(to.data(), bytes, to.size_bytes(), cudaMemcpyHostToDevice, stream_.get()),
       "a copy to the device");
  ++uploads_;
  ++synchronizations_;
  note(cudaStreamSynchronize(stream_.get()), "a copy to the device");
}

// One block, one copy, no wait: the sources are free at once, the block when the copy is done.
void CudaBackend::upload_all(std::span<const ops::Transfer> transfers) {
  if (transfers.empty()) return;
  auto* const begin = static_cast<std::byte*>(transfers.front().to.data());
  std::size_t size_bytes = 0;
  note(cudaEventSynchronize(staged_.get()), "a copy to the device");
  for (const ops::Transfer& transfer : transfers) {
    const auto* to = static_cast<std::byte*>(transfer.to.data());
    ABBA_CHECK(transfer.to.is_contiguous() && to >= begin + size_bytes);
    const auto offset = static_cast<std::size_t>(to - begin);
    size_bytes = offset + transfer.to.size_bytes();
    ABBA_CHECK(size_bytes <= upload_staging_.size_bytes());
    std::memcpy(upload_staging_.data() + offset, transfer.bytes, transfer.to.size_bytes());
  }
  note(cudaMemcpyAsync(begin, upload_staging_.data(), size_bytes, cudaMemcpyHostToDevice,
                       stream_.get()),
       "a copy to the device");
  note(cudaEventRecord(staged_.get(), stream_.get()), "a copy to the device");
  ++uploads_;
}

void CudaBackend::download(tensor::ConstView from, float* values) {
  ABBA_CHECK(from.is_contiguous());
  const std::size_t element = tensor::size_bytes_of(from.dtype());
  const auto* next = static_cast<const std::byte*>(from.data());
  std::size_t left = from.size_bytes();
  while (left > 0) {
    const std::size_t size = std::min(left, download_staging_.size_bytes());
    note(cudaMemcpyAsync(download_staging_.data(), next, size, cudaMemcpyDeviceToHost,
                         stream_.get()),
         "a copy from the device");
    synchronize();
    const std::size_t count = size / element;
    if (from.dtype() == tensor::DType::kBf16) {
      base::convert(reinterpret_cast<const base::Bf16*>(download_staging_.data()), values, count);
    } else {
      ABBA_CHECK(from.dtype() == tensor::DType::kF32);
      std::memcpy(values, download_staging_.data(), size);
    }
    values += count;
    next += size;
    left -= size;
  }
}

bool CudaBackend::spin_before_wait(std::int64_t ns) {
  if (!kernels_.is_available(spin_kernels().front())) return false;
  spin_ns_ = ns;
  return true;
}

void CudaBackend::synchronize() {
  ++synchronizations_;
  if (spin_ns_ > 0) launch_spin(std::exchange(spin_ns_, 0), context());
  note(cudaStreamSynchronize(stream_.get()), "waiting for the device");
  require_lt(library_status_, "starting a matrix product");
  if (state_.first_error == 0) return;
  throw base::Error(base::ErrorCode::kBroken, device_.name + " " + device_.uuid,
                    "stopped at " + std::string(state_.failed) + ": " +
                        error_text(state_.first_error) +
                        "; this process can use the device no more");
}

}  // namespace abba::cuda
