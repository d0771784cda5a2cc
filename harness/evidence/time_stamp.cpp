#include "harness/evidence/time_stamp.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::evidence {
namespace {

using base::Error;
using base::ErrorCode;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using Request = std::unique_ptr<TS_REQ, Freed<TS_REQ_free>>;
using Imprint = std::unique_ptr<TS_MSG_IMPRINT, Freed<TS_MSG_IMPRINT_free>>;
using Response = std::unique_ptr<TS_RESP, Freed<TS_RESP_free>>;
using Context = std::unique_ptr<TS_VERIFY_CTX, Freed<TS_VERIFY_CTX_free>>;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kEvidence, "time stamp", what);
}

// OpenSSL's own words for what went wrong, the first of them.
std::string reason() {
  char text[256] = "no reason given";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

std::vector<unsigned char> from_hex(const std::string& hex) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<Certificate> certificates(const std::string& pem) {
  const Bio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Certificate> found;
  while (X509* next = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(next);
  }
  ERR_clear_error();  // the end of the text is an "error" too
  if (found.empty()) {
    throw Error(ErrorCode::kBadInput, "the authority's certificates",
                "hold no certificate in PEM form; name the file that the authority publishes");
  }
  return found;
}

// Judged at the time stamped: a certificate that ran out since stamps nothing new, but what it
// stamped stays stamped.
Store trusting(const std::vector<Certificate>& certificates, std::time_t at) {
  Store store(X509_STORE_new());
  for (const Certificate& certificate : certificates) {
    X509_STORE_add_cert(store.get(), certificate.get());
  }
  X509_VERIFY_PARAM* parameters = X509_STORE_get0_param(store.get());
  X509_VERIFY_PARAM_set_time(parameters, at);
  return store;
}

// Seconds since the epoch, rounded up, the stated accuracy added.
std::time_t latest_time(TS_TST_INFO* info) {
  const ASN1_GENERALIZEDTIME* time = TS_TST_INFO_get_time(info);
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) refuse("states no time");
  std::time_t seconds = ::timegm(&parts);
  const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(time)),
                         static_cast<std::size_t>(ASN1_STRING_length(time)));
  bool up = text.find('.') != std::string::npos;
  if (TS_ACCURACY* accuracy = TS_TST_INFO_get_accuracy(info)) {
    const ASN1_INTEGER* whole = TS_ACCURACY_get_seconds(accuracy);
    if (whole != nullptr) seconds += ASN1_INTEGER_get(whole);
    up = up || TS_ACCURACY_get_millis(accuracy) != nullptr ||
         TS_ACCURACY_get_micros(accuracy) != nullptr;
  }
  return seconds + (up ? 1 : 0);
}

std::string signer_of(PKCS7* token) {
  STACK_OF(X509)* signers = PKCS7_get0_signers(token, nullptr, 0);
  const Bio text(BIO_new(BIO_s_mem()));
  if (signers != nullptr && sk_X509_num(signers) > 0) {
    X509_NAME_print_ex(text.get(), X509_get_subject_name(sk_X509_value(signers, 0)), 0,
                       XN_FLAG_RFC2253);
  }
  sk_X509_free(signers);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  ERR_clear_error();
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : "an unnamed authority";
}

}  // namespace

std::string time_stamp_request(const std::string& sha256) {
  std::vector<unsigned char> digest = from_hex(sha256);
  const Request request(TS_REQ_new());
  const Imprint imprint(TS_MSG_IMPRINT_new());
  X509_ALGOR* algorithm = X509_ALGOR_new();
  X509_ALGOR_set0(algorithm, OBJ_nid2obj(NID_sha256), V_ASN1_NULL, nullptr);
  TS_MSG_IMPRINT_set_algo(imprint.get(), algorithm);
  X509_ALGOR_free(algorithm);
  TS_MSG_IMPRINT_set_msg(imprint.get(), digest.data(), static_cast<int>(digest.size()));
  TS_REQ_set_version(request.get(), 1);
  TS_REQ_set_msg_imprint(request.get(), imprint.get());
  TS_REQ_set_cert_req(request.get(), 1);
  unsigned char* der = nullptr;
  const int size = i2d_TS_REQ(request.get(), &der);
  ABBA_CHECK(size > 0);
  std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

TimeStamp check_time_stamp(std::string_view reply, const std::string& sha256,
                           const std::string& ca_pem) {
  ERR_clear_error();
  const auto* bytes = reinterpret_cast<const unsigned char*>(reply.data());
  const Response response(d2i_TS_RESP(nullptr, &bytes, static_cast<long>(reply.size())));
  if (!response) refuse("is no RFC 3161 reply: " + reason());
  TS_TST_INFO* info = TS_RESP_get_tst_info(response.get());
  PKCS7* token = TS_RESP_get_token(response.get());
  if (info == nullptr || token == nullptr) refuse("was not granted by the authority");
  const std::time_t at = latest_time(info);
  const Context context(TS_VERIFY_CTX_new());
  TS_VERIFY_CTX_set_flags(context.get(), TS_VFY_VERSION | TS_VFY_IMPRINT | TS_VFY_SIGNATURE);
  // The context owns what it is given, and frees it the way OpenSSL allocated it.
  const std::vector<unsigned char> digest = from_hex(sha256);
  auto* imprint = static_cast<unsigned char*>(OPENSSL_memdup(digest.data(), digest.size()));
  TS_VERIFY_CTX_set_imprint(context.get(), imprint, static_cast<long>(digest.size()));
  TS_VERIFY_CTX_set_store(context.get(), trusting(certificates(ca_pem), at).release());
  if (TS_RESP_verify_response(context.get(), response.get()) != 1) {
    refuse("does not hold: " + reason());
  }
  return {base::utc_text(at), signer_of(token)};
}

std::string ca_fingerprint(const std::string& ca_pem) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  X509_digest(certificates(ca_pem).front().get(), EVP_sha256(), digest, &size);
  std::string text;
  char two[3];
  for (unsigned int i = 0; i < size; ++i) {
    std::snprintf(two, sizeof two, "%02x", digest[i]);
    text += two;
  }
  return text;
}

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string from_base64(const std::string& text) {
  std::string bytes(3 * (text.size() / 4) + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0 || text.empty()) refuse("is stored in no readable form");
  const auto padding = static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with('='));
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

}  // namespace abba::evidence
