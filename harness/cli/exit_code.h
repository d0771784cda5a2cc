// The one mapping from what went wrong to the exit code of the program (protocol, section 6).
#pragma once

#include "engine/base/error.h"

namespace abba::cli {

inline constexpr int kDone = 0;
inline constexpr int kNotDecided = 6;

constexpr int exit_code(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kBadInput:
      return 2;
    case base::ErrorCode::kMismatch:
      return 3;
    case base::ErrorCode::kPreflight:
      return 4;
    case base::ErrorCode::kBroken:
      return 5;
    case base::ErrorCode::kEvidence:
      return 7;
  }
  return 5;
}

}  // namespace abba::cli
