// A copy of a run file without its private strings: host names, paths, command lines. Their salted
// commitments stay, so the chain of the copy is the chain of the original.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abba::store {

// Writes the copy to `out` (plain, also if `path` is compressed), whole or not at all. Strings
// whose key begins with one of `keep` stay. Throws Error(kBadInput) if `path` is no whole run file,
// Error(kBroken) if `out` exists or cannot be written.
void write_redacted(const std::string& path, const std::string& out,
                    const std::vector<std::string>& keep = {});

}  // namespace abba::store
