// SHA-256 (FIPS 180-4) through OpenSSL's libcrypto, the only file that includes it on the engine's
// side.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace abba::base {

// Incremental digest: update() any number of times, then hex_digest() once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, std::size_t size_bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // 64 lower-case hexadecimal digits; the object must not be updated afterwards.
  [[nodiscard]] std::string hex_digest();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);

// Digest of a file's bytes, read in pieces. Throws Error(kBroken) naming the file if it cannot be
// read.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace abba::base
