// What the CUDA runtime answers, turned into the project's one exception with one sentence. Codes
// are cudaError_t as int.
#pragma once

#include <string>
#include <string_view>

namespace abba::cuda {

// "an illegal memory access was encountered (error 700)"
std::string error_text(int code);
// Throws base::Error(kBroken) unless `code` is success; `what` says what was being done: "waiting
// for the stream".
void require(int code, std::string_view what);

}  // namespace abba::cuda
