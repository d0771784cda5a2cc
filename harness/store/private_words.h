// Which words of a text name this machine or its user: what the table `private` is for. Absolute
// paths are, unless they lie where every machine has the same ones.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/store/database.h"

namespace abba::store {

// The absolute paths in `text`, each once, in order: two parts or more, not below /proc, /sys,
// /dev, /usr, /bin, /sbin, /lib, /lib64, /etc or /opt.
std::vector<std::string> private_words(std::string_view text);

// `text` with every whole occurrence of `word` replaced: not inside a longer word or path.
std::string replace_word(std::string_view text, std::string_view word, std::string_view by);

// "{private:KEY}": what stands in a chained text for the private string KEY.
std::string private_mark(std::string_view key);

// `text` with every mark replaced by what `text_of` gives for its key; marks of an unknown (empty)
// text stay. Ends with the first 64 KiB of replacements: the text is not trusted.
std::string fill_private_marks(std::string_view text,
                               const std::function<std::string(const std::string&)>& text_of);

// The same with the private strings of a run file; of JSON, in every text and member's name.
std::string filled_text(Database& database, std::string_view text);
base::Json filled_json(Database& database, const base::Json& json);

// `json` with every text in it, members' names too, replaced by what `replace` makes of it.
base::Json with_texts(const base::Json& json,
                      const std::function<std::string(const std::string&)>& replace);

}  // namespace abba::store
