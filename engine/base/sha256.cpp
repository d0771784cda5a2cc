#include "engine/base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "engine/base/error.h"

namespace abba::base {

struct Sha256::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(handle); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  ABBA_CHECK(context_->handle != nullptr);
  ABBA_CHECK(EVP_DigestInit_ex(context_->handle, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size_bytes) {
  ABBA_CHECK(EVP_DigestUpdate(context_->handle, data, size_bytes) == 1);
}

std::string Sha256::hex_digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  ABBA_CHECK(EVP_DigestFinal_ex(context_->handle, bytes.data(), &size) == 1);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    text.push_back(kDigits[bytes[i] >> 4]);
    text.push_back(kDigits[bytes[i] & 15]);
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex_digest();
}

std::string sha256_file(const std::filesystem::path& path) {
  std::error_code unknown;  // what does not exist is said by opening it
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    throw Error(ErrorCode::kBroken, path.string(),
                "is no regular file, so it has no digest; name a file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    throw Error(ErrorCode::kBroken, path.string(), "cannot be opened: " + errno_text(errno));
  }
  Sha256 hash;
  std::vector<char> buffer(1U << 20U);
  for (;;) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    hash.update(buffer.data(), count);
    if (count < buffer.size()) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(ErrorCode::kBroken, path.string(), "cannot be read: " + errno_text(errno));
  }
  return hash.hex_digest();
}

}  // namespace abba::base
