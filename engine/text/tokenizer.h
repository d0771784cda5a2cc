// Text to token ids, id for id as the tokenizer of the original does it. A Tokenizer is immutable
// once made: any number of threads may encode with one. Without special tokens at the ends: those
// are the prompt's business (prompt.h). Text that is not UTF-8 is refused with the byte offset.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/byte_pair.h"
#include "engine/text/tokenizer_file.h"

namespace abba::text {

class Tokenizer {
 public:
  // Throws Error(kBadInput) if a byte-level vocabulary lacks the symbol of a byte of UTF-8.
  Tokenizer(TokenizerFile file, std::string_view where);

  // Reads tokenizer.json and tokenizer_config.json of `tokenizer_dir`.
  static Tokenizer read(const std::string& tokenizer_dir);
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view config_json);

  // Ids of `text`, in time O(n log n) of its bytes. Throws Error(kBadInput, where, ...) if it is
  // not well-formed UTF-8.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            std::string_view where = "text") const;

  // Text of `ids`, special tokens as they are spelled: what transformers 5 makes of them, which
  // leaves the spaces of byte-pair tokenizers alone whatever clean_up_tokenization_spaces says. Ids
  // that there are none of are left out. Throws Error(kBadInput) if the decoder is not known.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  [[nodiscard]] const SpecialTokens& special() const { return special_; }
  // One more than the largest id: what an embedding table must have at least.
  [[nodiscard]] TokenId id_limit() const { return static_cast<TokenId>(pieces_.size()); }
  // The vocabulary's spelling of an id (byte symbols or U+2581 and all); empty if there is none.
  [[nodiscard]] std::string_view piece(TokenId id) const;

 private:
  struct Work;  // buffers of one encode call
  void encode_piece(std::string_view piece, Work& work) const;
  void encode_words(std::string_view piece, Work& work) const;
  void byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  void char_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  [[nodiscard]] bool push_bytes(std::string_view bytes, std::vector<TokenId>& symbols) const;
  [[nodiscard]] std::string normalized(std::string_view text) const;

  TokenizerFile::Scheme scheme_;
  bool nfc_;
  bool replace_spaces_;
  bool byte_fallback_;
  bool fuse_unknown_;
  std::optional<TokenId> unknown_;
  SpecialTokens special_;
  MergeTable merges_;
  TokenDecoder decoder_;
  AddedTokenMatcher raw_added_;
  AddedTokenMatcher normalized_added_;
  std::array<TokenId, 256> byte_ids_;               // -1 where there is none
  std::unordered_map<char32_t, TokenId> char_ids_;  // one-character entries (Metaspace only)
  std::vector<std::string> pieces_;
};

}  // namespace abba::text
