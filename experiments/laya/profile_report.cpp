#include <cstdio>

#include "experiments/laya/profile.h"

namespace abba::laya {
namespace {

using base::Json;

std::string text(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string micros(double ns) {
  return text("%.2f", ns / 1e3);
}

double sum_of(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.total_ns;
  return sum;
}

// Device time alone, to be held against the queued forward.
double device_sum_of(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.waits ? 0 : row.total_ns;
  return sum;
}

Json row_json(const ProfileRow& row, double model_ns) {
  return Json::object({{"op", row.op},
                       {"shape", row.shape},
                       {"calls", row.calls},
                       {"launches_per_call", row.launches},
                       {"call_ns", row.call_ns},
                       {"host_ns_per_call", row.host_ns},
                       {"total_ns", row.total_ns},
                       {"share", row.total_ns / model_ns},
                       {"flops_per_call", row.work.flops},
                       {"bytes_per_call", row.work.bytes},
                       {"clock", row.waits ? "host wall" : "device"}});
}

std::string rate(double amount, double ns, double scale) {
  return amount > 0 && ns > 0 ? text("%.2f", amount / ns / scale) : "–";
}

std::string row_markdown(const ProfileRow& row, double model_ns) {
  return "| " + row.op + " | " + row.shape + " | " + std::to_string(row.calls) + " | " +
         micros(row.call_ns) + " | " + micros(row.host_ns) + " | " + micros(row.total_ns) + " | " +
         text("%.1f %%", 100 * row.total_ns / model_ns) + " | " +
         rate(row.work.bytes, row.call_ns, 1e3) + " | " + rate(row.work.flops, row.call_ns, 1e3) +
         " |\n";
}

std::string total_markdown(const std::string& what, double ns, double model_ns) {
  return "| " + what + " | | | | | " + micros(ns) + " | " + text("%.1f %%", 100 * ns / model_ns) +
         " | | |\n";
}

}  // namespace

Json profile_json(const Profile& profile, const Json& facts) {
  const ProfileTotals& totals = profile.totals;
  const double sum = sum_of(profile);
  Json rows = Json::array();
  for (const ProfileRow& row : profile.rows) rows.push_back(row_json(row, totals.model_ns));
  Json json = Json::object({{"schema", "abba.profile/1"}});
  json.set("facts", facts);
  json.set("measured", Json::object({{"model_ns", totals.model_ns},
                                     {"encoder_ns", totals.encoder_ns},
                                     {"requests", totals.requests},
                                     {"queued_device_ns", totals.queued_ns},
                                     {"issue_ns", totals.issue_ns},
                                     {"launches", totals.launches}}));
  json.set("sum_ns", sum);
  json.set("remainder_ns", totals.model_ns - sum);
  json.set("closure", sum / totals.model_ns);
  json.set("queued_closure", device_sum_of(profile) / totals.queued_ns);
  json.set("rows", std::move(rows));
  return json;
}

std::string profile_markdown(const Profile& profile, const Json& facts) {
  const ProfileTotals& totals = profile.totals;
  std::string page = "| | |\n|---|---|\n";
  for (const auto& [key, value] : facts.as_object()) {
    page += "| " + key + " | " + (value.is_string() ? value.as_string() : value.dump()) + " |\n";
  }
  page += "\nA request takes " + micros(totals.model_ns) + " µs (median wall time of " +
          std::to_string(totals.requests) + "), its encoder boundary " + micros(totals.encoder_ns) +
          " µs. Its operations queued back to back keep the device busy for " +
          micros(totals.queued_ns) + " µs; starting them takes the host " +
          micros(totals.issue_ns) + " µs";
  if (totals.launches > 0) {
    page += ", " + micros(totals.issue_ns / static_cast<double>(totals.launches)) +
            " µs for each of " + std::to_string(totals.launches) + " launches";
  }
  page +=
      ".\n\nµs on the device, best of five pipelined batches over all instances of a row; host "
      "= to start one call; transfers are host wall time. A count of 0: run under other levels "
      "only.\n\n";
  page +=
      "| op | shape | calls | µs a call | host µs | total µs | share | TB/s | TFLOP/s |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const ProfileRow& row : profile.rows) page += row_markdown(row, totals.model_ns);
  const double sum = sum_of(profile);
  page += total_markdown("**sum**", sum, totals.model_ns);
  page += total_markdown("**remainder** of the measured request", totals.model_ns - sum,
                         totals.model_ns);
  page += "\nThe device times of the rows add up to " +
          text("%.1f %%", 100 * device_sum_of(profile) / totals.queued_ns) +
          " of the queued forward.\n";
  return page;
}

}  // namespace abba::laya
