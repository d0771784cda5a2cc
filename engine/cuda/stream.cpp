#include "engine/cuda/stream.h"

#include <cuda_runtime_api.h>

#include "engine/cuda/runtime_error.h"

namespace abba::cuda {

Stream::Stream() {
  require(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "making a stream");
}

Stream::~Stream() {
  if (handle_ != nullptr) cudaStreamDestroy(handle_);
}

void Stream::synchronize() const {
  require(cudaStreamSynchronize(handle_), "waiting for the stream");
}

Event::Event(Timing timing) {
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  require(cudaEventCreateWithFlags(&handle_, flags), "making an event");
}

Event::~Event() {
  if (handle_ != nullptr) cudaEventDestroy(handle_);
}

void Event::record(const Stream& stream) const {
  require(cudaEventRecord(handle_, stream.get()), "recording an event");
}

void Event::synchronize() const {
  require(cudaEventSynchronize(handle_), "waiting for an event");
}

float Event::elapsed_ms(const Event& start) const {
  float elapsed = 0.0F;
  require(cudaEventElapsedTime(&elapsed, start.handle_, handle_), "reading the time of two events");
  return elapsed;
}

}  // namespace abba::cuda
