// A target with a mistake that only mutation finds: no corpus entry holds two masks in a row. The
// driver must find it, say so and exit 1.
#include "tests/fuzz/mutator.h"

int main(int argc, char** argv) {
  return abba::fuzz::run(argc, argv, {"[MASK]", "a", "\n"}, [](std::string_view input) {
    return std::string(input.find("[MASK][MASK]") != std::string_view::npos ? "two masks" : "");
  });
}
