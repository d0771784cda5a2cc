#include "harness/store/archive.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "engine/base/error.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kMagic("PK\x03\x04", 4);
constexpr std::size_t kLongestName = 200;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kBadInput, path, why);
}

// minizip's view of a file: bytes in memory, written or only read.
struct Stream {
  std::string written;
  std::string_view read_only;
  bool writing = false;
  std::size_t position = 0;
  [[nodiscard]] std::size_t size() const { return writing ? written.size() : read_only.size(); }
};

Stream& of(voidpf stream) {
  return *static_cast<Stream*>(stream);
}

uLong read_bytes(voidpf /*opaque*/, voidpf stream, void* into, uLong count) {
  Stream& from = of(stream);
  const std::size_t left = from.size() - std::min(from.position, from.size());
  const std::size_t size = std::min<std::size_t>(count, left);
  if (size > 0) {
    const char* data = from.writing ? from.written.data() : from.read_only.data();
    std::memcpy(into, data + from.position, size);
    from.position += size;
  }
  return size;
}

uLong write_bytes(voidpf /*opaque*/, voidpf stream, const void* data, uLong count) {
  Stream& into = of(stream);
  if (!into.writing) {
    return 0;
  }
  if (into.position + count > into.written.size()) {
    into.written.resize(into.position + count);
  }
  std::memcpy(into.written.data() + into.position, data, count);
  into.position += count;
  return count;
}

long seek_bytes(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  Stream& in = of(stream);
  const std::size_t start = origin == ZLIB_FILEFUNC_SEEK_END   ? in.size()
                            : origin == ZLIB_FILEFUNC_SEEK_CUR ? in.position
                                                               : 0;
  if (offset > in.size() - std::min(start, in.size())) {
    return -1;
  }
  in.position = start + offset;
  return 0;
}

zlib_filefunc64_def functions(Stream& stream) {
  zlib_filefunc64_def calls{};
  calls.opaque = &stream;
  calls.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  calls.zread_file = read_bytes;
  calls.zwrite_file = write_bytes;
  calls.ztell64_file = [](voidpf, voidpf at) { return ZPOS64_T{of(at).position}; };
  calls.zseek64_file = seek_bytes;
  calls.zclose_file = [](voidpf, voidpf) { return 0; };
  calls.zerror_file = [](voidpf, voidpf) { return 0; };
  return calls;
}

bool is_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
  });
  if (!plain || name.empty() || name.size() > kLongestName || name.back() == '/') {
    return false;
  }
  // No empty part (so no absolute name), and none that begins with a dot ("..", hidden files).
  for (std::size_t at = 0; at != std::string_view::npos;) {
    if (name[at] == '/' || name[at] == '.') {
      return false;
    }
    const std::size_t slash = name.find('/', at);
    at = slash == std::string_view::npos ? slash : slash + 1;
  }
  return true;
}

struct CloseUnzip {
  void operator()(void* file) const { unzClose(file); }
};
using Unzip = std::unique_ptr<void, CloseUnzip>;

// One entry, the current one, not beyond `budget` bytes.
ArchiveEntry read_entry(unzFile file, const std::string& path, std::size_t budget) {
  unz_file_info64 info{};
  char name[kLongestName + 2] = "";
  if (unzGetCurrentFileInfo64(file, &info, name, sizeof name - 1, nullptr, 0, nullptr, 0) !=
      UNZ_OK) {
    refuse(path, "is damaged: its directory of entries cannot be read");
  }
  const std::string_view found(name, std::min<std::size_t>(info.size_filename, sizeof name - 1));
  if (info.size_filename > kLongestName || !is_name(found)) {
    refuse(path, "has an entry with a name that is not allowed");
  }
  ArchiveEntry entry{std::string(found), {}};
  if (info.compression_method != 0 || info.flag != 0 ||
      info.compressed_size != info.uncompressed_size) {
    refuse(path, "its entry " + entry.name + " is compressed or encrypted; bundles store entries");
  }
  if (info.uncompressed_size > budget) {
    refuse(path, "its entry " + entry.name + " claims more bytes than the archive holds");
  }
  entry.bytes.resize(info.uncompressed_size);
  if (unzOpenCurrentFile(file) != UNZ_OK) {
    refuse(path, "is damaged: its entry " + entry.name + " cannot be opened");
  }
  const int read =
      unzReadCurrentFile(file, entry.bytes.data(), static_cast<unsigned>(entry.bytes.size()));
  const bool whole = unzCloseCurrentFile(file) == UNZ_OK;  // compares the CRC
  if (read != static_cast<int>(entry.bytes.size()) || !whole) {
    refuse(path, "is damaged: its entry " + entry.name + " is not whole");
  }
  return entry;
}

void add_entry(zipFile file, const ArchiveEntry& entry) {
  zip_fileinfo info{};
  info.tmz_date = {0, 0, 0, 1, 0, 1980};  // the first day that the format knows
  info.external_fa = 0100644UL << 16U;    // a plain file, readable by all
  constexpr uLong kMadeByUnix = 3UL << 8U | 20UL;
  bool good = zipOpenNewFileInZip4_64(file, entry.name.c_str(), &info, nullptr, 0, nullptr, 0,
                                      nullptr, 0, 0, 0, -MAX_WBITS, DEF_MEM_LEVEL,
                                      Z_DEFAULT_STRATEGY, nullptr, 0, kMadeByUnix, 0, 0) == ZIP_OK;
  good = good && zipWriteInFileInZip(file, entry.bytes.data(),
                                     static_cast<unsigned>(entry.bytes.size())) == ZIP_OK;
  ABBA_CHECK(good && zipCloseFileInZip(file) == ZIP_OK);  // memory does not refuse
}

}  // namespace

std::string write_archive(const std::vector<ArchiveEntry>& entries) {
  std::set<std::string_view> names;
  std::size_t total = 0;
  for (const ArchiveEntry& entry : entries) {
    total += entry.bytes.size();
    if (!is_name(entry.name) || !names.insert(entry.name).second) {
      refuse(entry.name, "is no name for an entry of an archive, or stands twice");
    }
  }
  if (total > ArchiveLimits{}.max_bytes) {
    refuse("archive", "would be larger than a bundle may be");
  }
  Stream stream;
  stream.writing = true;
  zlib_filefunc64_def calls = functions(stream);
  const zipFile file = zipOpen2_64("archive", APPEND_STATUS_CREATE, nullptr, &calls);
  ABBA_CHECK(file != nullptr);
  for (const ArchiveEntry& entry : entries) {
    add_entry(file, entry);
  }
  ABBA_CHECK(zipClose(file, nullptr) == ZIP_OK);
  return std::move(stream.written);
}

std::vector<ArchiveEntry> read_archive(std::string_view bytes, const std::string& path,
                                       const ArchiveLimits& limits) {
  if (bytes.size() > limits.max_bytes) {
    refuse(path, "is larger than a bundle may be");
  }
  if (!is_archive(bytes)) {
    refuse(path, "is no zip archive");
  }
  Stream stream;
  stream.read_only = bytes;
  zlib_filefunc64_def calls = functions(stream);
  const Unzip file(unzOpen2_64("archive", &calls));
  unz_global_info64 global{};
  if (file == nullptr || unzGetGlobalInfo64(file.get(), &global) != UNZ_OK) {
    refuse(path, "is damaged: it has no directory of entries (cut off?)");
  }
  if (global.number_entry > limits.max_entries) {
    refuse(path, "holds more entries than a bundle may");
  }
  std::vector<ArchiveEntry> entries;
  std::size_t budget = bytes.size();
  for (int code = unzGoToFirstFile(file.get()); code == UNZ_OK;
       code = unzGoToNextFile(file.get())) {
    if (entries.size() == limits.max_entries) {
      refuse(path, "holds more entries than a bundle may");
    }
    entries.push_back(read_entry(file.get(), path, budget));
    budget -= entries.back().bytes.size();
  }
  // One text, one meaning: whatever else lies between or behind the entries shows here.
  if (write_archive(entries) != bytes) {
    refuse(path, "is not as abba writes a bundle: it was repacked, or holds more than its entries");
  }
  return entries;
}

bool is_archive(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

}  // namespace abba::store
