#include "engine/text/token_decoder.h"

#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/text/tokenizer_file.h"
#include "engine/text/unicode.h"

namespace abba::text {
namespace {

using base::Json;

// Bytes of the ill-formed sequence at `i` that one U+FFFD stands for: the longest beginning of a
// well-formed one (Unicode 15, section 3.9, "substitution of maximal subparts").
std::size_t maximal_subpart(std::string_view bytes, std::size_t i) {
  for (std::size_t size = 3; size > 1; --size) {
    if (i + size > bytes.size()) continue;
    // A beginning is well-formed if some continuation completes it.
    for (const std::string_view rest : {"\x80", "\x80\x80", "\xBF", "\xBF\xBF"}) {
      const std::string whole = std::string(bytes.substr(i, size)) + std::string(rest);
      if (base::utf8_sequence_length(whole, 0) == whole.size()) return size;
    }
  }
  return 1;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t size = base::utf8_sequence_length(bytes, i);
    if (size > 0) {
      out += bytes.substr(i, size);
      i += size;
    } else {
      out += base::kReplacementCharacter;
      i += maximal_subpart(bytes, i);
    }
  }
  return out;
}

const std::unordered_map<char32_t, char>& bytes_of_symbols() {
  static const std::unordered_map<char32_t, char> kBytes = [] {
    std::unordered_map<char32_t, char> bytes;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bytes[byte_symbol(static_cast<unsigned char>(byte))] = static_cast<char>(byte);
    }
    return bytes;
  }();
  return kBytes;
}

// The bytes that the symbols of `piece` stand for; `piece` itself if one of them is no symbol (a
// run of spaces, say).
std::string bytes_of(const std::string& piece) {
  std::string bytes;
  for (std::size_t i = 0; i < piece.size();) {
    const CodePoint point = code_point_at(piece, i);
    const auto found = bytes_of_symbols().find(point.value);
    if (found == bytes_of_symbols().end()) return piece;
    bytes.push_back(found->second);
    i += point.size_bytes;
  }
  return bytes;
}

// "<0x0A>" to its byte.
std::optional<char> fallback_byte(const std::string& piece) {
  if (piece.size() != 6 || piece.rfind("<0x", 0) != 0 || piece[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const char* end = piece.data() + 5;
  const auto read = std::from_chars(piece.data() + 3, end, byte, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return static_cast<char>(byte);
}

// A run of bytes is text if all of it is UTF-8, else one U+FFFD a byte.
std::vector<std::string> with_bytes_joined(const std::vector<std::string>& pieces) {
  std::vector<std::string> out;
  std::string bytes;
  const auto flush = [&] {
    if (!bytes.empty() && !first_invalid_utf8(bytes)) {
      out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), std::string(base::kReplacementCharacter));
    }
    bytes.clear();
  };
  for (const std::string& piece : pieces) {
    if (const auto byte = fallback_byte(piece)) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    out.push_back(piece);
  }
  flush();
  return out;
}

std::string joined(const std::vector<std::string>& pieces, std::string_view between = "") {
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += between;
    text += pieces[i];
  }
  return text;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(from, at)) != std::string::npos;) {
    out += text.substr(at, found - at) + to;
    at = found + from.size();
  }
  return out + text.substr(at);
}

}  // namespace

TokenDecoder TokenDecoder::parse(const Json* decoder, std::string_view where) {
  TokenDecoder result;
  result.where_ = where;
  if (decoder != nullptr && !decoder->is_null()) result.add(*decoder, where);
  return result;
}

void TokenDecoder::add(const Json& decoder, std::string_view where) {
  const std::string& type = decoder.get_string("type", where);
  if (type == "Sequence") {
    for (const Json& step : decoder.get_array("decoders", where)) add(step, where);
  } else if (type == "ByteLevel") {
    steps_.push_back({Kind::kByteLevel, "", "", false});
  } else if (type == "ByteFallback") {
    steps_.push_back({Kind::kByteFallback, "", "", false});
  } else if (type == "Fuse") {
    steps_.push_back({Kind::kFuse, "", "", false});
  } else if (type == "Metaspace") {
    const Json* scheme = decoder.find("prepend_scheme");
    const bool never = scheme != nullptr && scheme->is_string() && scheme->as_string() == "never";
    steps_.push_back({Kind::kMetaspace, decoder.get_string("replacement", where), " ", !never});
  } else if (type == "Replace" && decoder.at("pattern", where).find("String") != nullptr) {
    steps_.push_back({Kind::kReplace, decoder.at("pattern", where).get_string("String", where),
                      decoder.get_string("content", where), false});
  } else {
    unknown_ = type;
  }
}

std::vector<std::string> TokenDecoder::run(const Step& step, std::vector<std::string> pieces) {
  switch (step.kind) {
    case Kind::kByteLevel: {
      std::string bytes;
      for (const std::string& piece : pieces) bytes += bytes_of(piece);
      return {lossy_utf8(bytes)};
    }
    case Kind::kByteFallback:
      return with_bytes_joined(pieces);
    case Kind::kFuse:
      return {joined(pieces)};
    case Kind::kMetaspace:
    case Kind::kReplace:
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        pieces[i] = replaced(pieces[i], step.from, i == 0 && step.drops_first ? "" : step.to);
      }
      return pieces;
  }
  return pieces;
}

std::string TokenDecoder::decode(std::vector<std::string> pieces) const {
  if (!unknown_.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, where_,
                      "has the decoder \"" + unknown_ +
                          "\", which is not known here; ids cannot be turned back into text");
  }
  if (steps_.empty()) return joined(pieces, " ");
  for (const Step& step : steps_) pieces = run(step, std::move(pieces));
  return joined(pieces);
}

}  // namespace abba::text
