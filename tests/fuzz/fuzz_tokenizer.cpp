// Text of any bytes through both kinds of tokenizer, and tokenizer files of any bytes through the
// reader. Promises: refusals are Errors; ids lie in the vocabulary; without added tokens the
// byte-level pieces spell the normalized text, and that comes back; windows of ids are UTF-8.
#include <map>
#include <span>

#include "engine/base/error.h"
#include "engine/text/prompt.h"
#include "engine/text/unicode.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/text/tokenizers_for_tests.h"

namespace {

using abba::text::Tokenizer;

const std::map<std::string, char>& bytes_by_symbol() {
  static const std::map<std::string, char> kMap = [] {
    std::map<std::string, char> map;
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string symbol;
      abba::text::append_utf8(abba::text::byte_symbol(static_cast<unsigned char>(byte)), symbol);
      map[symbol] = static_cast<char>(byte);
    }
    return map;
  }();
  return kMap;
}

// The bytes that a byte-level piece stands for.
std::string spelled(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const auto point = abba::text::code_point_at(piece, at);
    bytes += bytes_by_symbol().at(std::string(piece.substr(at, point.size_bytes)));
    at += point.size_bytes;
  }
  return bytes;
}

std::string check_ids(const Tokenizer& tokenizer, std::string_view text, bool byte_level) {
  constexpr abba::text::TokenId kFirstAdded = 50254;
  std::string together;
  bool has_added = false;
  const auto ids = tokenizer.encode(text);
  for (const auto id : ids) {
    if (id < 0 || id >= tokenizer.id_limit()) return "an id outside of the vocabulary";
    has_added = has_added || id >= kFirstAdded || id < 2;
    if (byte_level && !has_added) together += spelled(tokenizer.piece(id));
  }
  if (byte_level && !has_added && together != abba::text::nfc(text)) {
    return "the pieces do not spell the text";
  }
  if (byte_level && !has_added && tokenizer.decode(ids) != together)
    return "another text comes back";
  const std::span<const abba::text::TokenId> window(ids);  // may end within a character
  const std::string part = tokenizer.decode(window.subspan(ids.size() / 3, ids.size() / 2));
  if (abba::text::first_invalid_utf8(part)) return "a window gives text that is no UTF-8";
  return "";
}

std::string try_text(std::string_view text) {
  static const Tokenizer kByteLevel = abba::text::builtin_tokenizer();
  static const Tokenizer kMetaspace = abba::text::metaspace_tokenizer();
  try {
    const std::string broken = check_ids(kByteLevel, text, true);
    return broken.empty() ? check_ids(kMetaspace, text, false) : broken;
  } catch (const abba::base::Error& error) {
    if (!abba::text::first_invalid_utf8(text)) return std::string("refused UTF-8: ") + error.what();
    return "";
  }
}

std::string try_file(std::string_view json) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(json, abba::text::metaspace_config());
    return check_ids(tokenizer, "a b é\n\xf0\x9f\x98\x80 ab", false);
  } catch (const abba::base::Error&) {
    return "";
  }
}

std::string target(std::string_view input) {
  const bool is_file = input.find("added_tokens") != std::string_view::npos;
  const std::string broken = try_text(input);
  return broken.empty() && is_file ? try_file(input) : broken;
}

}  // namespace

int main(int argc, char** argv) {
  return abba::fuzz::run(argc, argv,
                         abba::fuzz::with_json({"[MASK]",
                                                "[SEP]",
                                                "<mask>",
                                                "  ",
                                                "\n",
                                                "\t",
                                                "\xcc\x81",
                                                "e\xcc\x81",
                                                "\xe2\x96\x81",
                                                "'re",
                                                "don't",
                                                "1234",
                                                "\xed\xa0\x80",
                                                "\xef\xbb\xbf",
                                                "\xe1\x84\x80\xe1\x85\xa1",
                                                "\"vocab\"",
                                                "\"decoder\": {\"type\": \"ByteLevel\"},",
                                                "\"decoder\": {\"type\": \"Fuse\"},",
                                                "[]",
                                                "99999999999"}),
                         target);
}
