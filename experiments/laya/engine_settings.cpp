#include "experiments/laya/engine_settings.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

constexpr std::int64_t kMaxThreads = 256;

template <typename Value>
using Names = std::vector<std::pair<std::string, Value>>;

const Names<cpu::ProductPath>& product_names() {
  static const Names<cpu::ProductPath> names = {{"auto", cpu::ProductPath::kAuto},
                                                {"widened", cpu::ProductPath::kWidened},
                                                {"avx512_bf16", cpu::ProductPath::kAvx512Bf16}};
  return names;
}

const Names<cpu::Isa>& isa_names() {
  static const Names<cpu::Isa> names = {
      {"auto", cpu::Isa::kAuto}, {"avx2", cpu::Isa::kAvx2}, {"avx512", cpu::Isa::kAvx512}};
  return names;
}

const Names<ops::Precision>& precision_names() {
  static const Names<ops::Precision> names = {{"bf16", ops::Precision::kBf16},
                                              {"fp32", ops::Precision::kFp32}};
  return names;
}

[[noreturn]] void refuse(const std::string& key, const std::string& found,
                         const std::string& accepted) {
  throw Error(ErrorCode::kBadInput, "settings",
              "\"" + key + "\" is " + found + ", accepted is " + accepted);
}

template <typename Value>
Value pick(const std::string& key, const Json& value, const Names<Value>& names) {
  std::string accepted;
  for (const auto& [name, candidate] : names) {
    if (value.is_string() && value.as_string() == name) {
      return candidate;
    }
    accepted += (accepted.empty() ? "" : ", ") + name;
  }
  refuse(key, value.dump(), accepted);
}

template <typename Value>
std::string name_in(const Names<Value>& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == value; })
      ->first;
}

}  // namespace

cpu::Settings read_settings(const Json& json, const ops::Choices& choices) {
  cpu::Settings settings;
  settings.choices = choices;
  if (json.is_null()) {
    return settings;
  }
  if (!json.is_object()) {
    throw Error(ErrorCode::kBadInput, "settings",
                "must be an object, found " + std::string(json.kind_name()));
  }
  for (const auto& [key, value] : json.as_object()) {
    if (key == "backend") {
      if (!value.is_string() || value.as_string() != "cpu") {
        refuse(key, value.dump(), "\"cpu\" (this program was built without another backend)");
      }
    } else if (key == "precision") {
      settings.precision = pick(key, value, precision_names());
    } else if (key == "threads") {
      if (!value.is_int() || value.as_int() < 1 || value.as_int() > kMaxThreads) {
        refuse(key, value.dump(), "a whole number from 1 to " + std::to_string(kMaxThreads));
      }
      settings.threads = static_cast<int>(value.as_int());
    } else if (key == "product") {
      settings.product = pick(key, value, product_names());
    } else if (key == "isa") {
      settings.isa = pick(key, value, isa_names());
    } else {
      throw Error(ErrorCode::kBadInput, "settings",
                  "has the unknown key \"" + key +
                      "\"; accepted are backend, precision, threads, product and isa");
    }
  }
  return settings;
}

Json settings_json(const cpu::Settings& settings) {
  return Json::object({{"backend", "cpu"},
                       {"precision", std::string(ops::name_of(settings.precision))},
                       {"threads", settings.threads},
                       {"product", name_in(product_names(), settings.product)},
                       {"isa", name_in(isa_names(), settings.isa)}});
}

ops::Choices read_choices(const std::map<std::string, std::string>& levels) {
  ops::Choices choices;
  for (const auto& [factor, level] : levels) {
    ops::set_choice(choices, factor, level);
  }
  return choices;
}

std::map<std::string, std::string> choices_map(const ops::Choices& choices) {
  std::map<std::string, std::string> levels;
  for (const ops::VariantTable& table : ops::variant_tables()) {
    levels[std::string(table.factor)] = ops::level_of(choices, table.factor);
  }
  return levels;
}

std::string variants_text() {
  const ops::Choices defaults;
  std::string text;
  for (const ops::VariantTable& table : ops::variant_tables()) {
    text += std::string(table.factor) + "  (read by: " + std::string(table.op) + ")\n";
    for (const ops::Variant& variant : table.variants) {
      const bool is_default = ops::level_of(defaults, table.factor) == variant.name;
      std::string exactness(ops::name_of(variant.exactness.kind));
      if (variant.exactness.to != variant.name) {
        exactness += " to " + std::string(variant.exactness.to);
      }
      if (variant.exactness.kind == ops::ExactnessKind::kTolerance) {
        exactness += ": nRMS " + Json(variant.exactness.nrms).dump() + ", max abs " +
                     Json(variant.exactness.max_abs).dump();
      }
      text += (is_default ? "  * " : "    ") + std::string(variant.name) + "  [" + exactness +
              "]  " + std::string(variant.description) + "\n";
    }
  }
  return text + "* = used unless a manifest or flag says otherwise\n";
}

}  // namespace abba::laya
