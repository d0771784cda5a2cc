#include "engine/runtime/published_models.h"

#include <array>

#include "engine/text/unicode.h"

namespace abba::runtime {
namespace {

constexpr std::string_view kEnglish = "english";
constexpr std::string_view kMultilingual = "multilingual";
constexpr std::string_view kTyped = "typed-decisions";
constexpr std::string_view kAllThree = "convaiinnovations/laya";

struct Name {
  std::string_view name, model;
};

// The registry of version 0.4.15 of the original package.
constexpr std::array<Name, 15> kNames = {{
    {"english", kEnglish},
    {"en", kEnglish},
    {"laya", kEnglish},
    {"default", kEnglish},
    {"multilingual", kMultilingual},
    {"multi", kMultilingual},
    {"ml", kMultilingual},
    {"laya-multilingual", kMultilingual},
    {"convaiinnovations/laya-multilingual", kMultilingual},
    {"typed-decisions", kTyped},
    {"typed_decisions", kTyped},
    {"typed", kTyped},
    {"decisions", kTyped},
    {"laya-typed-decisions", kTyped},
    {"convaiinnovations/laya-typed-decisions", kTyped},
}};

std::string spelled(std::string_view name) {
  std::string text(text::strip(name));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

}  // namespace

std::string_view published_model(std::string_view name) {
  const std::string key = spelled(name);
  for (const Name& known : kNames) {
    if (key == known.name) return known.model;
  }
  return {};
}

bool names_a_source(std::string_view name) {
  const std::string key = spelled(name);
  if (key.empty() || key == kAllThree || !published_model(key).empty()) return false;
  return key[0] == '.' || key[0] == '~' || key.find_first_of("/\\") != std::string::npos;
}

std::string published_name(std::string_view family) {
  return std::string(family == "typed" ? kTyped : family);
}

}  // namespace abba::runtime
