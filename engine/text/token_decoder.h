// Spellings of ids back to text, by the "decoder" of a tokenizer.json and with its losses: bytes
// that are no UTF-8 become U+FFFD, and what normalization took away stays away.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"

namespace abba::text {

class TokenDecoder {
 public:
  // `decoder` may be null or absent (nullptr): spellings are then joined by spaces, as the original
  // has it. Known are ByteLevel, Metaspace, Replace, ByteFallback, Fuse and a Sequence of them.
  // Another one does no harm until it is needed: decode() throws then. `where` names the file.
  static TokenDecoder parse(const base::Json* decoder, std::string_view where);

  // Throws Error(kBadInput, where, ...) naming a decoder that is not known.
  [[nodiscard]] std::string decode(std::vector<std::string> pieces) const;

 private:
  enum class Kind { kByteLevel, kMetaspace, kReplace, kByteFallback, kFuse };
  struct Step {
    Kind kind;
    std::string from, to;  // of kReplace; of kMetaspace `from` alone
    bool drops_first = false;
  };
  void add(const base::Json& decoder, std::string_view where);
  static std::vector<std::string> run(const Step& step, std::vector<std::string> pieces);

  std::vector<Step> steps_;
  std::string where_;
  std::string unknown_;  // type of a decoder that is not known
};

}  // namespace abba::text
