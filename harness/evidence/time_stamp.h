// RFC 3161 time stamps of a digest: the request, and what a reply proves, with OpenSSL's TS_*
// functions. Checking is offline: reply, digest and the authority's certificates are all it needs.
#pragma once

#include <string>
#include <string_view>

namespace abba::evidence {

// The DER request for a SHA-256 digest (64 hexadecimal digits) that asks for the authority's
// certificate to be included.
std::string time_stamp_request(const std::string& sha256);

struct TimeStamp {
  std::string utc;        // when the authority saw the digest, plus its stated accuracy, rounded up
  std::string authority;  // subject of the certificate that signed
};

// Checks that `reply` (DER) stamps this digest, is signed by a certificate for time stamping, and
// that it leads to one of the certificates in `ca_pem`, all valid at the time stamped (revocation
// is not asked for: that would need the network). Throws Error(kEvidence) with what does not hold.
TimeStamp check_time_stamp(std::string_view reply, const std::string& sha256,
                           const std::string& ca_pem);

// The first certificate's SHA-256 fingerprint; Error(kBadInput) if the text holds none.
std::string ca_fingerprint(const std::string& ca_pem);

std::string to_base64(std::string_view bytes);
// Throws Error(kEvidence) if the text is none.
std::string from_base64(const std::string& text);

}  // namespace abba::evidence
