// What is no time stamp is refused in one sentence; the whole way with an authority is walked by
// tests/integration/test_tamper_registration.py.
#include "harness/evidence/anchor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "harness/evidence/time_stamp.h"

namespace abba::evidence {
namespace {

using ::testing::HasSubstr;

const std::string kDigest(64, 'a');

// A certificate made for this test; its key was thrown away.
constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUBkkfVLVUfByDzcIOvqmkLcPvexUwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAwOTM1MjRaGA8yMTI2MTEwNjA5MzUy
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDfr
CAbWyxOLtTDum4iMMYGUlkXOB0IDAN0MZ2gP3T3ev7OQM2sYv+1eTB0pqEvRZv48
VcbRBUhPRsQOOXdi9NmjUzBRMB0GA1UdDgQWBBR8+NOgPXfZLUrCsTsXjPNJiFKc
fzAfBgNVHSMEGDAWgBR8+NOgPXfZLUrCsTsXjPNJiFKcfzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIB1iQQMl2w+rY5ju8uvpovsrwwPnnPsDsESY
DwKqLF/HAiBT2yupMVudEAll2UB8Kmkcu2AQowSjSaulG6cWhzbpbA==
-----END CERTIFICATE-----
)";

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Base64, ComesBackAtEveryLength) {
  base::Random draw(7);
  std::string bytes;
  for (int size = 0; size < 70; ++size) {
    bytes.push_back(static_cast<char>(draw.next_u64()));
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes) << size;
  }
  EXPECT_EQ(to_base64("any"), "YW55");
  EXPECT_NE(refusal([] { (void)from_base64("not base64!"); }), "");
}

TEST(TimeStamp, RequestIsDerThatHoldsTheDigest) {
  const std::string request = time_stamp_request(kDigest);
  EXPECT_THAT(request, HasSubstr(std::string(32, '\xaa')));
  EXPECT_EQ(request[0], '\x30');
  EXPECT_EQ(static_cast<std::size_t>(request[1]), request.size() - 2);
}

TEST(TimeStamp, RubbishIsRefusedInOneSentence) {
  EXPECT_THAT(refusal([] { (void)check_time_stamp("", kDigest, kCertificate); }),
              HasSubstr("is no RFC 3161 reply"));
  EXPECT_THAT(refusal([] { (void)check_time_stamp("{\"json\": 1}", kDigest, kCertificate); }),
              HasSubstr("is no RFC 3161 reply"));
  const std::string refused("\x30\x05\x30\x03\x02\x01\x02", 7);  // status 2: rejection, no token
  EXPECT_THAT(refusal([&] { (void)check_time_stamp(refused, kDigest, kCertificate); }),
              HasSubstr("was not granted"));
  EXPECT_THAT(refusal([] { (void)ca_fingerprint("no certificate"); }),
              HasSubstr("hold no certificate"));
  EXPECT_EQ(ca_fingerprint(kCertificate).size(), 64U);
}

}  // namespace
}  // namespace abba::evidence
