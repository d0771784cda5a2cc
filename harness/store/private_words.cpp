#include "harness/store/private_words.h"

#include <algorithm>
#include <array>

namespace abba::store {
namespace {

constexpr std::string_view kMarkBegin = "{private:";
constexpr std::size_t kMostFilled = std::size_t{64} << 10U;

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
         c == '.' || c == '_' || c == '-' || c == '+' || c == '@' || c == '~' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_public(std::string_view path) {
  static constexpr std::array<std::string_view, 10> kFolders = {
      "/proc/", "/sys/", "/dev/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/", "/opt/"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

// Where the path that begins at `start` ends; a full stop that ends a sentence is not part of it.
std::size_t end_of_path(std::string_view text, std::size_t start) {
  std::size_t end = start;
  while (end < text.size() && is_path_character(text[end])) {
    ++end;
  }
  while (end > start && (text[end - 1] == '.' || text[end - 1] == '/')) {
    --end;
  }
  return end;
}

}  // namespace

std::vector<std::string> private_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_path_character(text[at])) {
      ++at;
      continue;
    }
    const std::size_t end = std::max(end_of_path(text, at), at + 1);
    std::string_view word = text.substr(at, end - at);
    if (word.starts_with("///")) {  // file:///...
      word.remove_prefix(2);
    }
    if (word.front() == '/' && !word.starts_with("//") &&
        word.find('/', 1) != std::string_view::npos && !is_public(word) &&
        std::find(words.begin(), words.end(), word) == words.end()) {
      words.emplace_back(word);
    }
    at = end;
  }
  return words;
}

std::string replace_word(std::string_view text, std::string_view word, std::string_view by) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(word); !word.empty() && at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_path_character(text[at - 1]);
    const bool ends = end == text.size() || end_of_path(text, at) == end;
    if (at >= done && begins && ends) {
      out += text.substr(done, at - done);
      out += by;
      done = end;
    }
  }
  out += text.substr(done);
  return out;
}

std::string private_mark(std::string_view key) {
  return std::string(kMarkBegin) + std::string(key) + "}";
}

std::string fill_private_marks(std::string_view text,
                               const std::function<std::string(const std::string&)>& text_of) {
  std::string out;
  std::size_t filled = 0;
  std::size_t done = 0;
  for (std::size_t at = text.find(kMarkBegin); at != std::string_view::npos && filled < kMostFilled;
       at = text.find(kMarkBegin, done)) {
    const std::size_t key = at + kMarkBegin.size();
    const std::size_t end = text.find('}', key);
    if (end == std::string_view::npos) {
      break;
    }
    std::string found = text_of(std::string(text.substr(key, end - key)));
    filled += found.size();
    out += text.substr(done, at - done);
    out += found.empty() || filled > kMostFilled ? text.substr(at, end + 1 - at)
                                                 : std::string_view(found);
    done = end + 1;
  }
  out += text.substr(done);
  return out;
}

std::string filled_text(Database& database, std::string_view text) {
  return fill_private_marks(text, [&](const std::string& key) {
    Statement row = database.prepare("SELECT text FROM private WHERE key = ?");
    row.bind(0, key);
    return row.step() ? row.text(0) : std::string();
  });
}

base::Json filled_json(Database& database, const base::Json& json) {
  return with_texts(json, [&](const std::string& text) { return filled_text(database, text); });
}

base::Json with_texts(const base::Json& json,
                      const std::function<std::string(const std::string&)>& replace) {
  if (json.is_string()) return replace(json.as_string());
  base::Json out = json;
  if (json.is_array()) {
    for (base::Json& item : out.as_array()) item = with_texts(item, replace);
  } else if (json.is_object()) {
    for (auto& [name, value] : out.as_object()) {
      name = replace(name);
      value = with_texts(value, replace);
    }
  }
  return out;
}

}  // namespace abba::store
