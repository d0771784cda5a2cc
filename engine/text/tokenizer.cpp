#include "engine/text/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/text/unicode.h"
#include "engine/text/word_split.h"

namespace abba::text {
namespace {

constexpr std::size_t kMaxFileBytes = 128U << 20U;

// The vocabulary entry of a byte: its symbol in byte-level vocabularies, else "<0x0A>".
std::string byte_entry(TokenizerFile::Scheme scheme, unsigned char byte) {
  std::string entry;
  if (scheme == TokenizerFile::Scheme::kByteLevel) {
    append_utf8(byte_symbol(byte), entry);
    return entry;
  }
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "<0x%02X>", static_cast<unsigned>(byte));
  return buffer;
}

// The published vocabularies have no symbols for the bytes that well-formed UTF-8 never contains.
bool occurs_in_utf8(unsigned byte) {
  return byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
}

}  // namespace

struct Tokenizer::Work {
  std::vector<TokenId> ids;
  std::vector<TokenId> symbols;
  MergeScratch scratch;
};

Tokenizer::Tokenizer(TokenizerFile file, std::string_view where)
    : scheme_(file.scheme),
      nfc_(file.nfc),
      replace_spaces_(file.replace_spaces),
      byte_fallback_(file.byte_fallback),
      fuse_unknown_(file.fuse_unknown),
      unknown_(file.unknown),
      special_(file.special),
      merges_(std::move(file.merges)),
      decoder_(std::move(file.decoder)) {
  const bool byte_level = scheme_ == TokenizerFile::Scheme::kByteLevel;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = file.vocab.find(byte_entry(scheme_, static_cast<unsigned char>(byte)));
    byte_ids_[byte] = found == file.vocab.end() ? -1 : found->second;
    if (byte_level && byte_ids_[byte] < 0 && occurs_in_utf8(byte)) {
      throw base::Error(base::ErrorCode::kBadInput, std::string(where),
                        "the vocabulary lacks the symbol of byte " + std::to_string(byte));
    }
  }
  const auto keep = [&](const std::string& content, TokenId id) {
    if (static_cast<std::size_t>(id) >= pieces_.size()) pieces_.resize(std::size_t(id) + 1);
    pieces_[static_cast<std::size_t>(id)] = content;
  };
  for (const auto& [content, id] : file.vocab) {
    keep(content, id);
    if (byte_level || content.empty() || first_invalid_utf8(content)) continue;
    const CodePoint first = code_point_at(content, 0);
    if (first.size_bytes == content.size()) char_ids_.emplace(first.value, id);
  }
  for (AddedToken& token : file.added) {
    keep(token.content, token.id);
    if (token.normalized) {
      token.content = normalized(token.content);
      normalized_added_.add(token);
    } else {
      raw_added_.add(token);
    }
  }
}

Tokenizer Tokenizer::read(const std::string& tokenizer_dir) {
  const std::string json_path = tokenizer_dir + "/tokenizer.json";
  const std::string config_path = tokenizer_dir + "/tokenizer_config.json";
  const std::string json = base::read_file(json_path, kMaxFileBytes);
  const std::string config = base::read_file(config_path, kMaxFileBytes);
  return Tokenizer(parse_tokenizer_file(json, json_path, config, config_path), json_path);
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view config_json) {
  return Tokenizer(
      parse_tokenizer_file(tokenizer_json, "tokenizer.json", config_json, "tokenizer_config.json"),
      "tokenizer.json");
}

std::string_view Tokenizer::piece(TokenId id) const {
  if (id < 0 || id >= id_limit()) return {};
  return pieces_[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const TokenId id : ids) {
    const std::string_view spelling = piece(id);
    if (!spelling.empty()) pieces.emplace_back(spelling);
  }
  return decoder_.decode(std::move(pieces));
}

std::string Tokenizer::normalized(std::string_view text) const {
  if (nfc_) return nfc(text);
  return replace_spaces_ ? text::replace_spaces(text) : std::string(text);
}

void Tokenizer::byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  for (const char c : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
}

bool Tokenizer::push_bytes(std::string_view bytes, std::vector<TokenId>& symbols) const {
  const auto known = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] >= 0; };
  if (!std::all_of(bytes.begin(), bytes.end(), known)) return false;
  byte_symbols(bytes, symbols);
  return true;
}

// A character is its own entry, else its bytes, else unknown. Neighbouring unknown characters are
// one if fuse_unk says so; as in the original a pending unknown waits until the next known
// character or the end, even across bytes.
void Tokenizer::char_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  bool pending_unknown = false;
  const auto flush = [&] {
    if (pending_unknown) symbols.push_back(*unknown_);
    pending_unknown = false;
  };
  for (std::size_t offset = 0; offset < word.size();) {
    const CodePoint point = code_point_at(word, offset);
    const std::string_view bytes = word.substr(offset, point.size_bytes);
    offset += point.size_bytes;
    const auto found = char_ids_.find(point.value);
    if (found != char_ids_.end()) {
      flush();
      symbols.push_back(found->second);
    } else if (byte_fallback_ && push_bytes(bytes, symbols)) {
      continue;
    } else if (unknown_) {
      if (!fuse_unknown_) flush();
      pending_unknown = true;
    }
  }
  flush();
}

void Tokenizer::encode_words(std::string_view piece, Work& work) const {
  const bool byte_level = scheme_ == TokenizerFile::Scheme::kByteLevel;
  while (!piece.empty()) {
    const std::size_t size = byte_level ? first_gpt2_word(piece) : first_metaspace_word(piece);
    work.symbols.clear();
    if (byte_level) {
      byte_symbols(piece.substr(0, size), work.symbols);
    } else {
      char_symbols(piece.substr(0, size), work.symbols);
    }
    merge_symbols(merges_, work.symbols, work.scratch);
    work.ids.insert(work.ids.end(), work.symbols.begin(), work.symbols.end());
    piece.remove_prefix(size);
  }
}

void Tokenizer::encode_piece(std::string_view piece, Work& work) const {
  const std::string text = normalized(piece);
  for (const auto& part : normalized_added_.split(text)) {
    if (part.id) {
      work.ids.push_back(*part.id);
    } else if (scheme_ == TokenizerFile::Scheme::kByteLevel) {
      encode_words(part.text, work);
    } else {
      encode_words(with_leading_metaspace(text::replace_spaces(part.text)), work);
    }
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, std::string_view where) const {
  require_utf8(text, where);
  Work work;
  for (const auto& part : raw_added_.split(text)) {
    if (part.id) {
      work.ids.push_back(*part.id);
    } else {
      encode_piece(part.text, work);
    }
  }
  return std::move(work.ids);
}

}  // namespace abba::text
