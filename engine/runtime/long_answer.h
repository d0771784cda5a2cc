// A state longer than a row, read in overlapping windows: the original's predict_long. Each window
// is answered as a state of its own; for every question one window decides.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/runtime/runtime.h"

namespace abba::runtime {

struct WindowOptions {
  std::optional<std::int64_t> window;  // state tokens; default max_len - head_max_len - 8, at least
                                       // 64; never more than the questions leave room for
  std::optional<std::int64_t> stride;  // default half the window
};

// Where the windows of a state lie, in its tokens.
struct WindowPlan {
  std::int64_t size = 0;
  std::int64_t stride = 0;
  std::int64_t room = 0;  // state tokens that fit beside every question
};

// Throws Error(kBadInput) if the questions leave no room, or for a stride that passes over tokens.
WindowPlan plan_windows(const Runtime& runtime, const text::PyValue& questions,
                        const WindowOptions& options);

// The response as response_value() prints it. A state that fits (into the room, or into a window
// that was asked for) is answered whole, as Runtime::answer does. Otherwise of a noul question the
// window with the largest P(true) decides, of a choice or score the one with the largest
// answer_confidence, the first of equals; the answer names it in
// "window": {"index", "token_start", "token_end", "count"}. Usage is summed over the windows, and
// "windows" counts them. The numbers are those of one window, not calibrated for the whole state.
// Precondition: the request has no budgets of its own (the original has none here).
text::PyValue answer_long(Runtime& runtime, const Request& request, const WindowOptions& options);

}  // namespace abba::runtime
