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
constexpr std::int64_t kMostDevice = 255;

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

const Names<std::string>& backend_names() {
  static const Names<std::string> names = {{"cpu", "cpu"}, {"cuda", "cuda"}};
  return names;
}

int read_number(const std::string& key, const Json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_int() || value.as_int() < least || value.as_int() > most) {
    refuse(key, value.dump(),
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int>(value.as_int());
}

template <typename Value>
std::string name_in(const Names<Value>& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == value; })
      ->first;
}

// False for a key that the backend does not know.
bool read_key(EngineSettings& settings, const std::string& key, const Json& value) {
  const bool is_cpu = settings.backend == "cpu";
  if (key == "precision") {
    settings.cpu.precision = pick(key, value, precision_names());
  } else if (key == "device" && !is_cpu) {
    settings.device = read_number(key, value, 0, kMostDevice);
  } else if (key == "threads" && is_cpu) {
    settings.cpu.threads = read_number(key, value, 1, kMaxThreads);
  } else if (key == "product" && is_cpu) {
    settings.cpu.product = pick(key, value, product_names());
  } else if (key == "isa" && is_cpu) {
    settings.cpu.isa = pick(key, value, isa_names());
  } else {
    return false;
  }
  return true;
}

}  // namespace

EngineSettings read_settings(const Json& json, const ops::Choices& choices) {
  EngineSettings settings;
  settings.cpu.choices = choices;
  if (json.is_null()) {
    return settings;
  }
  if (!json.is_object()) {
    throw Error(ErrorCode::kBadInput, "settings",
                "must be an object, found " + std::string(json.kind_name()));
  }
  if (const Json* backend = json.find("backend"); backend != nullptr) {
    settings.backend = pick("backend", *backend, backend_names());
  }
  for (const auto& [key, value] : json.as_object()) {
    if (key == "backend") continue;
    if (!read_key(settings, key, value)) {
      throw Error(ErrorCode::kBadInput, "settings",
                  "has the unknown key \"" + key + "\"; accepted are backend, " +
                      (settings.backend == "cpu" ? "precision, threads, product and isa"
                                                 : "precision and device (backend \"cuda\")"));
    }
  }
  return settings;
}

Json settings_json(const EngineSettings& settings) {
  const std::string precision(ops::name_of(settings.cpu.precision));
  if (settings.backend == "cuda") {
    return Json::object(
        {{"backend", "cuda"}, {"precision", precision}, {"device", settings.device}});
  }
  return Json::object({{"backend", "cpu"},
                       {"precision", precision},
                       {"threads", settings.cpu.threads},
                       {"product", name_in(product_names(), settings.cpu.product)},
                       {"isa", name_in(isa_names(), settings.cpu.isa)}});
}

ops::Choices read_choices(const std::map<std::string, std::string>& levels) {
  ops::Choices choices;
  for (const auto& [factor, level] : levels) {
    ops::set_choice(choices, factor, level);
  }
  return choices;
}

void check_factors(const std::set<std::string>& named, const std::string& backend) {
  for (const std::string& factor : named) {
    const std::string_view owner = ops::variant_table(factor).backend;
    if (owner.empty() || owner == backend) continue;
    throw Error(ErrorCode::kBadInput, "factors",
                "name \"" + factor + "\", which the backend \"" + std::string(owner) +
                    "\" has and \"" + backend + "\" has not: leave it out");
  }
}

std::set<std::string> names_of(const std::map<std::string, std::string>& levels) {
  std::set<std::string> names;
  for (const auto& [factor, level] : levels) names.insert(factor);
  return names;
}

std::map<std::string, std::string> choices_map(const ops::Choices& choices,
                                               const std::string& backend) {
  std::map<std::string, std::string> levels;
  for (const ops::VariantTable& table : ops::variant_tables(backend)) {
    levels[std::string(table.factor)] = ops::level_of(choices, table.factor);
  }
  return levels;
}

std::string variants_text() {
  const ops::Choices defaults;
  std::string text;
  for (const ops::VariantTable& table : ops::variant_tables()) {
    text += std::string(table.factor) + "  (read by: " + std::string(table.op) +
            (table.backend.empty() ? "" : "; backend " + std::string(table.backend) + " alone") +
            ")\n";
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
