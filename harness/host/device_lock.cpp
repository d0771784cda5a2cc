#include "harness/host/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

using base::Error;
using base::ErrorCode;

std::string lock_path(const std::filesystem::path& folder, const std::string& uuid) {
  return (folder / ("abba-device-" + uuid + ".lock")).string();
}

std::string boot_id(const SystemRoot& root) {
  return read_line(root.proc / "sys/kernel/random/boot_id").value_or("unknown");
}

std::string read_all(int file) {
  std::array<char, 1024> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

struct Holder {
  std::string process = "a process that did not write its name";
  std::string since;
  std::string boot;
};

Holder holder_of(const std::string& text) {
  Holder holder;
  try {
    const base::Json json = base::parse_json(text, "lock");
    const base::Json* pid = json.find("pid");
    if (pid != nullptr && pid->is_int()) {
      holder.process = "process " + std::to_string(pid->as_int());
    }
    holder.since = json.text_or_empty("since_utc");
    holder.boot = json.text_or_empty("boot_id");
  } catch (const Error&) {  // half written by a harness that died: its name is lost
  }
  return holder;
}

std::string since_text(const Holder& holder) {
  return holder.since.empty() ? "" : ", since " + holder.since;
}

// A file of another user in a sticky folder can be opened, but not with O_CREAT.
int open_lock_file(const std::string& path) {
  for (const int flags : {O_RDWR, O_RDWR | O_CREAT | O_EXCL, O_RDWR, O_RDONLY}) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0) {
      if ((flags & O_CREAT) != 0) (void)::fchmod(file, 0666);
      return file;
    }
  }
  return -1;
}

}  // namespace

std::filesystem::path device_lock_folder() {
  return "/tmp";
}

DeviceLock::DeviceLock(const std::filesystem::path& folder, const std::string& uuid,
                       const std::string& since_utc, const SystemRoot& root)
    : path_(lock_path(folder, uuid)) {
  file_ = open_lock_file(path_);
  if (file_ < 0) {
    throw Error(ErrorCode::kPreflight, path_,
                "cannot be opened to reserve the device: " + base::errno_text(errno) +
                    "; make it readable, or remove it if no harness runs");
  }
  const std::string left = read_all(file_);
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    const Holder holder = holder_of(left);
    throw Error(ErrorCode::kPreflight, uuid,
                "is reserved by another harness (" + holder.process + since_text(holder) +
                    "); wait for it to end, or name another device");
  }
  const std::string boot = boot_id(root);
  if (!left.empty()) {
    const Holder holder = holder_of(left);
    stale_ =
        holder.process + (holder.boot == boot ? "" : " of an earlier boot") + since_text(holder);
  }
  const std::string text = base::Json::object({{"pid", static_cast<std::int64_t>(::getpid())},
                                               {"boot_id", boot},
                                               {"since_utc", since_utc}})
                               .dump() +
                           "\n";
  // Where the file belongs to another user only the lock counts, not the text.
  if (::ftruncate(file_, 0) == 0) (void)!::pwrite(file_, text.data(), text.size(), 0);
}

DeviceLock::~DeviceLock() {
  (void)!::ftruncate(file_, 0);
  ::close(file_);
}

std::string device_holder(const std::filesystem::path& folder, const std::string& uuid) {
  const int file = ::open(lock_path(folder, uuid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return "";
  std::string text;
  if (::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    const Holder holder = holder_of(read_all(file));
    text = "another harness (" + holder.process + since_text(holder) + ")";
  }
  ::close(file);
  return text;
}

}  // namespace abba::host
