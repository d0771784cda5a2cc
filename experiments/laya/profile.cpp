#include "experiments/laya/profile.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace abba::laya {
namespace {

constexpr int kRounds = 5;
constexpr std::int64_t kMostRepeats = 50;

double wall_ns(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

ProfileRow timed(const RecordedOperation& operation, ops::Backend& backend,
                 const DeviceTimer& timer, std::int64_t most_launches) {
  const auto once = [&] {
    for (const auto& call : operation.calls) call();
  };
  const auto count = static_cast<std::int64_t>(operation.calls.size());
  const std::int64_t before = backend.launch_count();
  once();
  backend.synchronize();
  const std::int64_t launches = backend.launch_count() - before;
  const std::int64_t repeats =
      std::clamp<std::int64_t>(most_launches / std::max<std::int64_t>(1, launches), 1,
                               std::max<std::int64_t>(1, kMostRepeats / count));
  const auto all = [&] {
    for (std::int64_t i = 0; i < repeats; ++i) once();
  };
  double device_ns = std::numeric_limits<double>::infinity();
  double host_ns = device_ns;
  for (int round = 0; round < kRounds; ++round) {
    const double issued_ns = wall_ns(all);
    backend.synchronize();
    host_ns = std::min(host_ns, issued_ns);
    device_ns = std::min(device_ns, operation.call.waits ? issued_ns : timer(all));
  }
  const auto runs = static_cast<double>(repeats * count);
  const double call_ns = device_ns / runs;
  return {operation.call.op,
          operation.call.shape,
          count,
          launches / count,
          call_ns,
          host_ns / runs,
          call_ns * static_cast<double>(count),
          operation.call.work,
          operation.call.waits};
}

}  // namespace

std::vector<ProfileRow> time_calls(const std::vector<RecordedCall>& calls, ops::Backend& backend,
                                   const DeviceTimer& timer, std::int64_t most_launches) {
  std::vector<ProfileRow> rows;
  for (const RecordedOperation& operation : by_operation(calls)) {
    rows.push_back(timed(operation, backend, timer, most_launches));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.total_ns > b.total_ns;
  });
  return rows;
}

void add_reference_rows(std::vector<ProfileRow>& rows, const std::vector<ProfileRow>& other) {
  for (const ProfileRow& candidate : other) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const ProfileRow& row) {
      return row.op == candidate.op && row.shape == candidate.shape;
    });
    if (known) continue;
    rows.push_back(candidate);
    rows.back().calls = 0;
    rows.back().total_ns = 0;
  }
}

}  // namespace abba::laya
