// Counts every operator new of this test program, the libraries' included.
#pragma once

#include <cstdint>

namespace abba::model::testing {

std::int64_t allocation_count();

}  // namespace abba::model::testing
