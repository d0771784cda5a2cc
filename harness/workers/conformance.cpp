// Runs the probes in their order and turns what they find into one row for each rule.
#include "harness/workers/conformance.h"

#include <algorithm>

#include "engine/base/error.h"
#include "harness/workers/conformance_probe.h"
#include "harness/workers/conformance_rules.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

// Rules that any answer may break; they hold if none did.
constexpr std::string_view kOfEveryAnswer[] = {"answers-are-json", "one-answer-a-request",
                                               "answers-bounded", "answers-name-their-type",
                                               "errors-say-what"};

class Suite {
 public:
  Suite(const std::vector<std::string>& argv, const ConformanceOptions& options)
      : bench_(argv, options) {
    for (const ConformanceRule& rule : conformance_rules()) {
      rows_.push_back({std::string(rule.id), Conformance::kNotChecked, ""});
    }
    open_.assign(rows_.size(), true);
  }

  ConformanceReport run() {
    bench_.shared();  // throws if there is nothing to start
    for (const auto& probes : {hello_probes(), load_probes(), prepare_probes(), slot_probes(),
                               output_probes(), ending_probes()}) {
      for (const Probe& probe : probes) judge(probe);
      require_declared(bench_.options.boundary);
    }
    for (const std::string_view rule : kOfEveryAnswer) decide(rule, Conformance::kOk, "");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (open_[i]) rows_[i].detail = "not reached: " + (broken_.empty() ? missing_ : broken_);
    }
    return {std::move(rows_), broken_.empty() ? missing_ : ""};
  }

 private:
  // A boundary that the caller made up is no breach of the worker's.
  void require_declared(const std::string& boundary) const {
    if (boundary.empty()) return;
    std::string declared;
    for (const record::BoundaryDecl& known : bench_.hello.boundaries) {
      if (known.name == boundary) return;
      declared += (declared.empty() ? "" : ", ") + known.name;
    }
    throw base::Error(
        base::ErrorCode::kBadInput, "--boundary",
        "names \"" + boundary + "\", which this worker does not declare; it has " + declared);
  }
  std::size_t index(std::string_view rule) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const ConformanceRow& row) { return row.rule == rule; });
    ABBA_CHECK(found != rows_.end());
    return static_cast<std::size_t>(found - rows_.begin());
  }
  // The first word stands, but for a breach, which is the last.
  void decide(std::string_view rule, Conformance state, const std::string& detail) {
    const std::size_t i = index(rule);
    if (!open_[i] && state != Conformance::kBroken) return;
    rows_[i].state = state;
    rows_[i].detail = detail;
    open_[i] = false;
    if (state == Conformance::kBroken && broken_.empty())
      broken_ = std::string(rule) + " is broken";
  }
  void broken(std::string_view rule, const std::string& detail) {
    decide(rule, Conformance::kBroken, detail);
    bench_.drop();
  }

  // Left open: rules that only an answer could decide which did not come.
  bool can_be_judged(const Probe& probe) const {
    return std::all_of(probe.needs.begin(), probe.needs.end(), [&](std::string_view rule) {
      const std::size_t i = index(rule);
      return !open_[i] && rows_[i].state != Conformance::kBroken;
    });
  }

  void judge(const Probe& probe) {
    if (!can_be_judged(probe)) return;
    try {
      const std::string seen = probe.body(bench_);
      decide(probe.rule, Conformance::kOk, seen);
      for (const std::string_view rule : probe.covers) decide(rule, Conformance::kOk, "");
    } catch (const ProtocolBreach& breach) {
      broken(breach.rule(), breach.message());
    } catch (const Broken& found) {
      broken(found.rule.empty() ? probe.rule : std::string_view(found.rule), found.detail);
    } catch (const NotDeclared& missing) {
      decide(probe.rule, Conformance::kNotChecked, missing.detail);
      for (const std::string_view rule : probe.covers) {
        decide(rule, Conformance::kNotChecked, missing.detail);
      }
    } catch (const NotGiven& missing) {
      if (missing_.empty()) missing_ = missing.detail;
      bench_.drop();
    } catch (const base::Error& error) {
      broken(probe.rule, error.message());
    }
  }

  Bench bench_;
  std::vector<ConformanceRow> rows_;
  std::vector<bool> open_;  // by row: not decided yet
  std::string broken_;      // the first rule that is, as a sentence
  std::string missing_;
};

}  // namespace

std::string_view name(Conformance state) {
  switch (state) {
    case Conformance::kOk:
      return "ok";
    case Conformance::kBroken:
      return "broken";
    case Conformance::kNotChecked:
      break;
  }
  return "not checked";
}

int ConformanceReport::count(Conformance state) const {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [&](const ConformanceRow& row) { return row.state == state; }));
}

ConformanceReport conformance(const std::vector<std::string>& argv,
                              const ConformanceOptions& options) {
  return Suite(argv, options).run();
}

}  // namespace abba::workers
