#include "engine/cuda/stopwatch.h"

#include <cuda_runtime_api.h>

#include <thread>

#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

const Stream& stream_of(ops::Backend& backend) {
  auto* cuda = dynamic_cast<CudaBackend*>(&backend);
  ABBA_CHECK(cuda != nullptr);
  return cuda->stream();
}

// Run by the driver in the stream's order: what comes after it waits for it to return.
void CUDART_CB wait_for_release(void* released) {
  while (!static_cast<std::atomic<bool>*>(released)->load()) std::this_thread::yield();
}

// Lets the stream go on however the block is left.
class Release {
 public:
  explicit Release(std::atomic<bool>& released) : released_(released) {}
  ~Release() { released_ = true; }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  std::atomic<bool>& released_;
};

}  // namespace

Stopwatch::Stopwatch(ops::Backend& backend) : stream_(stream_of(backend)) {}

double Stopwatch::device_ns(const std::function<void()>& issue) {
  stream_.synchronize();
  released_ = false;
  {
    const Release release(released_);
    require(cudaLaunchHostFunc(stream_.get(), &wait_for_release, &released_), "holding a stream");
    start_.record(stream_);
    issue();
    end_.record(stream_);
  }
  end_.synchronize();
  return 1e6 * static_cast<double>(end_.elapsed_ms(start_));
}

}  // namespace abba::cuda
