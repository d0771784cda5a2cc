// The two tokenizers that the tests of this folder use: the built-in byte-level one, and a tiny
// Metaspace one with byte fallback that is written out here.
#pragma once

#include <cstdio>
#include <string>

#include "engine/base/json.h"
#include "engine/checkpoint/builtin_tokenizer.h"
#include "engine/text/tokenizer.h"

namespace abba::text {

inline Tokenizer builtin_tokenizer() {
  return Tokenizer::parse(checkpoint::builtin_tokenizer_json(),
                          checkpoint::builtin_tokenizer_config_json());
}

inline base::Json added_json(int id, const char* content, bool normalized, bool lstrip = false) {
  return base::Json::object({{"id", id},
                             {"content", content},
                             {"single_word", false},
                             {"lstrip", lstrip},
                             {"rstrip", false},
                             {"normalized", normalized},
                             {"special", !normalized}});
}

// Ids: 0..4 specials, 5..260 bytes, then single characters and merges as listed.
inline base::Json metaspace_json() {
  base::Json vocab = base::Json::object();
  const char* specials[] = {"<pad>", "<eos>", "<bos>", "<unk>", "<mask>"};
  for (int i = 0; i < 5; ++i) vocab.set(specials[i], i);
  for (int byte = 0; byte < 256; ++byte) {
    char entry[8];
    std::snprintf(entry, sizeof entry, "<0x%02X>", static_cast<unsigned>(byte));
    vocab.set(entry, 5 + byte);
  }
  const char* pieces[] = {"▁", "a", "b", "é", "▁a", "ab", "▁ab", "▁▁", "\n"};
  for (int i = 0; i < 9; ++i) vocab.set(pieces[i], 261 + i);
  base::Json merges = base::Json::array();
  for (const char* merge : {"▁ a", "a b", "▁a b", "▁ ab"}) merges.push_back(merge);
  base::Json added = base::Json::array();
  for (int i = 0; i < 5; ++i) added.push_back(added_json(i, specials[i], false, i == 4));
  added.push_back(added_json(268, "▁▁", true));
  base::Json root = base::Json::object();
  root.set("added_tokens", added);
  root.set("normalizer", base::Json::object({{"type", "Replace"},
                                             {"pattern", base::Json::object({{"String", " "}})},
                                             {"content", "▁"}}));
  root.set("pre_tokenizer", base::Json::object({{"type", "Metaspace"},
                                                {"replacement", "▁"},
                                                {"prepend_scheme", "always"},
                                                {"split", true}}));
  root.set("model", base::Json::object({{"type", "BPE"},
                                        {"dropout", nullptr},
                                        {"unk_token", "<unk>"},
                                        {"fuse_unk", true},
                                        {"byte_fallback", true},
                                        {"ignore_merges", false},
                                        {"vocab", vocab},
                                        {"merges", merges}}));
  return root;
}

inline std::string metaspace_config() {
  return R"({"cls_token": "<bos>", "sep_token": {"content": "<eos>"}, "mask_token": "<mask>",)"
         R"( "pad_token": "<pad>", "cls_token_id": 1})";
}

inline Tokenizer metaspace_tokenizer() {
  return Tokenizer::parse(metaspace_json().dump(), metaspace_config());
}

}  // namespace abba::text
