#include "harness/store/xz.h"

#include <lzma.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/store/run_file.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kMagic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kDecoderMemory = std::uint64_t{256} << 20U;

// Ends a liblzma stream whatever happens.
struct Stream {
  lzma_stream value = LZMA_STREAM_INIT;
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { lzma_end(&value); }
};

// Runs the stream over all input; returns the code that ended it.
lzma_ret run(lzma_stream& stream, std::string_view input, std::size_t max_bytes,
             std::string& output) {
  stream.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  stream.avail_in = input.size();
  for (;;) {
    const std::size_t done = output.size();
    output.resize(done + std::min(kPieceBytes, max_bytes + 1 - done));
    stream.next_out = reinterpret_cast<std::uint8_t*>(output.data()) + done;
    stream.avail_out = output.size() - done;
    const lzma_ret code = lzma_code(&stream, LZMA_FINISH);
    output.resize(output.size() - stream.avail_out);
    if (code != LZMA_OK || output.size() > max_bytes) {
      return code;
    }
  }
}

}  // namespace

bool is_xz(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::string xz_compress(std::string_view bytes) {
  Stream stream;
  ABBA_CHECK(lzma_easy_encoder(&stream.value, 9, LZMA_CHECK_CRC64) == LZMA_OK);
  std::string output;
  const lzma_ret code =
      run(stream.value, bytes, std::numeric_limits<std::size_t>::max() / 2, output);
  ABBA_CHECK(code == LZMA_STREAM_END);
  return output;
}

std::string xz_decompress(std::string_view bytes, const std::string& file, std::size_t max_bytes) {
  Stream stream;
  ABBA_CHECK(lzma_stream_decoder(&stream.value, kDecoderMemory, 0) == LZMA_OK);
  std::string output;
  const lzma_ret code = run(stream.value, bytes, max_bytes, output);
  if (output.size() > max_bytes) {
    throw Error(ErrorCode::kBadInput, file,
                "would be larger than " + std::to_string(max_bytes >> 20U) +
                    " MiB when decompressed; a run file of this size is not read");
  }
  if (code == LZMA_MEMLIMIT_ERROR || code == LZMA_MEM_ERROR) {
    throw Error(ErrorCode::kBadInput, file, "needs too much memory to be decompressed");
  }
  if (code != LZMA_STREAM_END || stream.value.avail_in != 0) {
    throw Error(ErrorCode::kBadInput, file,
                code == LZMA_BUF_ERROR ? "is a cut-off .xz file; copy it again"
                                       : "is a damaged .xz file; copy it again");
  }
  return output;
}

void compress_run(const std::string& path, const std::string& out) {
  if (std::filesystem::exists(out)) {
    throw Error(ErrorCode::kBroken, out, "exists already; name another file or remove it");
  }
  const record::RunRecord run = read_run(path, {.samples = false, .environment = false});
  const std::string bytes = base::read_file(path);
  if (is_xz(bytes)) {
    throw Error(ErrorCode::kBadInput, path, "is compressed already");
  }
  if (run.state == record::RunState::kRunning || std::filesystem::exists(path + "-wal")) {
    throw Error(ErrorCode::kBadInput, path,
                "is not finished; only a finished run can be compressed");
  }
  base::write_file_atomically(out, xz_compress(bytes));
}

}  // namespace abba::store
