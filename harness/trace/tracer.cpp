#include "harness/trace/tracer.h"

#include <string_view>
#include <system_error>
#include <vector>

#include "harness/trace/trace_format.h"

namespace abba::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libabba_trace.so";
constexpr std::string_view kCupti = "libcupti.so.13";  // of the CUDA it reads the records of
constexpr std::string_view kToolkitFolders[] = {
    "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib",
    "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string full_path(const fs::path& path) {
  std::error_code failed;
  const fs::path found = fs::absolute(path, failed).lexically_normal();
  return failed ? path.string() : found.string();
}

// The path of what lies where it should, or empty, and then `lack` says so.
std::string given(const std::string& path, std::string& lack) {
  if (is_file(path)) {
    return full_path(path);
  }
  lack = path + ", which was named for it, is no file";
  return {};
}

std::string find_cupti(const fs::path& beside, std::string& lack) {
  std::vector<fs::path> folders = {beside};
  folders.insert(folders.end(), std::begin(kToolkitFolders), std::end(kToolkitFolders));
  for (const fs::path& folder : folders) {
    if (is_file(folder / kCupti)) {
      return full_path(folder / kCupti);
    }
  }
  lack = "no " + std::string(kCupti) + " was found beside the tracer or with a CUDA toolkit";
  return {};
}

}  // namespace

Tracer find_tracer(const fs::path& program, const TracerChoice& choice) {
  Tracer tracer;
  const fs::path usual = program.parent_path().parent_path() / "lib" / kLibrary;
  if (!choice.library.empty()) {
    tracer.library = given(choice.library, tracer.lack);
  } else if (is_file(usual)) {
    tracer.library = full_path(usual);
  } else {
    tracer.lack = "this abba came without " + std::string(kLibrary);
  }
  if (!tracer.lack.empty()) {
    return tracer;
  }
  tracer.cupti = choice.cupti.empty()
                     ? find_cupti(fs::path(tracer.library).parent_path(), tracer.lack)
                     : given(choice.cupti, tracer.lack);
  return tracer;
}

std::map<std::string, std::string> traced_environment(const Tracer& tracer,
                                                      const std::string& file) {
  return {{"CUDA_INJECTION64_PATH", tracer.library},
          // CUPTI itself: a tracer that forwards to it gets no ranges (CUDA 13.0).
          {"NVTX_INJECTION64_PATH", tracer.cupti},
          {kTraceCuptiVariable, tracer.cupti},
          {kTraceFileVariable, file}};
}

}  // namespace abba::trace
