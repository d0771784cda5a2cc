// Rules about slots: what a sample, a span, a value is.
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "harness/workers/conformance_probe.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;

std::string slot_valid(Bench& bench) {
  Subject& subject = bench.prepared();
  std::size_t samples = bench.ask_slot(subject, Bench::slot("first-slot")).samples.size();
  record::SlotRequest single = Bench::slot("second slot \"quoted\"");
  single.warmup = 0;
  single.requests = 1;
  samples += bench.ask_slot(subject, single).samples.size();
  return std::to_string(samples) + " samples";
}

std::string requests_succeed(Bench& bench) {
  const record::SlotReply reply = bench.ask_slot(bench.prepared(), Bench::slot("failures"));
  if (reply.failures > 0) {
    throw Broken{std::to_string(reply.failures) + " requests failed: " + reply.failure_text, ""};
  }
  return "";
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whatever clock a boundary has, it counts nanoseconds: 5 % and 1 ms are left to its rate.
std::string samples_fit_the_exchange(Bench& bench) {
  Subject& subject = bench.prepared();
  const std::int64_t before = now_ns();
  const record::SlotReply reply = bench.ask_slot(subject, Bench::slot("clock"));
  const std::int64_t exchange_ns = now_ns() - before;
  const record::Sample& last = reply.samples.back();
  const std::int64_t samples_ns = last.start_ns + last.duration_ns - reply.samples.front().start_ns;
  if (static_cast<double>(samples_ns) > 1.05 * static_cast<double>(exchange_ns) + 1e6) {
    throw Broken{"the samples span " + std::to_string(samples_ns) +
                     " ns, the whole exchange took " + std::to_string(exchange_ns) + " ns",
                 ""};
  }
  return "";
}

std::string spans_nested(Bench& bench) {
  bench.require_capability("spans");
  Subject& subject = bench.prepared();
  std::size_t spans = 0;
  for (const record::BoundaryDecl& boundary : bench.hello.boundaries) {
    record::SlotRequest request = Bench::slot("of " + boundary.name);
    request.boundaries = {boundary.name};
    const Json answer = subject.ask_or_error(slot_request(request));
    if (answer_type(answer) == "error") continue;  // a boundary that this workload does not have
    spans += parse_slot(answer, request, bench.hello, "worker").spans.size();
  }
  return std::to_string(spans) + " spans and totals";
}

std::string span_totals_add_up(Bench& bench) {
  bench.require_capability("spans");
  const record::SlotRequest request = Bench::slot("totals");
  const Json answer = bench.prepared().ask(slot_request(request));
  const record::SlotReply reply = parse_slot(answer, request, bench.hello, "worker");
  const Json* dropped = answer.find("spans_dropped");
  if (dropped != nullptr && dropped->is_int() && dropped->as_int() > 0) {
    throw NotDeclared{"not every span is listed"};
  }
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> sums;
  for (const record::Span& span : reply.spans) {
    auto& [duration_ns, count] = sums[{span.name, span.parent}];
    duration_ns += span.seq < 0 ? -span.duration_ns : span.duration_ns;
    count += span.seq < 0 ? -span.count : 1;
  }
  for (const auto& [names, rest] : sums) {
    if (rest.first != 0 || rest.second != 0) {
      throw Broken{"of \"" + names.first + "\" the spans minus the total leave " +
                       std::to_string(rest.first) + " ns and " + std::to_string(rest.second) +
                       " spans",
                   ""};
    }
  }
  return std::to_string(sums.size()) + " totals";
}

std::string span_limit_kept(Bench& bench) {
  bench.require_capability("spans");
  record::SlotRequest request = Bench::slot("limit");
  request.max_spans = 1;
  std::int64_t first = -1;
  for (const record::Span& span : bench.ask_slot(bench.prepared(), request).spans) {
    if (span.seq < 0) continue;
    if (first >= 0 && span.seq != first) {
      throw Broken{"spans of more than one request are listed where max_spans is 1", ""};
    }
    first = span.seq;
  }
  return "";
}

std::string unknown_workload_refused(Bench& bench) {
  record::SlotRequest request = Bench::slot("s");
  request.workload = "no-such-workload";
  bench.prepared().expect_error(slot_request(request).dump());
  return "";
}

std::string unknown_boundary_refused(Bench& bench) {
  record::SlotRequest request = Bench::slot("s");
  request.boundaries = {"no-such-boundary"};
  bench.prepared().expect_error(slot_request(request).dump());
  return "";
}

std::string bad_slot_refused(Bench& bench) {
  record::SlotRequest request = Bench::slot("s");
  request.requests = 0;
  bench.prepared().expect_error(slot_request(request).dump());
  return "";
}

// A start may be a span inside of the request, so half of the pace is left to what comes before it.
std::string pacing_kept(Bench& bench) {
  constexpr double kIntervalMs = 5;
  record::SlotRequest request = Bench::slot("paced");
  request.interval_ms = kIntervalMs;
  const record::SlotReply reply = bench.ask_slot(bench.prepared(), request);
  const auto steps = static_cast<double>(reply.samples.size() - 1);
  const auto taken_ns =
      static_cast<double>(reply.samples.back().start_ns - reply.samples.front().start_ns);
  if (taken_ns < 0.5 * kIntervalMs * 1e6 * steps) {
    throw Broken{"at 5 ms a request, the last of " + std::to_string(reply.samples.size()) +
                     " starts " + Json(taken_ns).canonical() + " ns after the first",
                 ""};
  }
  return "";
}

std::string injected_delay_measured(Bench& bench) {
  bench.require_capability("inject");
  constexpr std::int64_t kDelayNs = 2'000'000;
  Subject& subject = bench.shared();
  bench.forget();
  subject.ask(hello_request());
  record::LoadRequest load = bench.defaults();
  load.inject = Json::object({{"kind", "delay"}, {"ns", kDelayNs}});
  subject.ask(load_request(load));
  parse_prepare(bench.prepare(subject), "worker");
  const record::SlotReply reply = bench.ask_slot(subject, Bench::slot("delayed"));
  const auto shortest =
      std::min_element(reply.samples.begin(), reply.samples.end(),
                       [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; });
  if (shortest->duration_ns < kDelayNs * 95 / 100) {  // a kit may allow for its own clock reads
    throw Broken{"with a delay of 2 ms in each request, one takes " +
                     std::to_string(shortest->duration_ns) + " ns",
                 ""};
  }
  return "";
}

std::string hot_factors_switch(Bench& bench) {
  Subject& subject = bench.prepared();
  bench.forget();
  int switched = 0;
  for (const record::FactorDecl& factor : bench.hello.factors) {
    for (const record::LevelDecl& level : factor.levels) {
      if (!factor.hot) continue;
      record::SlotRequest request = Bench::slot("at " + level.name);
      request.factors = {{factor.name, level.name}};
      const Json answer = subject.ask_or_error(slot_request(request));
      if (answer_type(answer) == "error") continue;  // this machine may lack what the level needs
      parse_slot(answer, request, bench.hello, "worker");
      ++switched;
    }
  }
  if (switched == 0) throw NotDeclared{"no factor is hot"};
  return std::to_string(switched) + " levels";
}

std::string cold_factors_refused(Bench& bench) {
  for (const record::FactorDecl& factor : bench.hello.factors) {
    if (factor.hot) continue;
    record::SlotRequest request = Bench::slot("cold");
    request.factors = {{factor.name, factor.default_level}};
    bench.prepared().expect_error(slot_request(request).dump());
    return "";
  }
  throw NotDeclared{"every factor is hot"};
}

// Three tries: a walk that something else interrupts takes long for another reason.
std::string flush_makes_cold(Bench& bench) {
  bench.require_capability("flush");
  record::SlotRequest request = Bench::slot("cold caches");
  request.warmup = 0;
  request.requests = 1;
  request.flush = true;
  record::FlushCheck check;
  for (int i = 0; i < 3; ++i) {
    check = bench.ask_slot(bench.prepared(), request).flush;
    if (check.cold_ns >= record::kColdRatio * check.warm_ns) {
      return check.cache + ", " + Json(check.cold_ns / check.warm_ns).canonical().substr(0, 4) +
             " times";
    }
  }
  throw Broken{"warm " + Json(check.warm_ns).canonical() + " ns, after a flush " +
                   Json(check.cold_ns).canonical() + " ns",
               ""};
}

std::string workloads_kept(Bench& bench) {
  Subject& subject = bench.prepared();
  bench.forget();
  record::Workload other = bench.workload();
  other.id = "worker-check-2";
  subject.ask(prepare_request(other, 8));
  for (const std::string& id : {other.id, std::string(Bench::kWorkload), other.id}) {
    record::SlotRequest request = Bench::slot("of " + id);
    request.workload = id;
    bench.ask_slot(subject, request);
  }
  return "";
}

}  // namespace

std::vector<Probe> slot_probes() {
  return {
      {"slot-valid",
       {"prepare-valid"},
       {"slot-id-echoed", "request-echoed", "samples-counted", "samples-in-order",
        "failures-in-order", "values-declared"},
       slot_valid},
      {"requests-succeed", {"slot-valid"}, {}, requests_succeed},
      {"samples-fit-the-exchange", {"slot-valid"}, {}, samples_fit_the_exchange},
      {"spans-nested", {"slot-valid"}, {}, spans_nested},
      {"span-totals-add-up", {"slot-valid", "spans-nested"}, {}, span_totals_add_up},
      {"span-limit-kept", {"slot-valid", "spans-nested"}, {}, span_limit_kept},
      {"unknown-workload-refused", {"prepare-valid"}, {}, unknown_workload_refused},
      {"unknown-boundary-refused", {"prepare-valid"}, {}, unknown_boundary_refused},
      {"bad-slot-refused", {"prepare-valid"}, {}, bad_slot_refused},
      {"pacing-kept", {"slot-valid"}, {}, pacing_kept},
      {"injected-delay-measured", {"slot-valid"}, {}, injected_delay_measured},
      {"hot-factors-switch", {"slot-valid"}, {}, hot_factors_switch},
      {"cold-factors-refused", {"prepare-valid"}, {}, cold_factors_refused},
      {"flush-makes-cold", {"slot-valid"}, {}, flush_makes_cold},
      {"workloads-kept", {"slot-valid"}, {}, workloads_kept},
  };
}

}  // namespace abba::workers
