#include "harness/store/record_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/store/record_fields.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

constexpr std::size_t kMostShown = 60;  // bytes of a value that an error names

// --- record -> JSON

template <typename T>
Json encode(const T& value);

Json encode_one(const Json& value) {
  return value;
}
Json encode_one(const std::string& value) {
  return Json(value);
}
Json encode_one(double value) {
  if (std::isfinite(value)) {
    return Json(value);
  }
  return Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}
Json encode_one(record::SampleStatus value) {
  return Json(static_cast<int>(value));
}
template <typename T>
Json encode_one(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) {
    array.push_back(encode(value));
  }
  return array;
}
template <typename T, std::size_t kSize>
Json encode_one(const std::array<T, kSize>& values) {
  return encode(std::vector<T>(values.begin(), values.end()));
}
template <typename T>
Json encode_one(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) {
    object.set(key, encode(value));
  }
  return object;
}
template <typename T>
Json encode_one(const std::optional<T>& value) {
  return value ? encode(*value) : Json();
}

struct Writer {
  Json object = Json::object();
  template <typename T>
  void operator()(const char* name, const T& value) {
    object.as_object().emplace_back(name, encode(value));  // names are distinct: no search
  }
};

template <typename T>
Json encode(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
    return Json(value);
  } else if constexpr (requires { record::name(value); }) {
    return Json(record::name(value));
  } else if constexpr (requires { encode_one(value); }) {
    return encode_one(value);
  } else {
    Writer writer;
    fields(writer, const_cast<T&>(value));  // the writer only reads
    return std::move(writer.object);
  }
}

// --- JSON -> record

template <typename T>
void decode(const Json& json, const std::string& where, T& value);

[[noreturn]] void wrong(const Json& json, const std::string& where, const char* wanted) {
  throw Error(ErrorCode::kBadInput, where,
              std::string("must be ") + wanted + ", found " + std::string(json.kind_name()));
}

void decode_one(const Json& json, const std::string&, Json& value) {
  value = json;
}
void decode_one(const Json& json, const std::string& where, std::string& value) {
  if (!json.is_string()) {
    wrong(json, where, "a string");
  }
  value = json.as_string();
}
void decode_one(const Json& json, const std::string& where, bool& value) {
  if (!json.is_bool()) {
    wrong(json, where, "true or false");
  }
  value = json.as_bool();
}
void decode_one(const Json& json, const std::string& where, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) {
    value = json.as_double();
  } else if (json == Json("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == Json("inf") || json == Json("-inf")) {
    value = json.as_string() == "inf" ? kInfinity : -kInfinity;
  } else {
    wrong(json, where, "a number");
  }
}
void decode_one(const Json& json, const std::string& where, std::uint64_t& value) {
  if (!json.is_integer() || (json.is_int() && json.as_int() < 0)) {
    wrong(json, where, "an integer of at least 0");
  }
  value = json.as_uint();
}
void decode_one(const Json& json, const std::string& where, std::int64_t& value) {
  if (!json.is_int()) {
    wrong(json, where, "an integer");
  }
  value = json.as_int();
}
void decode_one(const Json& json, const std::string& where, int& value) {
  if (!json.is_int() || json.as_int() < std::numeric_limits<int>::min() ||
      json.as_int() > std::numeric_limits<int>::max()) {
    wrong(json, where, "an integer of 32 bits");
  }
  value = static_cast<int>(json.as_int());
}
template <typename T>
void decode_one(const Json& json, const std::string& where, std::vector<T>& values) {
  if (!json.is_array()) {
    wrong(json, where, "an array");
  }
  values.clear();
  for (const Json& item : json.as_array()) {
    decode(item, where, values.emplace_back());
  }
}
template <typename T>
void decode_one(const Json& json, const std::string& where, std::map<std::string, T>& values) {
  if (!json.is_object()) {
    wrong(json, where, "an object");
  }
  values.clear();
  for (const auto& [key, item] : json.as_object()) {
    decode(item, where, values[key]);
  }
}
template <typename T>
void decode_one(const Json& json, const std::string& where, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
  } else {
    decode(json, where, value.emplace());
  }
}

struct Reader {
  const Json& object;
  const std::string& where;
  template <typename T>
  void operator()(const char* name, T& value) {
    if (const Json* member = object.find(name); member != nullptr) {
      decode(*member, where + "/" + name, value);
    }
  }
};

template <typename T>
void decode(const Json& json, const std::string& where, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto parsed = json.is_string() ? record::parse_name<T>(json.as_string()) : std::nullopt;
    if (!parsed) {
      throw Error(ErrorCode::kBadInput, where,
                  "has an unknown value " + json.dump().substr(0, kMostShown));
    }
    value = *parsed;
  } else if constexpr (requires { decode_one(json, where, value); }) {
    decode_one(json, where, value);
  } else {
    if (!json.is_object()) {
      wrong(json, where, "an object");
    }
    Reader reader{json, where};
    fields(reader, value);
  }
}

}  // namespace

#define ABBA_JSON_OF(Type)                                                          \
  Json to_json(const record::Type& value) {                                         \
    return encode(value);                                                           \
  }                                                                                 \
  void from_json(const Json& json, const std::string& where, record::Type& value) { \
    decode(json, where, value);                                                     \
  }

ABBA_JSON_OF(Manifest)
ABBA_JSON_OF(Registration)
ABBA_JSON_OF(Plan)
ABBA_JSON_OF(WorkerHello)
ABBA_JSON_OF(LoadReply)
ABBA_JSON_OF(PrepareReply)
ABBA_JSON_OF(Analysis)
#undef ABBA_JSON_OF

Json to_json(const record::RunRecord& value) {
  return encode(value);
}

}  // namespace abba::store
