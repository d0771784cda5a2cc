// Making a digest stand elsewhere.
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
using base::ErrorCode;
using base::Json;

std::string run(const std::vector<std::string>& argv, const fs::path& folder,
                const std::string& input = {}) {
  const manifest::CommandResult result = manifest::run_command(argv, folder, input);
  if (result.exit_code == 127) {
    throw Error(ErrorCode::kBroken, argv[0], "cannot be started; install it");
  }
  if (result.exit_code != 0) {
    throw Error(ErrorCode::kBroken, argv[0], "failed: " + std::string(base::trim(result.err)));
  }
  return result.out;
}

// The authority's certificates, which can be read as such.
std::string certificates(const AnchorRequest& request) {
  const bool is_url =
      request.authority.rfind("http://", 0) == 0 || request.authority.rfind("https://", 0) == 0;
  if (!is_url || request.ca_file.empty()) {
    throw Error(
        ErrorCode::kBadInput, "--anchor rfc3161",
        "needs --authority URL (http or https) and --ca FILE, the authority's certificates");
  }
  std::string ca = base::read_file(request.ca_file, std::size_t{1} << 18U);
  (void)ca_fingerprint(ca);
  return ca;
}

Json stamped(const AnchorRequest& request, const std::string& digest, const fs::path& folder) {
  const std::string ca = certificates(request);
  const std::string reply =
      run({"curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--max-filesize",
           "100000", "--header", "Content-Type: application/timestamp-query", "--data-binary", "@-",
           "--", request.authority},
          folder, time_stamp_request(digest));
  const TimeStamp stamp = check_time_stamp(reply, digest, ca);
  return Json::object({{"method", "rfc3161"},
                       {"utc", stamp.utc},
                       {"authority", request.authority},
                       {"reply", to_base64(reply)},
                       {"ca", ca}});
}

// A password in a URL is nobody's evidence.
std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.find('@');
  const std::size_t path = scheme == std::string::npos ? 0 : url.find('/', scheme + 3);
  const bool has_user = scheme != std::string::npos && at != std::string::npos && at < path;
  return has_user ? url.substr(0, scheme + 3) + url.substr(at + 1) : url;
}

Json pushed(const AnchorRequest& request, const std::string& digest, const fs::path& folder,
            std::int64_t now) {
  const std::string text = anchor_text(digest);
  const std::string object(base::trim(run({"git", "hash-object", "-w", "--stdin"}, folder, text)));
  const std::string ref = anchor_ref(digest);
  run({"git", "update-ref", ref, object}, folder);
  run({"git", "push", "--quiet", "--", request.remote, ref}, folder);
  const std::string url(
      base::trim(run({"git", "remote", "get-url", "--", request.remote}, folder)));
  return Json::object({{"method", "git-remote"},
                       {"utc", base::utc_text(now)},
                       {"remote", without_password(url)},
                       {"ref", ref},
                       {"object", object}});
}

Json written(const std::string& file, const std::string& digest, const std::string& manifest_id,
             std::int64_t now) {
  const std::string utc = base::utc_text(now);
  base::append_line(file, utc + " " + digest + " " + manifest_id + "\n");
  return Json::object(
      {{"method", "file"}, {"utc", utc}, {"file", fs::path(file).filename().string()}});
}

}  // namespace

void require_sound(const AnchorRequest& request) {
  if (request.method == "git-remote") return;  // what a remote takes only the remote knows
  if (request.method == "rfc3161") {
    (void)certificates(request);
    return;
  }
  const fs::path folder = fs::absolute(request.method).parent_path();
  if (fs::is_directory(request.method) || !fs::is_directory(folder)) {
    throw Error(ErrorCode::kBadInput, "--anchor " + request.method,
                "is no file and cannot become one; name rfc3161, git-remote, or a file in a folder "
                "that exists");
  }
}

std::string anchor_text(const std::string& lock_digest) {
  return "abba.anchor/1\nlock " + lock_digest + "\n";
}

std::string anchor_ref(const std::string& lock_digest) {
  return "refs/tags/abba/" + lock_digest.substr(0, 16);
}

Json make_anchor(const AnchorRequest& request, const record::Registration& lock,
                 const std::string& manifest_id, const manifest::Project& project,
                 std::int64_t unix_seconds) {
  if (request.method == "rfc3161") return stamped(request, lock.lock_digest, project.root);
  if (request.method == "git-remote") {
    return pushed(request, lock.lock_digest, project.root, unix_seconds);
  }
  return written(request.method, lock.lock_digest, manifest_id, unix_seconds);
}

}  // namespace abba::evidence
