// A target with a mistake that only mutation finds: no corpus entry holds two masks in a row. The
// driver must find it, exit 1 and have kept the input before the target saw it; then this exits 0.
#include <cstdio>

#include "tests/fuzz/mutator.h"

int main(int argc, char** argv) {
  bool was_kept = false;
  const int code = abba::fuzz::run(
      argc, argv, {"[MASK]", "a", "\n"}, [&](std::string_view input) -> std::string {
        if (input.find("[MASK][MASK]") == std::string_view::npos) return "";
        was_kept = abba::base::read_file(abba::fuzz::last_input_file(argv[0])) == input;
        return "two masks";
      });
  std::filesystem::remove(abba::fuzz::last_input_file(argv[0]));
  const bool is_as_it_must_be = code == 1 && was_kept;
  std::printf("exit %d, the input was %s\n", code, was_kept ? "kept" : "not kept");
  return is_as_it_must_be ? 0 : 1;
}
