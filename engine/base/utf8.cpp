#include "engine/base/utf8.h"

namespace abba::base {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  const auto follows = [&](std::size_t k) { return (byte_at(text, i + k) & 0xC0U) == 0x80U; };
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  const unsigned char second = byte_at(text, i + 1);
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool legal = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F);
    return legal && follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool legal = !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
    return legal && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence_length(text, i);
    if (length == 0) {
      out += kReplacementCharacter;
      ++i;
    } else if (length == 1 && (byte_at(text, i) < 0x20 || byte_at(text, i) == 0x7F)) {
      out += ' ';
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

}  // namespace abba::base
