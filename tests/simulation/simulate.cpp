// Simulates the grid and says whether the statistics keep what they promise.
//
//   abba_simulate [--short] [--threads N] [--page FILE]
//
// Exit code 0 if everything required was met, 1 if not, 2 for bad usage. The page is written in
// both cases.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "tests/simulation/report.h"

namespace {

constexpr const char* kUsage = "usage: abba_simulate [--short] [--threads N] [--page FILE]\n";

struct Arguments {
  bool is_short = false;
  int threads = 2;
  std::string page;
};

bool read(int count, char** words, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const bool has_value = i + 1 < count;
    if (std::strcmp(words[i], "--short") == 0) {
      arguments.is_short = true;
    } else if (std::strcmp(words[i], "--threads") == 0 && has_value) {
      arguments.threads = std::atoi(words[++i]);
    } else if (std::strcmp(words[i], "--page") == 0 && has_value) {
      arguments.page = words[++i];
    } else {
      return false;
    }
  }
  return arguments.threads >= 1 && arguments.threads <= 256;
}

int run(const Arguments& arguments) {
  using abba::simulation::Grid;
  using abba::simulation::Requirement;
  const Grid grid = abba::simulation::simulate_grid(
      arguments.is_short ? abba::simulation::short_size() : abba::simulation::full_size(),
      arguments.threads);
  const auto required = abba::simulation::requirements(grid);
  bool all_met = true;
  for (const Requirement& row : required) {
    std::printf("%-8s %s: %s\n", row.met ? "met" : "NOT MET", row.text.c_str(), row.seen.c_str());
    all_met = all_met && row.met;
  }
  if (!arguments.page.empty()) {
    std::ofstream file(arguments.page);
    file << abba::simulation::page(grid, required);
    file.close();
    if (!file) {
      std::fprintf(stderr, "%s cannot be written; name another file\n", arguments.page.c_str());
      return 2;
    }
  }
  return all_met ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments;
  if (!read(count, words, arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
