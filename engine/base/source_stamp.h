// Which sources a program was built from. The stamp has a fixed length and a section of its own
// (.abba_stamp), outside what a code digest covers, so that a change of documents alone gives a
// program with the same code digest. Linked into programs only (target abba_source_stamp).
#pragma once

#include <string>

namespace abba::base {

// "<git tree of HEAD, 40 hex>-<first 16 hex of SHA-256 of the uncommitted changes, or 16 zeros>",
// or "unknown" padded with dots when the program was built outside a git checkout.
std::string source_stamp();

}  // namespace abba::base
