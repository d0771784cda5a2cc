// Verdicts are a cache: they must follow from the samples.
#include <cmath>

#include "harness/evidence/check_record.h"
#include "harness/evidence/verify_parts.h"
#include "harness/store/record_json.h"

namespace abba::evidence {
namespace {

using base::Json;

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) ||
         std::abs(a - b) <= 1e-12;
}

}  // namespace

std::string first_difference(const Json& a, const Json& b, const std::string& pointer) {
  if (a.is_number() && b.is_number()) {
    return close(a.as_double(), b.as_double()) ? "" : pointer;
  }
  if (a.is_object() && b.is_object() && a.as_object().size() == b.as_object().size()) {
    for (const auto& [key, value] : a.as_object()) {
      const Json* other = b.find(key);
      std::string found = other == nullptr ? pointer + "/" + key
                                           : first_difference(value, *other, pointer + "/" + key);
      if (!found.empty()) {
        return found;
      }
    }
    return "";
  }
  if (a.is_array() && b.is_array() && a.as_array().size() == b.as_array().size()) {
    for (std::size_t i = 0; i < a.as_array().size(); ++i) {
      std::string found =
          first_difference(a.as_array()[i], b.as_array()[i], pointer + "/" + std::to_string(i));
      if (!found.empty()) {
        return found;
      }
    }
    return "";
  }
  return a == b ? "" : pointer;
}

std::string check_verdicts(const record::Analysis& stored, const record::Analysis& recomputed) {
  for (std::size_t i = 0; i < std::min(stored.verdicts.size(), recomputed.verdicts.size()); ++i) {
    record::Analysis a;
    record::Analysis b;
    a.verdicts = {stored.verdicts[i]};
    b.verdicts = {recomputed.verdicts[i]};
    const std::string found = first_difference(store::to_json(a).at("verdicts").as_array()[0],
                                               store::to_json(b).at("verdicts").as_array()[0], "");
    if (!found.empty()) {
      return "the stored verdict on workload " + stored.verdicts[i].workload +
             " is not the one its samples give (" + found.substr(1) + ")";
    }
  }
  const std::string found =
      first_difference(store::to_json(stored), store::to_json(recomputed), "");
  return found.empty() ? "" : "the stored analysis is not the one its samples give (" + found + ")";
}

}  // namespace abba::evidence
