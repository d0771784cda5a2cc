#include "harness/manifest/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/record/names.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;
using record::LedgerEvent;

constexpr std::string_view kLedgerSchema = "abba.ledger/1";

Json without_digest(const LedgerEvent& event) {
  Json parents = Json::array();
  for (const std::string& parent : event.parents) parents.push_back(parent);
  return Json::object({{"schema", kLedgerSchema},
                       {"event", record::name(event.kind)},
                       {"utc", event.utc},
                       {"lock", event.lock_digest},
                       {"parents", parents},
                       {"details", event.details}});
}

LedgerEvent read_event(const fs::path& file) {
  base::JsonLimits limits;
  limits.max_bytes = std::size_t{1} << 20U;
  limits.max_depth = 32;
  const std::string where = file.filename().string();
  const Json root = base::parse_json_file(file.string(), limits);
  LedgerEvent event;
  event.file = where;
  event.utc = root.get_string("utc", where);
  event.lock_digest = root.get_string("lock", where);
  event.digest = root.get_string("digest", where);
  event.details = root.at("details", where);
  const auto kind = record::parse_name<record::LedgerEventKind>(root.get_string("event", where));
  if (!kind) throw Error(ErrorCode::kBadInput, where, "names no known event");
  event.kind = *kind;
  for (const Json& parent : root.get_array("parents", where)) {
    if (!parent.is_string()) throw Error(ErrorCode::kBadInput, where, "has a parent of no text");
    event.parents.push_back(parent.as_string());
  }
  Json content = root;
  content.erase("digest");
  if (base::sha256_hex(content.canonical()) != event.digest) {
    throw Error(ErrorCode::kEvidence, where, "was changed: its content has another digest");
  }
  return event;
}

// Parents before children; among the free ones the oldest first.
std::vector<LedgerEvent> in_order(std::vector<LedgerEvent> events) {
  std::sort(events.begin(), events.end(), [](const LedgerEvent& a, const LedgerEvent& b) {
    return std::tie(a.utc, a.file) < std::tie(b.utc, b.file);
  });
  std::set<std::string> waiting;
  for (const LedgerEvent& event : events) waiting.insert(event.digest);
  std::vector<LedgerEvent> ordered;
  while (!events.empty()) {
    auto next = std::find_if(events.begin(), events.end(), [&](const LedgerEvent& event) {
      return std::none_of(event.parents.begin(), event.parents.end(),
                          [&](const std::string& parent) { return waiting.count(parent) > 0; });
    });
    if (next == events.end()) next = events.begin();  // a cycle cannot have true digests
    waiting.erase(next->digest);
    ordered.push_back(*next);
    events.erase(next);
  }
  return ordered;
}

// "2026-11-29T14:47:31Z" as it stands in file names.
std::string compact(const std::string& utc) {
  std::string result;
  std::copy_if(utc.begin(), utc.end(), std::back_inserter(result),
               [](char c) { return c != '-' && c != ':'; });
  return result;
}

// What the name of an event's file begins with.
std::string file_stem(const LedgerEvent& event) {
  return compact(event.utc) + "-" + record::short_digest(event.lock_digest) + "-" +
         std::string(record::name(event.kind));
}

// A copy under another name, or one event renamed to look like another.
void find_misplaced(LedgerReading& reading) {
  std::map<std::string, std::string> files;
  for (const LedgerEvent& event : reading.events) {
    if (event.file.rfind(file_stem(event), 0) != 0) {
      reading.problems.push_back(event.file + ": holds the event that is written as " +
                                 file_stem(event) + ".json");
    }
    const auto [first, is_new] = files.insert({event.digest, event.file});
    if (!is_new) {
      reading.problems.push_back(event.file + ": is the same event as " + first->second);
    }
  }
}

void find_losses(LedgerReading& reading) {
  for (const LedgerEvent& event : reading.events) {
    const std::string digest = event.details.text_or_empty("missing");
    if (event.kind == record::LedgerEventKind::kLossAcknowledged && !reading.holds(digest)) {
      reading.losses.push_back({digest, event.details.text_or_empty("kind"), event.utc,
                                event.details.text_or_empty("reason")});
    }
  }
}

void find_heads(LedgerReading& reading) {
  std::set<std::string> known;
  std::set<std::string> named;
  for (const LedgerEvent& event : reading.events) {
    known.insert(event.digest);
    named.insert(event.parents.begin(), event.parents.end());
  }
  for (const LedgerEvent& event : reading.events) {
    if (named.count(event.digest) == 0) reading.heads.push_back(event.digest);
    for (const std::string& parent : event.parents) {
      if (known.count(parent) == 0 && !reading.acknowledges(parent)) {
        reading.missing.push_back({parent, ""});
        reading.problems.push_back(event.file + ": names parent " + record::short_digest(parent) +
                                   ", which is missing");
      }
    }
  }
  std::sort(reading.heads.begin(), reading.heads.end());
}

// False if the name is taken. Written under another name first, so a crash leaves no half event.
bool create_whole(const fs::path& path, const std::string& bytes) {
  const std::string temporary = path.string() + ".new" + std::to_string(::getpid());
  base::write_file_atomically(temporary, bytes);
  const int linked = ::link(temporary.c_str(), path.c_str());
  const int reason = errno;
  ::unlink(temporary.c_str());
  if (linked == 0) return true;
  if (reason == EEXIST) return false;
  // File systems without hard links: exclusive creation is the next best.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0 && errno == EEXIST) return false;
  const bool written = descriptor >= 0 && ::write(descriptor, bytes.data(), bytes.size()) ==
                                              static_cast<ssize_t>(bytes.size());
  const int write_reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written) {
    if (descriptor >= 0) ::unlink(path.c_str());
    throw Error(ErrorCode::kBroken, path.string(),
                "cannot be written: " + base::errno_text(write_reason));
  }
  return true;
}

}  // namespace

LedgerReading read_ledger(const fs::path& folder) {
  LedgerReading reading;
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") files.push_back(it->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    reading.problems.push_back(folder.string() + ": cannot be read: " + error.message());
  }
  std::sort(files.begin(), files.end());
  std::vector<LedgerEvent> events;
  for (const fs::path& file : files) {
    try {
      events.push_back(read_event(file));
    } catch (const Error& problem) {
      reading.problems.push_back(problem.what());
    }
  }
  reading.events = in_order(std::move(events));
  find_misplaced(reading);
  find_losses(reading);
  find_heads(reading);
  return reading;
}

LedgerEvent append_event(const fs::path& folder, record::LedgerEventKind kind,
                         const std::string& lock_digest, const Json& details,
                         std::int64_t unix_seconds) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kBroken, folder.string(), "cannot be created: " + error.message());
  }
  LedgerEvent event;
  event.kind = kind;
  event.utc = base::utc_text(unix_seconds);
  event.lock_digest = lock_digest;
  event.parents = read_ledger(folder).heads;
  event.details = details.is_object() ? details : Json::object();
  event.digest = base::sha256_hex(without_digest(event).canonical());
  Json object = without_digest(event);
  object.set("digest", event.digest);
  const std::string stem = file_stem(event);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    event.file = stem + (attempt == 1 ? "" : "-" + std::to_string(attempt)) + ".json";
    if (create_whole(folder / event.file, object.dump_pretty())) return event;
  }
  throw Error(ErrorCode::kBroken, (folder / stem).string(), "exists a thousand times already");
}

}  // namespace abba::manifest
