// Where the tracer is: libabba_trace.so, which goes with this program, and the machine's CUPTI.
// Finding them opens neither: that happens in the traced worker, whose trace says how it went.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace abba::trace {

struct Tracer {
  std::string library;  // absolute paths
  std::string cupti;
  std::string lack;  // what is missing, a clause ("no libcupti.so.13 was found in ..."); else empty
};

// Paths that a person gave, each instead of the usual places; empty = those.
struct TracerChoice {
  std::string library;
  std::string cupti;
};

// libabba_trace.so in ../lib of `program`'s folder, as in a build, a bundle and an installation;
// CUPTI beside it or in the usual folders of a toolkit.
Tracer find_tracer(const std::filesystem::path& program, const TracerChoice& choice);

// What a worker must have in its environment to be traced into `file`.
std::map<std::string, std::string> traced_environment(const Tracer& tracer,
                                                      const std::string& file);

}  // namespace abba::trace
