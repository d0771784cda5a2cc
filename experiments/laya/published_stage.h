// The output stage `published`: answers as a client reads them, for comparing beside times what two
// programs tell their clients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/answer.h"

namespace abba::laya {

inline constexpr const char* kPublished = "published";

// Appends the probabilities of one answer, four decimals each: one for each option, of a noul
// question that of false and that of true, whose sum is 1 as published.
void append_published(text::QuestionType type, const text::Answer& answer,
                      std::vector<float>& numbers);

// The same for a row without text: `type` is 0 choice, 1 score, 2 noul. Throws Error(kBroken) if a
// logit is no finite number. Precondition: neither span is empty.
void append_published(std::int32_t type, std::span<const float> logits,
                      std::span<const float> action_logits, const text::Temperatures& temperatures,
                      std::vector<float>& numbers);

}  // namespace abba::laya
