#include "experiments/laya/workload_input.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/prng.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

constexpr std::int32_t kCls = 50281;
constexpr std::int32_t kSep = 50282;
constexpr std::int32_t kMask = 50284;
constexpr std::int32_t kFirstWord = 1000;  // ids of ordinary words, in every family's vocabulary
constexpr std::int32_t kLastWord = 50000;
constexpr std::int64_t kMaxRows = 4096;
constexpr std::int64_t kMaxTokens = 8192;
constexpr std::int64_t kMaxFileBytes = 1 << 22;

std::int64_t bounded(const Json& object, std::string_view key, std::int64_t low, std::int64_t high,
                     const std::string& where = "input") {
  const std::int64_t value = object.get_int(key, where);
  if (value < low || value > high) {
    throw Error(ErrorCode::kBadInput, where,
                "\"" + std::string(key) + "\" is " + std::to_string(value) + ", accepted is " +
                    std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

std::int32_t bounded_id(const Json& item, const std::string& where) {
  if (!item.is_int() || item.as_int() < 0 || item.as_int() > INT32_MAX) {
    throw Error(ErrorCode::kBadInput, where, "holds an id that is no whole number from 0 on");
  }
  return static_cast<std::int32_t>(item.as_int());
}

std::vector<std::int32_t> id_list(const Json& row, std::string_view key, const std::string& where) {
  std::vector<std::int32_t> ids;
  for (const Json& item : row.get_array(key, where)) {
    ids.push_back(bounded_id(item, where));
  }
  return ids;
}

// Ids of ordinary words for variants and drawn rows; the same on every machine.
class Words {
 public:
  explicit Words(std::uint64_t seed) : random_(seed) {}
  std::int32_t word() { return static_cast<std::int32_t>(between(kFirstWord, kLastWord)); }
  std::int64_t between(std::int64_t low, std::int64_t high) {  // [low, high)
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low)));
  }

 private:
  base::Random random_;
};

model::Row drawn_row(Words& words, std::int32_t type, std::int64_t tokens, std::int64_t options) {
  model::Row row;
  row.type = type;
  const auto put_words = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      row.ids.push_back(words.word());
    }
  };
  row.ids.push_back(kCls);
  put_words(std::min<std::int64_t>(8, tokens / 8));
  row.ids.push_back(kSep);
  for (std::int64_t option = 0; option < options; ++option) {
    row.markers.push_back(static_cast<std::int32_t>(row.ids.size()));
    row.ids.push_back(kMask);
    put_words(1);
  }
  row.ids.push_back(kSep);
  put_words(tokens - 1 - static_cast<std::int64_t>(row.ids.size()));
  row.ids.push_back(kSep);
  return row;
}

std::int32_t kind_of(const std::string& name) {
  static constexpr std::string_view kKinds[] = {"choice", "score", "noul"};
  for (std::int32_t i = 0; i < 3; ++i) {
    if (name == kKinds[i]) {
      return i;
    }
  }
  throw Error(ErrorCode::kBadInput, "input",
              "\"kind\" is \"" + name + "\", accepted are choice, score and noul");
}

// A request of `rows` in batches of at most `batch`, each padded to its own longest row.
void add_batches(WorkloadInput& input, const std::vector<model::Row>& rows, std::int64_t batch,
                 std::int64_t pad_id, const model::Shape& at_least = {}) {
  input.row_count = static_cast<std::int64_t>(rows.size());
  for (const model::Row& row : rows) {
    input.token_count += static_cast<std::int64_t>(row.ids.size());
  }
  for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(batch)) {
    const std::size_t count = std::min(rows.size() - first, static_cast<std::size_t>(batch));
    input.batches.push_back(model::make_batch({rows.data() + first, count}, pad_id, at_least));
  }
}

void read_fixture(WorkloadInput& input, const std::string& name, const std::string& dir,
                  std::int64_t pad_id, std::uint64_t variant) {
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != name.npos) {
    throw Error(ErrorCode::kBadInput, "input", "\"fixture\" must be a name such as \"short_1\"");
  }
  if (dir.empty()) {
    throw Error(ErrorCode::kBadInput, "input",
                "\"fixture\" needs the folder of fixtures: declare files entry \"fixtures\"");
  }
  const std::string path = dir + "/" + name + ".json";
  const Json fixture = base::parse_json_file(path, {.max_bytes = kMaxFileBytes});
  Words words(variant);
  std::vector<model::Row> rows;
  for (const Json& item : fixture.get_array("rows", path)) {
    model::Row row{.ids = id_list(item, "ids", path),
                   .type = static_cast<std::int32_t>(bounded(item, "type", 0, 2, path)),
                   .markers = id_list(item, "markers", path)};
    for (std::int32_t& id : row.ids) {  // a variant keeps layout and specials, draws the words anew
      id = variant != 0 && id < kCls ? words.word() : id;
    }
    rows.push_back(std::move(row));
  }
  add_batches(input, rows, kMaxRows, pad_id,
              {.tokens = bounded(fixture, "length", 1, kMaxTokens, path)});
}

void read_shape(WorkloadInput& input, const Json& json, std::int64_t pad_id,
                std::uint64_t variant) {
  const Json::Array& shape = json.get_array("shape", "input");
  if (shape.size() != 2 || !shape[0].is_int() || !shape[1].is_int() || shape[0].as_int() < 1 ||
      shape[0].as_int() > kMaxRows || shape[1].as_int() < 24 || shape[1].as_int() > kMaxTokens) {
    throw Error(ErrorCode::kBadInput, "input",
                "\"shape\" must be [rows, tokens] with 1 to " + std::to_string(kMaxRows) +
                    " rows and 24 to " + std::to_string(kMaxTokens) + " tokens");
  }
  const std::int64_t seed = json.find("seed") != nullptr ? json.get_int("seed", "input") : 1;
  Words words(static_cast<std::uint64_t>(seed) + (variant << 32U));
  std::vector<model::Row> rows;
  for (std::int64_t i = 0; i < shape[0].as_int(); ++i) {
    const auto type = static_cast<std::int32_t>(i % 3);
    rows.push_back(drawn_row(words, type, shape[1].as_int(), type == 2 ? 2 : words.between(2, 5)));
  }
  add_batches(input, rows, kMaxRows, pad_id);
}

void read_hook(WorkloadInput& input, const Json& hook, std::int64_t pad_id, std::uint64_t variant) {
  const std::int64_t count = bounded(hook, "rows", 1, kMaxRows);
  const std::int64_t tokens = bounded(hook, "tokens", 48, kMaxTokens);
  const std::int64_t batch = bounded(hook, "batch", 1, kMaxRows);
  const std::int32_t kind = kind_of(hook.get_string("kind", "input"));
  Words words(static_cast<std::uint64_t>(bounded(hook, "seed", 0, INT32_MAX)) + (variant << 32U));
  constexpr std::int64_t kLengthSpread = 8;  // "about": real candidates differ by a few tokens
  std::vector<model::Row> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = tokens + words.between(-kLengthSpread, 1);
    rows.push_back(drawn_row(words, kind, length, kind == 2 ? 2 : 4));
  }
  add_batches(input, rows, batch, pad_id);
}

void refuse_unknown_keys(const Json& json) {
  for (const auto& [key, value] : json.as_object()) {
    if (key != "fixture" && key != "shape" && key != "seed" && key != "hook" &&
        key != "checkpoint") {
      throw Error(ErrorCode::kBadInput, "input",
                  "has the unknown key \"" + key +
                      "\"; accepted are fixture, shape with seed, hook, and checkpoint");
    }
  }
}

}  // namespace

WorkloadInput read_workload_input(const Json& json, const std::string& fixtures_dir,
                                  std::int64_t pad_id, std::uint64_t variant) {
  WorkloadInput input;
  if (!json.is_object()) {
    throw Error(ErrorCode::kBadInput, "input",
                "must be an object such as {\"fixture\": \"short_1\"}, found " +
                    std::string(json.kind_name()));
  }
  refuse_unknown_keys(json);
  if (json.find("checkpoint") != nullptr) {
    input.checkpoint = json.get_string("checkpoint", "input");
  }
  if (json.find("fixture") != nullptr) {
    read_fixture(input, json.get_string("fixture", "input"), fixtures_dir, pad_id, variant);
  } else if (json.find("shape") != nullptr) {
    read_shape(input, json, pad_id, variant);
  } else if (const Json* hook = json.find("hook"); hook != nullptr) {
    read_hook(input, *hook, pad_id, variant);
  } else {
    throw Error(ErrorCode::kBadInput, "input", "needs one of fixture, shape and hook");
  }
  return input;
}

}  // namespace abba::laya
