#include "engine/text/tokenizer_file.h"

#include <unordered_set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/text/word_split.h"

namespace abba::text {
namespace {

using base::Json;

constexpr std::int64_t kIdLimit = std::int64_t{1} << 21U;  // eight times the largest known one
constexpr std::size_t kMaxAddedBytes = 4096;
constexpr base::JsonLimits kLimits{.max_bytes = 128U << 20U, .max_depth = 32};

[[noreturn]] void refuse(std::string_view where, const std::string& message) {
  throw base::Error(base::ErrorCode::kBadInput, std::string(where), message);
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text.substr(0, 60)) + "\"";
}

const Json& object_member(const Json& parent, std::string_view key, std::string_view where) {
  const Json& member = parent.at(key, where);
  if (!member.is_object()) {
    refuse(where, quoted(key) + " must be an object, not " + std::string(member.kind_name()));
  }
  return member;
}

// A flag that may be absent or null, which counts as `absent`.
bool flag(const Json& object, std::string_view key, bool absent, std::string_view where) {
  const Json* member = object.find(key);
  if (member == nullptr || member->is_null()) return absent;
  return object.get_bool(key, where);
}

void require_flag(const Json& object, std::string_view key, bool wanted, std::string_view where) {
  if (flag(object, key, wanted, where) != wanted) {
    refuse(where, quoted(key) + " must be " + (wanted ? "true" : "false") +
                      "; this tokenizer cannot be computed faithfully here");
  }
}

// A member whose presence would change ids and that is not supported.
void require_null(const Json& object, std::string_view key, std::string_view where) {
  const Json* member = object.find(key);
  if (member != nullptr && !member->is_null()) {
    refuse(where, quoted(key) + " is set; only tokenizers without it are supported");
  }
}

TokenId checked_id(const Json& value, std::string_view content, std::string_view where) {
  if (!value.is_int() || value.as_int() < 0 || value.as_int() >= kIdLimit) {
    refuse(where, "the id of " + quoted(content) + " must be an integer from 0 to 2097151");
  }
  return static_cast<TokenId>(value.as_int());
}

class Reader {
 public:
  Reader(const Json& root, std::string_view where) : root_(root), where_(where) {}

  TokenizerFile read() {
    read_normalizer();
    read_pre_tokenizer();
    read_vocab();
    read_merges();
    read_added();
    file_.decoder = TokenDecoder::parse(root_.find("decoder"), where_);
    return std::move(file_);
  }

 private:
  void read_normalizer() {
    const Json* normalizer = root_.find("normalizer");
    if (normalizer == nullptr || normalizer->is_null()) return;
    const std::string& type = normalizer->get_string("type", where_);
    if (type == "NFC") {
      file_.nfc = true;
      return;
    }
    if (type != "Replace") {
      refuse(where_, "the normalizer " + quoted(type) + " is not supported (NFC, Replace)");
    }
    const Json* pattern = object_member(*normalizer, "pattern", where_).find("String");
    if (pattern == nullptr || !pattern->is_string() || pattern->as_string() != " " ||
        normalizer->get_string("content", where_) != kMetaspace) {
      refuse(where_, "the normalizer Replace must put U+2581 in the place of a space");
    }
    file_.replace_spaces = true;
  }

  void read_pre_tokenizer() {
    const Json& pre = object_member(root_, "pre_tokenizer", where_);
    const std::string& type = pre.get_string("type", where_);
    if (type == "ByteLevel") {
      file_.scheme = TokenizerFile::Scheme::kByteLevel;
      require_flag(pre, "add_prefix_space", false, where_);
      require_flag(pre, "use_regex", true, where_);
      if (file_.replace_spaces) {
        refuse(where_, "a ByteLevel pre-tokenizer after the normalizer Replace is not supported");
      }
      return;
    }
    if (type != "Metaspace") {
      refuse(where_,
             "the pre-tokenizer " + quoted(type) + " is not supported (ByteLevel, Metaspace)");
    }
    file_.scheme = TokenizerFile::Scheme::kMetaspace;
    require_flag(pre, "split", true, where_);
    const Json* scheme = pre.find("prepend_scheme");
    if (pre.get_string("replacement", where_) != kMetaspace ||
        (scheme != nullptr && !(scheme->is_string() && scheme->as_string() == "always"))) {
      refuse(where_, "Metaspace must have the replacement U+2581 and prepend_scheme \"always\"");
    }
  }

  void read_vocab() {
    const Json& model = object_member(root_, "model", where_);
    const Json* type = model.find("type");
    if (type != nullptr && !(type->is_string() && type->as_string() == "BPE")) {
      refuse(where_, "the model must be BPE");
    }
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      require_null(model, key, where_);
    }
    require_flag(model, "ignore_merges", false, where_);
    file_.byte_fallback = flag(model, "byte_fallback", false, where_);
    file_.fuse_unknown = flag(model, "fuse_unk", false, where_);
    const Json& vocab = object_member(model, "vocab", where_);
    file_.vocab.reserve(vocab.as_object().size());
    for (const auto& [content, value] : vocab.as_object()) {
      const TokenId id = checked_id(value, content, where_);
      if (!ids_.insert(id).second) {
        refuse(where_, "the vocabulary gives the id " + std::to_string(id) + " twice");
      }
      file_.vocab.emplace(content, id);
    }
    const Json* unknown = model.find("unk_token");
    if (unknown != nullptr && !unknown->is_null()) {
      file_.unknown = symbol(model.get_string("unk_token", where_), "unk_token");
    }
    if (file_.scheme == TokenizerFile::Scheme::kByteLevel && file_.byte_fallback) {
      refuse(where_, "byte_fallback with a ByteLevel pre-tokenizer is not supported");
    }
  }

  TokenId symbol(const std::string& content, const std::string& what) {
    const auto found = file_.vocab.find(content);
    if (found == file_.vocab.end()) {
      refuse(where_, what + " names " + quoted(content) + ", which the vocabulary lacks");
    }
    return found->second;
  }

  // Both spellings of a merge: ["a", "b"] and "a b".
  std::pair<std::string, std::string> merge_parts(const Json& entry, const std::string& what) {
    if (entry.is_array() && entry.as_array().size() == 2 && entry.as_array()[0].is_string() &&
        entry.as_array()[1].is_string()) {
      return {entry.as_array()[0].as_string(), entry.as_array()[1].as_string()};
    }
    if (entry.is_string()) {
      const std::string& text = entry.as_string();
      const std::size_t space = text.find(' ');
      if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
        return {text.substr(0, space), text.substr(space + 1)};
      }
    }
    refuse(where_, what + " must be two strings in an array, or one with a space between them");
  }

  void read_merges() {
    const Json::Array& merges = root_.at("model", where_).get_array("merges", where_);
    file_.merges = MergeTable(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const std::string what = "merge " + std::to_string(rank);
      const auto [left, right] = merge_parts(merges[rank], what);
      const TokenId left_id = symbol(left, what);
      const TokenId right_id = symbol(right, what);
      file_.merges.set(left_id, right_id,
                       {static_cast<std::uint32_t>(rank), symbol(left + right, what)});
    }
  }

  void read_added() {
    const Json* list = root_.find("added_tokens");
    if (list == nullptr || list->is_null()) return;
    std::unordered_set<std::string> seen;
    for (const Json& entry : root_.get_array("added_tokens", where_)) {
      AddedToken token;
      token.content = entry.get_string("content", where_);
      token.id = checked_id(entry.at("id", where_), token.content, where_);
      token.lstrip = flag(entry, "lstrip", false, where_);
      token.normalized = flag(entry, "normalized", true, where_);
      for (const char* key : {"single_word", "rstrip"}) require_flag(entry, key, false, where_);
      if (token.content.empty() || token.content.size() > kMaxAddedBytes ||
          !seen.insert(token.content).second) {
        refuse(where_,
               "the added token " + quoted(token.content) + " is empty, too long or there twice");
      }
      check_added_id(token);
      file_.added.push_back(std::move(token));
    }
  }

  // The original numbers added tokens itself and keeps a vocabulary id where there is one.
  void check_added_id(const AddedToken& token) {
    const auto known = file_.vocab.find(token.content);
    const bool agrees =
        known != file_.vocab.end() ? known->second == token.id : ids_.insert(token.id).second;
    if (!agrees) {
      refuse(where_, "the added token " + quoted(token.content) + " has the id " +
                         std::to_string(token.id) + ", which the vocabulary contradicts");
    }
  }

  const Json& root_;
  std::string_view where_;
  TokenizerFile file_;
  std::unordered_set<TokenId> ids_;
};

// A plain string or an object with "content".
std::string special_text(const Json& config, std::string_view key, std::string_view where) {
  const Json& value = config.at(key, where);
  return value.is_object() ? value.get_string("content", where) : config.get_string(key, where);
}

TokenId special_id(const TokenizerFile& file, const std::string& content, std::string_view where) {
  for (const AddedToken& token : file.added) {
    if (token.content == content) return token.id;
  }
  const auto known = file.vocab.find(content);
  if (known == file.vocab.end()) {
    refuse(where, "names " + quoted(content) + ", which tokenizer.json does not have");
  }
  return known->second;
}

}  // namespace

char32_t byte_symbol(unsigned char byte) {
  const auto is_printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  if (is_printable(byte)) return byte;
  char32_t symbol = 0x100;
  for (unsigned b = 0; b < byte; ++b) symbol += is_printable(b) ? 0 : 1;
  return symbol;
}

TokenizerFile parse_tokenizer_file(std::string_view tokenizer_json,
                                   std::string_view tokenizer_where, std::string_view config_json,
                                   std::string_view config_where) {
  TokenizerFile file;
  {
    const Json root = base::parse_json(tokenizer_json, tokenizer_where, kLimits);
    file = Reader(root, tokenizer_where).read();
  }
  const Json config = base::parse_json(config_json, config_where, kLimits);
  file.special.mask_text = special_text(config, "mask_token", config_where);
  if (file.special.mask_text.empty()) refuse(config_where, "\"mask_token\" is empty");
  file.special.mask = special_id(file, file.special.mask_text, config_where);
  const auto id = [&](std::string_view key) {
    return special_id(file, special_text(config, key, config_where), config_where);
  };
  file.special.cls = id("cls_token");
  file.special.sep = id("sep_token");
  file.special.pad = id("pad_token");
  return file;
}

}  // namespace abba::text
