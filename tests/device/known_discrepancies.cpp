#include "tests/device/known_discrepancies.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace abba::device {

std::vector<Discrepancy> read_discrepancies(const std::string& path) {
  const base::Json file = base::parse_json_file(path, {});
  if (file.get_double("same_up_to_factor", path) != kSameDiscrepancy ||
      file.get_double("nrms_limit", path) != model::kParityNrms ||
      file.get_double("max_abs_limit", path) != model::kParityMaxAbs) {
    throw base::Error(base::ErrorCode::kBadInput, path, "states other limits than the checks have");
  }
  std::vector<Discrepancy> all;
  for (const base::Json& entry : file.get_array("discrepancies", path)) {
    all.push_back({entry.get_string("backend", path), entry.get_string("precision", path),
                   entry.get_string("config", path), entry.get_string("fixture", path),
                   entry.get_string("stage", path), entry.get_double("nrms", path),
                   entry.get_double("max_abs", path), entry.get_double("largest", path)});
  }
  return all;
}

Discrepancy discrepancy_of(std::span<const model::StageError> errors) {
  Discrepancy found;
  found.nrms = -1.0;
  for (const model::StageError& error : errors) {
    if (model::meets_parity_pair(error) || error.nrms <= found.nrms) continue;
    found.stage = error.stage;
    found.nrms = error.nrms;
    found.max_abs = error.max_abs;
    found.largest = error.largest;
  }
  return found;
}

std::string judge(const Discrepancy& found, std::span<const Discrepancy> known) {
  if (found.nrms < 0.0) return {};
  for (const Discrepancy& entry : known) {
    if (entry.backend != found.backend || entry.precision != found.precision ||
        entry.config != found.config || entry.fixture != found.fixture) {
      continue;
    }
    if (found.nrms <= entry.nrms * kSameDiscrepancy &&
        found.max_abs <= entry.max_abs * kSameDiscrepancy) {
      return {};
    }
    return "worse than listed: " + line_of(found) + " against " + line_of(entry);
  }
  return "fails the seeds' pair and is not listed: " + line_of(found);
}

std::string line_of(const Discrepancy& d) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, R"("nrms": %.4g, "max_abs": %.4g, "largest": %.4g})",
                d.nrms, d.max_abs, d.largest);
  return R"({"backend": ")" + d.backend + R"(", "precision": ")" + d.precision +
         R"(", "config": ")" + d.config + R"(", "fixture": ")" + d.fixture + R"(", "stage": ")" +
         d.stage + R"(", )" + numbers;
}

}  // namespace abba::device
