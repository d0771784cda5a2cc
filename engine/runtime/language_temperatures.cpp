#include "engine/base/error.h"
#include "engine/runtime/runtime.h"

namespace abba::runtime {
namespace {

// A number, or whatever else stands there, which counts as 1 like the original's clamp has it.
double temperature_of(const base::Json& value) {
  return text::clamp_temperature(value.is_number() ? value.as_double() : 1.0);
}

text::Temperatures read_entry(const base::Json& entry, const std::string& where) {
  text::Temperatures temperatures;
  const base::Json::Array& by_type = entry.get_array("temperature", where);
  if (by_type.size() != temperatures.by_type.size()) {
    throw base::Error(base::ErrorCode::kBadInput, where,
                      "\"temperature\" has " + std::to_string(by_type.size()) +
                          " numbers; give three, for choice, score and noul");
  }
  for (std::size_t i = 0; i < by_type.size(); ++i) {
    temperatures.by_type[i] = temperature_of(by_type[i]);
  }
  const base::Json* by_options = entry.find("temperature_by_options");
  if (by_options == nullptr || by_options->is_null()) return temperatures;
  if (!by_options->is_object()) {
    throw base::Error(base::ErrorCode::kBadInput, where,
                      "\"temperature_by_options\" must be an object such as {\"choice:2\": 1.5}");
  }
  for (const auto& [key, value] : by_options->as_object()) {
    temperatures.by_options.emplace_back(key, temperature_of(value));
  }
  return temperatures;
}

}  // namespace

LanguageTemperatures read_language_temperatures(const base::Json& json, const std::string& where) {
  if (!json.is_object()) {
    throw base::Error(
        base::ErrorCode::kBadInput, where,
        "must be an object of language and temperatures, found " + std::string(json.kind_name()));
  }
  LanguageTemperatures result;
  for (const auto& [language, entry] : json.as_object()) {
    result[language] = read_entry(entry, where + "/" + language);
  }
  return result;
}

}  // namespace abba::runtime
