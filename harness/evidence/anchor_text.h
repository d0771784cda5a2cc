// How a lock's digest stands in a git repository: a blob of this text under this tag. Both follow
// from the digest alone, so whoever verifies computes them anew.
#pragma once

#include <string>

namespace abba::evidence {

std::string anchor_text(const std::string& lock_digest);
std::string anchor_ref(const std::string& lock_digest);

}  // namespace abba::evidence
