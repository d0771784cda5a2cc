// The .xz form of published run files, through liblzma. The same bytes in give the same bytes out
// (one thread, one fixed preset).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace abba::store {

bool is_xz(std::string_view bytes);  // by its first six bytes

std::string xz_compress(std::string_view bytes);

// Throws Error(kBadInput, file, ...) if the stream is damaged, ends early, or would be larger than
// `max_bytes`.
std::string xz_decompress(std::string_view bytes, const std::string& file, std::size_t max_bytes);

// Writes run file `path`, which must be finished and have no journal beside it, to `out`. Throws
// Error(kBroken) if `out` exists or cannot be written, Error(kBadInput) if `path` is not fit for
// it.
void compress_run(const std::string& path, const std::string& out);

}  // namespace abba::store
