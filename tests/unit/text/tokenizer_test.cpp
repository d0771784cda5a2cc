#include "engine/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/text/word_split.h"
#include "tests/unit/text/tokenizers_for_tests.h"

namespace abba::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The pieces of a text, as the vocabulary spells them.
std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (const TokenId id : tokenizer.encode(text)) out.emplace_back(tokenizer.piece(id));
  return out;
}

std::vector<std::string> gpt2_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t size = first_gpt2_word(text);
    words.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

// Merging as the definition says it: look for the best pair in the whole word, again and again.
std::vector<TokenId> merged_naively(const MergeTable& table, std::vector<TokenId> word) {
  while (true) {
    std::size_t best = word.size();
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const auto* merge = table.find(word[i], word[i + 1]);
      if (merge != nullptr &&
          (best == word.size() || merge->rank < table.find(word[best], word[best + 1])->rank)) {
        best = i;
      }
    }
    if (best == word.size()) return word;
    word[best] = table.find(word[best], word[best + 1])->merged;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(WordSplit, Gpt2Pattern) {
  EXPECT_THAT(
      gpt2_words("It's  we'll\n\n  ok12 x_1!"),
      ElementsAre("It", "'s", " ", " we", "'ll", "\n\n ", " ok", "12", " x", "_", "1", "!"));
  EXPECT_THAT(gpt2_words("'S 'd'ret'v"), ElementsAre("'", "S", " '", "d", "'re", "t", "'", "v"));
  EXPECT_THAT(gpt2_words("a \t b\t"), ElementsAre("a", " \t", " b", "\t"));
  EXPECT_THAT(gpt2_words("a\tb   "), ElementsAre("a", "\t", "b", "   "));
  EXPECT_THAT(gpt2_words("  "), ElementsAre("  "));
  EXPECT_THAT(gpt2_words(" "), ElementsAre(" "));
  EXPECT_THAT(gpt2_words("漢字 ½ é😀"), ElementsAre("漢字", " ½", " é", "😀"));
  // U+000B and U+0085 are white space, U+200B and combining marks are not.
  EXPECT_THAT(gpt2_words("a\vb\u0085c"), ElementsAre("a", "\v", "b", "\u0085", "c"));
  EXPECT_THAT(gpt2_words("e\u0302x\u200by"), ElementsAre("e", "\u0302", "x", "\u200b", "y"));
}

TEST(MergeSymbols, HeapAndDefinitionAgreeOnRandomWords) {
  base::Random random(3);
  MergeScratch scratch;
  for (int round = 0; round < 400; ++round) {
    MergeTable table;
    const TokenId letters = 2 + static_cast<TokenId>(random.below(4));
    TokenId next = letters;
    for (std::uint32_t rank = 0; rank < 40; ++rank) {
      const auto left = static_cast<TokenId>(random.below(static_cast<std::uint64_t>(next)));
      const auto right = static_cast<TokenId>(random.below(static_cast<std::uint64_t>(next)));
      if (table.find(left, right) == nullptr) table.set(left, right, {rank, next++});
    }
    for (int i = 0; i < 10; ++i) {
      std::vector<TokenId> word(random.below(60));
      for (TokenId& symbol : word) {
        symbol = static_cast<TokenId>(random.below(static_cast<std::uint64_t>(letters)));
      }
      std::vector<TokenId> fast = word;
      merge_symbols(table, fast, scratch);
      ASSERT_EQ(fast, merged_naively(table, word));
    }
  }
}

TEST(MergeSymbols, CanaryTheOrderOfRanksMatters) {
  MergeTable table;
  MergeTable swapped;
  table.set(0, 1, {0, 10});
  table.set(1, 2, {1, 11});
  swapped.set(0, 1, {1, 10});
  swapped.set(1, 2, {0, 11});
  MergeScratch scratch;
  std::vector<TokenId> a = {0, 1, 2};
  std::vector<TokenId> b = a;
  merge_symbols(table, a, scratch);
  merge_symbols(swapped, b, scratch);
  EXPECT_THAT(a, ElementsAre(10, 2));
  EXPECT_THAT(b, ElementsAre(0, 11));
}

TEST(MergeTable, KeepsEveryPair) {
  MergeTable table(10);  // made too small on purpose
  for (TokenId i = 0; i < 5000; ++i) table.set(i, i * 7 % 5000, {std::uint32_t(i), i + 1});
  table.set(3, 21, {77, 78});
  EXPECT_EQ(table.size(), 5000U);
  EXPECT_EQ(table.find(3, 21)->rank, 77U);
  for (TokenId i = 4; i < 5000; ++i) ASSERT_EQ(table.find(i, i * 7 % 5000)->merged, i + 1);
  EXPECT_EQ(table.find(5000, 0), nullptr);
}

TEST(ByteLevel, EveryByteHasItsSymbol) {
  EXPECT_EQ(byte_symbol('!'), U'!');
  EXPECT_EQ(byte_symbol(' '), U'\u0120');
  EXPECT_EQ(byte_symbol('\n'), U'\u010a');
  EXPECT_EQ(byte_symbol(0), U'\u0100');
  EXPECT_EQ(byte_symbol(0xad), U'\u0143');
  EXPECT_EQ(byte_symbol(0xff), U'ÿ');
}

TEST(ByteLevel, RunsOfSpacesAreTokensOfTheirOwn) {
  const Tokenizer tokenizer = builtin_tokenizer();
  EXPECT_EQ(tokenizer.special().cls, 50281);
  EXPECT_EQ(tokenizer.special().sep, 50282);
  EXPECT_EQ(tokenizer.special().pad, 50283);
  EXPECT_EQ(tokenizer.special().mask, 50284);
  EXPECT_EQ(tokenizer.id_limit(), 50368);
  for (int n = 2; n <= 24; ++n) {
    EXPECT_THAT(tokenizer.encode(std::string(static_cast<std::size_t>(n), ' ')),
                ElementsAre(50278 - n));
  }
  EXPECT_THAT(tokenizer.encode(std::string(27, ' ')), ElementsAre(50254, 50275));
  EXPECT_EQ(tokenizer.encode(std::string(25, ' ')).size(), 2U);
  // The word after a run is encoded without a leading space.
  std::vector<std::string> expected = {"x", "Ċ", "    "};
  for (const std::string& piece : pieces(tokenizer, "the")) expected.push_back(piece);
  EXPECT_EQ(pieces(tokenizer, "x\n    the"), expected);
}

TEST(ByteLevel, SpecialTokensInTextAreTokens) {
  const Tokenizer tokenizer = builtin_tokenizer();
  EXPECT_THAT(tokenizer.encode("[SEP][CLS]"), ElementsAre(50282, 50281));
  // The mask token takes the white space before it, others do not.
  EXPECT_THAT(tokenizer.encode("\n \t[MASK]"), ElementsAre(50284));
  EXPECT_EQ(tokenizer.encode(" [SEP]").size(), 2U);
  EXPECT_THAT(tokenizer.encode("[SEP] [MASK][MASK]"), ElementsAre(50282, 50284, 50284));
  EXPECT_EQ(tokenizer.encode("[sep]").size(), tokenizer.encode("[sep").size() + 1);
  EXPECT_THAT(tokenizer.encode("[unused7]"), ElementsAre(50292));
  EXPECT_THAT(tokenizer.encode("|||IP_ADDRESS|||"), ElementsAre(0));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
}

TEST(ByteLevel, TextIsNormalizedFirst) {
  const Tokenizer tokenizer = builtin_tokenizer();
  EXPECT_EQ(tokenizer.encode("cafe\u0301 \u2126"), tokenizer.encode("café \u03a9"));
  EXPECT_NE(tokenizer.encode("ﬁ"), tokenizer.encode("fi"));  // NFC, not NFKC
}

TEST(ByteLevel, InvalidUtf8IsRefusedWithTheByte) {
  const Tokenizer tokenizer = builtin_tokenizer();
  try {
    (void)tokenizer.encode("good \xc3(", "state");
    FAIL() << "not refused";
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(), "state: is not valid UTF-8 at byte 5; give text in UTF-8");
  }
}

TEST(ByteLevel, BytesComeBackFromThePieces) {
  const Tokenizer tokenizer = builtin_tokenizer();
  std::map<std::string, char> byte_of;
  for (int byte = 0; byte < 256; ++byte) {
    std::string symbol;
    const char32_t c = byte_symbol(static_cast<unsigned char>(byte));
    if (c >= 0x80) symbol.push_back(static_cast<char>(0xc0U | c >> 6U));
    symbol.push_back(static_cast<char>(c >= 0x80 ? 0x80U | (c & 0x3fU) : c));
    byte_of[symbol] = static_cast<char>(byte);
  }
  const std::string text = "Don't refund 12 orders — naïve 漢字 😀\r\n\x01\x7f!";
  std::string back;
  for (const std::string& piece : pieces(tokenizer, text)) {
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t size = static_cast<unsigned char>(piece[at]) < 0x80 ? 1 : 2;
      back.push_back(byte_of.at(piece.substr(at, size)));
      at += size;
    }
  }
  EXPECT_EQ(back, text);
}

TEST(Metaspace, WordsBytesAndMerges) {
  const Tokenizer tokenizer = metaspace_tokenizer();
  EXPECT_EQ(tokenizer.special().cls, 2);
  EXPECT_EQ(tokenizer.special().sep, 1);
  EXPECT_EQ(tokenizer.special().mask, 4);
  EXPECT_EQ(tokenizer.special().mask_text, "<mask>");
  EXPECT_THAT(pieces(tokenizer, "ab a b"), ElementsAre("▁ab", "▁a", "▁", "b"));
  EXPECT_THAT(pieces(tokenizer, "é\n"), ElementsAre("▁", "é", "\n"));
  EXPECT_THAT(pieces(tokenizer, "xa"), ElementsAre("▁", "<0x78>", "a"));
  EXPECT_THAT(pieces(tokenizer, "漢"), ElementsAre("▁", "<0xE6>", "<0xBC>", "<0xA2>"));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
}

TEST(Metaspace, AddedTokensBeforeAndAfterNormalization) {
  const Tokenizer tokenizer = metaspace_tokenizer();
  // Two spaces become the added token U+2581 U+2581; what follows begins a piece again.
  EXPECT_THAT(pieces(tokenizer, "a  b"), ElementsAre("▁a", "▁▁", "▁", "b"));
  EXPECT_THAT(pieces(tokenizer, "a <mask>b<eos>"), ElementsAre("▁a", "<mask>", "▁", "b", "<eos>"));
  EXPECT_THAT(pieces(tokenizer, "▁a"), ElementsAre("▁a"));
}

TEST(Metaspace, UnknownCharactersWithoutByteFallback) {
  base::Json json = metaspace_json();
  json.find("model")->set("byte_fallback", false);
  const auto fused = Tokenizer::parse(json.dump(), metaspace_config());
  EXPECT_THAT(pieces(fused, "xyaz"), ElementsAre("▁", "<unk>", "a", "<unk>"));
  json.find("model")->set("fuse_unk", false);
  const auto single = Tokenizer::parse(json.dump(), metaspace_config());
  EXPECT_THAT(pieces(single, "xya"), ElementsAre("▁", "<unk>", "<unk>", "a"));
  json.find("model")->set("unk_token", nullptr);
  const auto dropped = Tokenizer::parse(json.dump(), metaspace_config());
  EXPECT_THAT(pieces(dropped, "xya"), ElementsAre("▁a"));
}

// What transformers 5 prints of the same ids; the oracle compares thousands more.
TEST(Decode, ByteLevelGivesBackTheTextAndMarksBrokenCharacters) {
  const Tokenizer tokenizer = builtin_tokenizer();
  const std::string text = "It 's here , isn 't it ?  \n\tcafé 漢字 🙂 [SEP]";
  const std::vector<TokenId> ids = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.decode(ids), text);  // spaces before punctuation stay
  EXPECT_EQ(tokenizer.decode({}), "");
  const std::vector<TokenId> emoji = tokenizer.encode("🙂");
  ASSERT_GT(emoji.size(), 1U);
  EXPECT_EQ(tokenizer.decode(std::span(emoji).first(emoji.size() - 1)), "\xEF\xBF\xBD");
  const std::vector<TokenId> beyond = {tokenizer.id_limit() + 5, -1};
  EXPECT_EQ(tokenizer.decode(beyond), "");
}

TEST(Decode, MetaspaceByEachDecoder) {
  const auto decoded = [](const char* decoder, const char* text) {
    base::Json json = metaspace_json();
    json.set("decoder", base::parse_json(decoder, "decoder"));
    const auto tokenizer = Tokenizer::parse(json.dump(), metaspace_config());
    return tokenizer.decode(tokenizer.encode(text));
  };
  const char* sequence =
      R"({"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"}]})";
  EXPECT_EQ(decoded(sequence, "ab 漢 a"), " ab 漢 a");
  const char* metaspace =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})";
  EXPECT_EQ(decoded(metaspace, "ab a"), "ab a");
  EXPECT_EQ(decoded("null", "ab a"), "▁ab ▁a");
  try {
    decoded(R"({"type": "WordPiece"})", "ab");
    ADD_FAILURE() << "a decoder that is not known must be named";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("WordPiece"));
  }
}

}  // namespace
}  // namespace abba::text
