// tokenizer.json and tokenizer_config.json, read and checked. Only the two pipelines that the
// published checkpoints use are accepted (NFC + byte-level BPE; Metaspace BPE with byte fallback);
// any setting that would change an id and is not computed here is refused by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/byte_pair.h"
#include "engine/text/token_decoder.h"

namespace abba::text {

struct SpecialTokens {
  TokenId cls = 0;
  TokenId sep = 0;
  TokenId mask = 0;
  TokenId pad = 0;
  std::string mask_text;  // "[MASK]" or "<mask>"
};

struct TokenizerFile {
  enum class Scheme { kByteLevel, kMetaspace };

  Scheme scheme = Scheme::kByteLevel;
  bool nfc = false;             // the normalizer is NFC
  bool replace_spaces = false;  // the normalizer is Replace " " -> U+2581
  std::unordered_map<std::string, TokenId> vocab;
  MergeTable merges;
  bool byte_fallback = false;
  std::optional<TokenId> unknown;  // for characters outside the vocabulary
  bool fuse_unknown = false;
  std::vector<AddedToken> added;
  TokenDecoder decoder;
  SpecialTokens special;
};

// Throws Error(kBadInput) naming the source and the key.
TokenizerFile parse_tokenizer_file(std::string_view tokenizer_json,
                                   std::string_view tokenizer_where, std::string_view config_json,
                                   std::string_view config_where);

// The printable code point that stands for `byte` in byte-level vocabularies: bytes 33-126,
// 161-172 and 174-255 stand for themselves, the other 68 in order for U+0100 and up.
char32_t byte_symbol(unsigned char byte);

}  // namespace abba::text
