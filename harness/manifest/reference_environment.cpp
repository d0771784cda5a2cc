#include "harness/manifest/reference_environment.h"

#include <cstddef>

#include "engine/base/error.h"

namespace abba::manifest {
namespace {

constexpr std::size_t kMostFacts = 200;
constexpr std::size_t kLongest = 1000;

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw base::Error(base::ErrorCode::kBadInput, file, what);
}

std::string text_of(const std::string& file, const base::Json& object, const std::string& key,
                    std::size_t fact) {
  const base::Json* value = object.find(key);
  const std::string where = "fact " + std::to_string(fact + 1);
  if (value == nullptr || !value->is_string() || value->as_string().empty()) {
    refuse(file, where + " needs \"" + key + "\" as a text");
  }
  if (value->as_string().size() > kLongest) {
    refuse(file, where + " has more than 1000 bytes in \"" + key + "\"; shorten it");
  }
  return value->as_string();
}

void add_fact(const std::string& file, const base::Json& fact, std::size_t number,
              std::vector<record::Identity>& rows) {
  const std::string what = text_of(file, fact, "what", number);
  rows.push_back({record::kReferenceStated, what, text_of(file, fact, "stated", number)});
  const base::Json* here = fact.find("here");
  if (here == nullptr) return;
  const bool is_pair = here->is_array() && here->as_array().size() == 2 &&
                       here->as_array()[0].is_string() && here->as_array()[1].is_string();
  if (!is_pair) {
    refuse(file, "fact " + std::to_string(number + 1) +
                     " needs \"here\" as [\"SOURCE\", \"KEY\"] of an identity row, or no such key");
  }
  rows.push_back({record::kReferenceHere, what,
                  here->as_array()[0].as_string() + "|" + here->as_array()[1].as_string()});
}

}  // namespace

std::vector<record::Identity> reference_environment(const record::Manifest& manifest,
                                                    const Project& project) {
  std::vector<record::Identity> rows;
  if (manifest.reference_environment.empty()) return rows;
  const std::string& name = manifest.reference_environment;
  base::JsonLimits limits;
  limits.max_bytes = std::size_t{1} << 20U;
  limits.max_depth = 8;
  const base::Json root = base::parse_json_file((project.root / name).string(), limits);
  const base::Json* schema = root.find("schema");
  const base::Json* title = root.find("title");
  const base::Json* facts = root.find("facts");
  if (schema == nullptr || !schema->is_string() ||
      schema->as_string() != "abba.reference_environment/1") {
    refuse(name,
           "is no reference environment: \"schema\" must be \"abba.reference_environment/1\"");
  }
  if (title == nullptr || !title->is_string() || facts == nullptr || !facts->is_array() ||
      facts->as_array().size() > kMostFacts) {
    refuse(name, "needs \"title\" as a text and \"facts\" as an array of at most 200");
  }
  rows.push_back({record::kReferenceTitle, name, title->as_string().substr(0, kLongest)});
  for (std::size_t i = 0; i < facts->as_array().size(); ++i) {
    add_fact(name, facts->as_array()[i], i, rows);
  }
  return rows;
}

}  // namespace abba::manifest
