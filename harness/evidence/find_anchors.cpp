// What the anchors of a registration prove at the moment of asking.
#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/evidence/anchor.h"
#include "harness/evidence/anchor_text.h"
#include "harness/evidence/time_stamp.h"
#include "harness/manifest/command.h"

namespace abba::evidence {
namespace {

namespace fs = std::filesystem;
using base::Error;
using record::LedgerEvent;

// "2026-11-29T14:47:31Z": in this form text order is time order.
bool is_utc(const std::string& text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    return form == '0' ? c >= '0' && c <= '9' : c == form;
  });
}

class Finder {
 public:
  Finder(const std::string& lock_digest, const AnchorSources& sources)
      : digest_(lock_digest), sources_(sources) {}

  void look_at(const LedgerEvent& event) {
    const std::string method = event.details.text_or_empty("method");
    try {
      if (method == "rfc3161") {
        time_stamp(event.details);
      } else if (method == "git-remote") {
        git_remote(event.details);
      } else if (method == "file") {
        const std::string name = event.details.text_or_empty("file");
        if (sources_.kept_file.empty()) {
          not_done("the line was written to " + name +
                   "; whoever keeps that file verifies with --anchor FILE");
        }
      } else {
        not_done("the method \"" + method + "\" is not known to this version");
      }
    } catch (const Error& error) {
      fails(method + ": " + error.what());
    }
  }

  // What the reader brings must vouch for this registration: that is what it was brought for.
  void kept_file() {
    if (sources_.kept_file.empty()) return;
    for (const std::string& line : base::split(base::read_file(sources_.kept_file), '\n')) {
      const std::vector<std::string> words = base::split(line, ' ');
      if (words.size() >= 2 && words[1] == digest_ && is_utc(words[0])) {
        holds({"the file " + fs::path(sources_.kept_file).filename().string() +
                   " (kept by whoever gave it to verify)",
               words[0], digest_});
        return;
      }
    }
    fails(sources_.kept_file + " does not name registration " + record::short_digest(digest_));
  }

  AnchorFindings take() { return std::move(found_); }

 private:
  void holds(Anchor anchor) {
    found_.checks.push_back({"anchor", Outcome::kHolds, anchor.where + ", " + anchor.utc});
    found_.anchors.push_back(std::move(anchor));
  }
  void fails(const std::string& why) { found_.checks.push_back({"anchor", Outcome::kFails, why}); }
  void not_done(const std::string& why) {
    found_.checks.push_back({"anchor", Outcome::kNotDone, why});
  }

  void time_stamp(const base::Json& details) {
    const bool is_own = !sources_.ca_file.empty();
    const std::string ca = is_own ? base::read_file(sources_.ca_file, std::size_t{1} << 18U)
                                  : details.text_or_empty("ca");
    const TimeStamp stamp =
        check_time_stamp(from_base64(details.text_or_empty("reply")), digest_, ca);
    holds(
        {"the time stamp of " + stamp.authority + " (certificate " +
             ca_fingerprint(ca).substr(0, 16) +
             (is_own ? ", named by the reader)" : ", stored by the author; name yours with --ca)"),
         stamp.utc, digest_});
  }

  // A repository that the reader names is asked, never one that the ledger names.
  void git_remote(const base::Json& details) {
    const std::string remote = details.text_or_empty("remote");
    const std::string& repository = sources_.mirror;
    if (repository.empty()) {
      not_done("tag " + anchor_ref(digest_) + " was pushed to " + remote +
               "; when it came there a mirror's reflog can say: verify with --mirror FOLDER");
      return;
    }
    const std::string object = line({"git", "hash-object", "--stdin"}, ".", anchor_text(digest_));
    const std::string ref = anchor_ref(digest_);
    const std::string there = line({"git", "rev-parse", "--verify", "--quiet", ref}, repository);
    if (there != object) {
      fails("git-remote: " + ref + " of " + repository +
            (there.empty() ? " is gone" : " names another object"));
      return;
    }
    const std::string utc = first_seen(repository, ref, object);
    if (utc.empty()) {
      not_done(ref + " stands in " + repository +
               ", which keeps no reflog of tags: it cannot say since when");
      return;
    }
    holds({"tag " + ref.substr(10) + " of " + remote + " (seen by the reader's mirror)", utc,
           digest_});
  }

  static std::string line(const std::vector<std::string>& argv, const std::string& folder,
                          const std::string& input = {}) {
    const auto result = manifest::run_command(argv, folder, input);
    return result.exit_code == 0 ? std::string(base::trim(result.out)) : std::string();
  }

  // The earliest entry of the ref's reflog that set it to the object, in UTC; or nothing.
  static std::string first_seen(const std::string& repository, const std::string& ref,
                                const std::string& object) {
    const std::string folder = line({"git", "rev-parse", "--absolute-git-dir"}, repository);
    std::error_code ignored;
    const fs::path log = fs::path(folder) / "logs" / ref;
    if (folder.empty() || !fs::is_regular_file(log, ignored)) return {};
    for (const std::string& entry : base::split(base::read_file(log.string()), '\n')) {
      // OLD NEW NAME <MAIL> SECONDS ZONE\tMESSAGE
      const std::size_t end = entry.find("> ");
      const std::vector<std::string> ids = base::split(entry, ' ');
      if (end != std::string::npos && ids.size() > 2 && ids[1] == object) {
        return base::utc_text(std::strtoll(entry.c_str() + end + 2, nullptr, 10));
      }
    }
    return {};
  }

  const std::string& digest_;
  const AnchorSources& sources_;
  AnchorFindings found_;
};

}  // namespace

AnchorFindings find_anchors(const manifest::LedgerReading& ledger, const std::string& lock_digest,
                            const AnchorSources& sources) {
  Finder finder(lock_digest, sources);
  for (const LedgerEvent& event : ledger.events) {
    if (event.kind == record::LedgerEventKind::kAnchored && event.lock_digest == lock_digest) {
      finder.look_at(event);
    }
  }
  finder.kept_file();
  return finder.take();
}

}  // namespace abba::evidence
