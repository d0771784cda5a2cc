// The stages of outputs(), the same for token rows and for text: what the heads read, what they
// answer, the order of ranked rows, and answers as a client reads them, for comparing beside times
// what two programs tell their clients.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/text/answer.h"
#include "harness/worker_kit/abba_worker.h"

namespace abba::laya {

inline constexpr const char* kConsumed = "consumed";
inline constexpr const char* kLogits = "logits";
inline constexpr const char* kActions = "action_logits";
inline constexpr const char* kRanking = "ranking";
inline constexpr const char* kPublished = "published";

// Whether `stage` is among those asked for; an empty list asks for all.
bool wanted(const std::vector<std::string>& stages, const char* stage);

// F32 [size / width, width] of row-major `values`; [size] if `width` is 1.
abba_worker::Tensor stage_tensor(const char* stage, const std::vector<float>& values,
                                 std::int64_t width = 1);

// kRanking, I32 [n]: indices of the rows, the highest score first, equal ones in their order.
abba_worker::Tensor ranking_tensor(std::span<const double> scores);

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
