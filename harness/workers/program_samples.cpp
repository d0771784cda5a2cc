#include "harness/workers/program_samples.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ErrorCode::kBroken, where, problem);
}

std::int64_t checked_ns(double ns, const std::string& where) {
  if (!std::isfinite(ns) || ns < 0 || ns > 1e18) {
    refuse(where, "reports a sample of " + std::to_string(ns) + " ns, which is no duration");
  }
  return std::llround(ns);
}

std::vector<std::int64_t> not_empty(std::vector<std::int64_t> samples, const std::string& what,
                                    const std::string& where) {
  if (samples.empty()) refuse(where, "reports no sample of \"" + what + "\"");
  return samples;
}

Json parse(const std::string& text, const std::string& where) {
  try {
    return base::parse_json(text, where);
  } catch (const Error& error) {
    refuse(where, "did not print the JSON it was expected to: " + error.message());
  }
}

double ns_per_unit(const std::string& unit, const std::string& where) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  refuse(where, "reports times in \"" + unit + "\"; known are ns, us, ms, s");
}

const Json::Array& array_of(const Json& object, const char* key) {
  static const Json::Array kEmpty;
  const Json* value = object.find(key);
  return value != nullptr && value->is_array() ? value->as_array() : kEmpty;
}

// `name` of a summary's data: [{"name", "type", "value"}, ...].
std::string summary_value(const Json& summary, const std::string& name) {
  for (const Json& entry : array_of(summary, "data")) {
    if (entry.text_or_empty("name") == name) return entry.text_or_empty("value");
  }
  return "";
}

// Little-endian 32-bit floats, seconds.
std::vector<std::int64_t> read_sample_file(const Json& summary, const std::string& folder,
                                           const std::string& where) {
  const std::filesystem::path file(summary_value(summary, "filename"));
  const std::string path = (file.is_absolute() ? file : folder / file).string();
  std::string bytes;
  try {
    bytes = base::read_file(path);
  } catch (const Error& error) {
    refuse(where, "names a file of samples that cannot be read: " + std::string(error.what()));
  }
  const std::size_t count = bytes.size() / sizeof(float);
  if (summary_value(summary, "size") != std::to_string(count) ||
      bytes.size() % sizeof(float) != 0) {
    refuse(where, path + " does not hold as many samples as the JSON says");
  }
  std::vector<std::int64_t> samples;
  for (std::size_t i = 0; i < count; ++i) {
    float seconds = 0;
    std::memcpy(&seconds, bytes.data() + i * sizeof(float), sizeof(float));
    samples.push_back(checked_ns(static_cast<double>(seconds) * 1e9, where));
  }
  return samples;
}

}  // namespace

std::vector<std::int64_t> read_sample_lines(const std::string& text, const std::string& workload,
                                            const std::string& where) {
  constexpr std::string_view kMark = "abba-sample ";
  std::vector<std::int64_t> samples;
  for (const std::string& line : base::split(text, '\n')) {
    if (line.compare(0, kMark.size(), kMark) != 0) continue;
    const std::size_t space = line.rfind(' ');
    if (line.substr(kMark.size(), space < kMark.size() ? 0 : space - kMark.size()) != workload) {
      continue;
    }
    const std::string number(base::trim(std::string_view(line).substr(space + 1)));
    double ns = -1;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), ns);
    if (number.empty() || result.ec != std::errc() || result.ptr != number.data() + number.size()) {
      refuse(where, "printed \"" + line.substr(0, 100) +
                        "\" where \"abba-sample WORKLOAD NS\" was expected");
    }
    samples.push_back(checked_ns(ns, where));
  }
  return not_empty(std::move(samples), workload, where);
}

std::vector<std::int64_t> read_google_benchmark(const std::string& json,
                                                const std::string& benchmark,
                                                const std::string& where) {
  const Json root = parse(json, where);
  std::vector<std::int64_t> samples;
  for (const Json& run : array_of(root, "benchmarks")) {
    const std::string run_type = run.text_or_empty("run_type");
    if (!run_type.empty() && run_type != "iteration") continue;  // means and deviations
    if (run.text_or_empty("run_name") != benchmark && run.text_or_empty("name") != benchmark)
      continue;
    const Json* failed = run.find("error_occurred");
    if (failed != nullptr && failed->is_bool() && failed->as_bool()) {
      refuse(where, "failed in \"" + benchmark + "\": " + run.text_or_empty("error_message"));
    }
    const Json* time = run.find("real_time");
    if (time == nullptr || !time->is_number()) refuse(where, "a run has no \"real_time\"");
    const std::string unit = run.text_or_empty("time_unit");
    samples.push_back(checked_ns(time->as_double() * ns_per_unit(unit, where), where));
  }
  return not_empty(std::move(samples), benchmark, where);
}

std::vector<std::int64_t> read_nvbench(const std::string& json, const std::string& benchmark,
                                       const std::string& folder, const std::string& where) {
  const Json root = parse(json, where);
  std::optional<std::vector<std::int64_t>> samples;
  for (const Json& bench : array_of(root, "benchmarks")) {
    const std::string name = bench.text_or_empty("name");
    for (const Json& state : array_of(bench, "states")) {
      const std::string full_name = name + " " + state.text_or_empty("name");
      if (name != benchmark && full_name != benchmark) continue;
      for (const Json& summary : array_of(state, "summaries")) {
        if (summary.text_or_empty("hint") != "file/sample_times") continue;
        if (samples) {
          refuse(where,
                 "\"" + benchmark + "\" has several states; name one, \"" + full_name + "\"");
        }
        samples = read_sample_file(summary, folder, where);
      }
    }
  }
  return not_empty(samples.value_or(std::vector<std::int64_t>()), benchmark, where);
}

}  // namespace abba::workers
