// The file that libabba_trace.so writes and read_trace_file reads: what a traced process did on its
// GPU, record by record. Little-endian throughout; every struct below is written as it lies in
// memory (no padding, asserted).
//
//   FileHeader
//   RecordHeader, payload        any number of times, in no order of time
//   RecordHeader{kEnd}, EndRecord     last; a file without it was cut off
//
// Texts are written once (kName, before the first record that uses its id). Times are nanoseconds
// of the tracer's clock; kClock records pair it with the steady clock. A reader skips records of
// types it does not know, and refuses another version.
#pragma once

#include <cstdint>

namespace abba::trace {

inline constexpr char kTraceMagic[8] = {'a', 'b', 'b', 'a', 't', 'r', 'c', '\n'};
inline constexpr std::uint32_t kTraceVersion = 1;

// Beyond this many bytes the tracer writes no more records, only counts them (EndRecord::cut).
inline constexpr std::uint64_t kTraceFileBytes = std::uint64_t{64} << 20U;
inline constexpr std::uint32_t kTraceNameBytes = 512;  // a longer name is cut

// What the harness tells the tracer, by environment variable.
inline constexpr const char* kTraceFileVariable = "ABBA_TRACE_FILE";    // path; must not exist yet
inline constexpr const char* kTraceCuptiVariable = "ABBA_TRACE_CUPTI";  // libcupti to use; optional

// Keys of kInfo.
inline constexpr const char* kInfoStatus = "status";  // "ok", or one sentence; the last one counts
inline constexpr const char* kInfoLacking =
    "lacking";                                    // a kind of record that was refused, and why
inline constexpr const char* kInfoMode = "mode";  // which kinds of records were asked for
inline constexpr const char* kInfoCupti = "cupti_version";
inline constexpr const char* kInfoBuffer = "buffer_bytes";

enum class RecordType : std::uint32_t {
  kInfo = 1,    // InfoRecord, key, value
  kClock = 2,   // ClockRecord
  kName = 3,    // NameRecord, text
  kKernel = 4,  // KernelRecord
  kCopy = 5,    // CopyRecord: copies and memory sets
  kApi = 6,     // ApiRecord: a call of the CUDA runtime or driver
  kMarker = 7,  // MarkerRecord: the begin or the end of a named range
  kEnd = 8,     // EndRecord
};

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t process;  // pid
};

struct RecordHeader {
  std::uint32_t type;
  std::uint32_t size;  // of the payload, in bytes
};

struct InfoRecord {
  std::uint32_t key_size;  // the value is the rest
};

struct ClockRecord {
  std::int64_t trace_ns;
  std::int64_t steady_ns;  // at the same moment
};

struct NameRecord {
  std::uint32_t id;
};

struct KernelRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t graph_node;  // 0: not part of a graph
  std::uint32_t name;
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t correlation;  // of the call that launched it, or its graph
  std::uint32_t graph;        // 0: not part of a graph
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t registers;      // a thread
  std::uint32_t static_shared;  // bytes a block
  std::uint32_t dynamic_shared;
};

struct CopyRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t kind;  // a name: "host-to-device", "set", ...
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t correlation;
};

struct ApiRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t name;
  std::uint32_t thread;
  std::uint32_t correlation;
  std::uint32_t result;  // the call's own error code
};

enum class MarkerPhase : std::uint32_t { kBegin = 0, kEnd = 1 };

struct MarkerRecord {
  std::uint64_t time_ns;
  std::uint32_t id;  // the same for begin and end of a range
  std::uint32_t phase;
  std::uint32_t thread;
  std::uint32_t name;  // of a begin; 0 in an end
};

struct EndRecord {
  std::uint64_t dropped;  // by CUPTI, for want of a buffer
  std::uint64_t cut;      // by the tracer, for want of space in the file
  std::uint64_t strange;  // records that say no time, or an end before their start
};

static_assert(sizeof(FileHeader) == 16 && sizeof(RecordHeader) == 8 && sizeof(ClockRecord) == 16);
static_assert(sizeof(KernelRecord) == 80 && sizeof(CopyRecord) == 40 && sizeof(ApiRecord) == 32);
static_assert(sizeof(MarkerRecord) == 24 && sizeof(EndRecord) == 24);

}  // namespace abba::trace
