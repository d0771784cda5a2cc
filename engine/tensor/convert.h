// The one place where values of any floating type become those a kernel or a check computes with.
#pragma once

#include "engine/tensor/view.h"

namespace abba::tensor {

// Every element of a contiguous view of F32, BF16 or F16 as float (exact) or as bf16 (one
// rounding). `to` holds element_count() values and does not overlap the view. Throws
// Error(kBadInput) for any other type.
void convert(const ConstView& from, float* to);
void convert(const ConstView& from, base::Bf16* to);

}  // namespace abba::tensor
