#include "engine/base/utf8.h"

namespace abba::base {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Two bytes of C1, which terminals take for commands: U+0080 to U+009F.
bool is_c1(std::string_view sequence) {
  return byte_at(sequence, 0) == 0xC2 && byte_at(sequence, 1) <= 0x9F;
}

// Makes text look other than it is: bidirectional marks and embeddings, line separators.
bool misleads(std::string_view sequence) {
  const unsigned char last = byte_at(sequence, sequence.size() - 1);
  if (sequence.starts_with("\xE2\x80")) {
    return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
  }
  return sequence == "\xD8\x9C" ||
         (sequence.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9);
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

namespace {

// `kept`: control characters that stay.
std::string clean(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence_length(text, i);
    const std::string_view sequence = text.substr(i, length == 0 ? 1 : length);
    const unsigned char byte = byte_at(text, i);
    const bool control = length == 1 && (byte < 0x20 || byte == 0x7F) &&
                         kept.find(text[i]) == std::string_view::npos;
    if (length == 0 || misleads(sequence)) {
      out += kReplacementCharacter;
    } else if (control || is_c1(sequence)) {
      out += ' ';
    } else {
      out += sequence;
    }
    i += sequence.size();
  }
  return out;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  return clean(text, "");
}

std::string clean_lines(std::string_view text) {
  return clean(text, "\n\t");
}

}  // namespace abba::base
