// Deterministic mutation for fuzz targets where no coverage-guided fuzzer is at hand: the same seed
// and corpus give the same inputs. A target is a function that returns a sentence about a broken
// promise, or nothing; crashes are the sanitizers' business.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/prng.h"
#include "engine/base/text.h"

namespace abba::fuzz {

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> corpus, std::vector<std::string> words)
      : random_(seed), corpus_(std::move(corpus)), words_(std::move(words)) {}

  // One to sixteen changes of a corpus entry.
  std::string next() {
    std::string text = pick(corpus_);
    for (std::uint64_t i = std::uint64_t{1} << random_.below(5); i > 0; --i) change(text);
    return text;
  }

 private:
  const std::string& pick(const std::vector<std::string>& from) {
    return from[random_.below(from.size())];
  }
  std::size_t place(const std::string& text) { return random_.below(text.size() + 1); }
  std::size_t length(const std::string& text, std::size_t from) {
    return std::min<std::size_t>(text.size() - from, std::size_t{1} << random_.below(10));
  }

  void change(std::string& text) {
    const std::size_t at = place(text);
    switch (random_.below(8)) {
      case 0:  // a bit
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random_.below(8)));
        break;
      case 1:  // a byte
        if (at < text.size()) text[at] = static_cast<char>(random_.below(256));
        break;
      case 2:  // out
        text.erase(at, length(text, at));
        break;
      case 3:  // twice, or many times
        text.insert(at, repeated(text.substr(at, length(text, at))));
        break;
      case 4:  // a word of the language
        text.insert(at, pick(words_));
        break;
      case 5:  // many of one word
        text.insert(at, repeated(pick(words_)));
        break;
      case 6: {  // the tail of another entry
        const std::string& other = pick(corpus_);
        text = text.substr(0, at) + other.substr(place(other));
        break;
      }
      default:  // cut
        text.resize(at);
    }
    constexpr std::size_t kMost = 1U << 16U;
    if (text.size() > kMost) text.resize(kMost);
  }

  std::string repeated(const std::string& part) {
    std::string all;
    for (std::uint64_t i = std::uint64_t{1} << random_.below(8); i > 0; --i) all += part;
    return all;
  }

  base::Random random_;
  std::vector<std::string> corpus_;
  std::vector<std::string> words_;
};

inline std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());  // the same order everywhere
  std::vector<std::string> corpus;
  for (const std::string& path : paths) corpus.push_back(base::read_file(path));
  return corpus;
}

// Where a target keeps the input it is at, so that a crash leaves it behind too.
inline std::string last_input_file(const char* program) {
  return std::string(program) + ".last";
}

// main of a target: TARGET CORPUS_FOLDER SECONDS [SEED] | TARGET --one FILE. Exit 1 at the first
// broken promise, whose input is kept; and if fewer than `fewest` inputs were tried.
inline int run(int argc, char** argv, const std::vector<std::string>& words,
               const std::function<std::string(std::string_view)>& target,
               std::uint64_t fewest = 100) {
  if (argc == 3 && std::string_view(argv[1]) == "--one") {
    const std::string broken = target(base::read_file(argv[2]));
    std::printf("%s\n", broken.empty() ? "ok" : broken.c_str());
    return broken.empty() ? 0 : 1;
  }
  if (argc < 3) {
    std::fprintf(stderr, "%s CORPUS_FOLDER SECONDS [SEED] | %s --one FILE\n", argv[0], argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  Mutator mutator(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1, corpus, words);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(std::strtod(argv[2], nullptr));
  std::uint64_t count = 0;
  const std::string last = last_input_file(argv[0]);
  const auto tried = [&](const std::string& input) {
    ++count;
    std::ofstream(last, std::ios::binary | std::ios::trunc) << input;
    const std::string broken = target(input);
    if (broken.empty()) return true;
    std::fprintf(stderr, "input %llu (kept as %s): %s\n", static_cast<unsigned long long>(count),
                 last.c_str(), broken.c_str());
    return false;
  };
  for (const std::string& entry : corpus) {
    if (!tried(entry)) return 1;
  }
  while (std::chrono::steady_clock::now() < end) {
    if (!tried(mutator.next())) return 1;
  }
  std::filesystem::remove(last);
  std::printf("%llu inputs, nothing found\n", static_cast<unsigned long long>(count));
  return corpus.empty() || count < fewest ? 1 : 0;  // a target that tries nothing finds nothing
}

}  // namespace abba::fuzz
