// abba_statistics_lines: the C++ side of tests/reference/statistics_oracle.py. Reads one JSON
// object a line from standard input, {"f": FUNCTION, arguments ...}, and prints its result as one
// line: an array of numbers. What is not estimable is an empty array.
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "harness/stats/bootstrap.h"
#include "harness/stats/distributions.h"
#include "harness/stats/e_process.h"
#include "harness/stats/estimators.h"
#include "harness/stats/family.h"
#include "harness/stats/intervals.h"
#include "harness/stats/power.h"
#include "harness/stats/quantiles.h"

namespace {

namespace stats = abba::stats;
using abba::base::Json;
using Numbers = std::vector<double>;

constexpr const char* kWhere = "standard input";

Numbers list(const Json& request, const char* key) {
  Numbers values;
  for (const Json& item : request.get_array(key, kWhere)) {
    values.push_back(item.as_double());
  }
  return values;
}

double number(const Json& request, const char* key) {
  return request.get_double(key, kWhere);
}

int whole(const Json& request, const char* key) {
  return static_cast<int>(request.get_int(key, kWhere));
}

Numbers ends(const abba::record::Interval& interval) {
  return interval.estimable() ? Numbers{interval.low, interval.high} : Numbers{};
}

Numbers ends_and_level(const abba::record::Interval& interval) {
  return interval.estimable() ? Numbers{interval.low, interval.high, interval.level} : Numbers{};
}

Numbers bootstrap(const Json& request) {
  std::vector<stats::BootstrapPass> passes;
  for (const Json& of_pass : request.get_array("passes", kWhere)) {
    stats::BootstrapPass pass;
    for (const Json& of_block : of_pass.as_array()) {
      stats::BootstrapBlock block;
      for (const Json& of_slot : of_block.as_array()) {
        block.push_back({of_slot.get_bool("b", kWhere), list(of_slot, "x")});
      }
      pass.push_back(std::move(block));
    }
    passes.push_back(std::move(pass));
  }
  stats::BootstrapOptions options;
  options.resamples = whole(request, "resamples");
  options.quantile = number(request, "p");
  const stats::Bootstrap result = stats::hierarchical_bootstrap(passes, options);
  return {result.estimate, stats::mean(result.effects), stats::standard_deviation(result.effects),
          result.percentile.low, result.percentile.high};
}

Numbers holm_rows(const Json& request) {
  Numbers result;
  for (const auto& row : stats::holm(list(request, "p"), number(request, "alpha"))) {
    result.push_back(row.rejected ? 1 : 0);
  }
  return result;
}

Numbers false_discovery(const Json& request) {
  Numbers result;
  for (const auto& row : stats::benjamini_hochberg(list(request, "p"), number(request, "rate"))) {
    result.push_back(row.adjusted);
    result.push_back(row.rejected ? 1 : 0);
  }
  return result;
}

Numbers quantile_interval(const Json& request) {
  const auto estimate =
      stats::estimate_quantile(list(request, "x"), number(request, "p"), number(request, "level"));
  Numbers result = {estimate.value};
  const Numbers interval = ends_and_level(estimate.interval);
  result.insert(result.end(), interval.begin(), interval.end());
  return result;
}

const std::map<std::string, std::function<Numbers(const Json&)>>& functions() {
  static const std::map<std::string, std::function<Numbers(const Json&)>> table = {
      {"student_interval",
       [](const Json& r) {
         return ends(stats::student_interval(list(r, "x"), number(r, "level")));
       }},
      {"student_p", [](const Json& r) { return Numbers{stats::student_p(list(r, "x"))}; }},
      {"tost_p",
       [](const Json& r) {
         return Numbers{stats::tost_p(list(r, "x"), number(r, "low"), number(r, "high"))};
       }},
      {"signed_rank_p", [](const Json& r) { return Numbers{stats::signed_rank_p(list(r, "x"))}; }},
      {"signed_rank_interval",
       [](const Json& r) {
         return ends_and_level(stats::signed_rank_interval(list(r, "x"), number(r, "level")));
       }},
      {"sign_flip_p", [](const Json& r) { return Numbers{stats::sign_flip_p(list(r, "x"))}; }},
      {"hodges_lehmann",
       [](const Json& r) { return Numbers{stats::hodges_lehmann(list(r, "x"))}; }},
      {"holm", holm_rows},
      {"benjamini_hochberg", false_discovery},
      {"quantile_interval", quantile_interval},
      {"student_quantile",
       [](const Json& r) {
         return Numbers{stats::student_quantile(number(r, "p"), number(r, "df"))};
       }},
      {"noncentral_t_upper_p",
       [](const Json& r) {
         return Numbers{
             stats::noncentral_t_upper_p(number(r, "t"), number(r, "df"), number(r, "shift"))};
       }},
      {"binomial_cdf",
       [](const Json& r) {
         return Numbers{stats::binomial_cdf(whole(r, "k"), whole(r, "n"), number(r, "p"))};
       }},
      {"proportion_interval",
       [](const Json& r) {
         return ends(stats::proportion_interval(whole(r, "k"), whole(r, "n"), number(r, "level")));
       }},
      {"two_sided_power",
       [](const Json& r) {
         return Numbers{
             stats::two_sided_power(whole(r, "n"), number(r, "effect"), number(r, "alpha"))};
       }},
      {"one_sided_power",
       [](const Json& r) {
         return Numbers{
             stats::one_sided_power(whole(r, "n"), number(r, "effect"), number(r, "alpha"))};
       }},
      {"log_e_process",
       [](const Json& r) {
         return stats::log_e_process(list(r, "x"), number(r, "scale"), number(r, "rho2"));
       }},
      {"bootstrap", bootstrap},
  };
  return table;
}

}  // namespace

int main() {
  std::string line;
  try {
    while (std::getline(std::cin, line)) {
      const Json request = abba::base::parse_json(line, kWhere);
      Json result = Json::array();
      for (const double value : functions().at(request.get_string("f", kWhere))(request)) {
        result.push_back(value);
      }
      std::cout << result.dump() << "\n";
    }
  } catch (const std::exception& error) {
    std::cerr << "abba_statistics_lines: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
