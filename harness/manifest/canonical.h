// The manifest written out with every default, and its digest: two texts that declare the same
// experiment (other comments, other key order, a default spelled out) have the same digest.
#pragma once

#include <string>

#include "engine/base/json.h"
#include "harness/record/manifest.h"

namespace abba::manifest {

// A valid manifest in itself: parsing its text gives the same manifest and the same expansion.
base::Json expand(const record::Manifest& manifest);

// SHA-256 of the canonical expansion, 64 hexadecimal digits.
std::string digest(const record::Manifest& manifest);

}  // namespace abba::manifest
