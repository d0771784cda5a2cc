#include "harness/run/outputs_check.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/run/live_worker.h"
#include "harness/run/notes.h"
#include "harness/run/tensor_difference.h"
#include "harness/run/worker_checks.h"
#include "harness/workers/executable.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using record::OutputCheck;
using record::OutputTensor;
using Tensors = std::vector<OutputTensor>;
using ByWorkload = std::map<std::string, Tensors>;

const OutputTensor* find_stage(const Tensors& tensors, const std::string& stage) {
  for (const auto& tensor : tensors) {
    if (tensor.stage == stage) {
      return &tensor;
    }
  }
  return nullptr;
}

bool inside(const record::StageLimit& limit, const TensorDifference& apart) {
  return apart.comparable && (limit.nrms < 0 || apart.nrms <= limit.nrms) &&
         (limit.max_abs < 0 || apart.max_abs <= limit.max_abs);
}

bool can_show_outputs(const Session& session, const std::string& arm) {
  const auto hello = session.record.hello.find(arm);
  return hello != session.record.hello.end() && hello->second.declares("outputs");
}

OutputCheck blank(const std::string& input, const std::string& stage, const std::string& arm,
                  const std::string& against) {
  OutputCheck check;
  check.input = input;
  check.stage = stage;
  check.arm = arm;
  check.against = against;
  return check;
}

class Checker {
 public:
  Checker(Session& session, Arms& arms) : session_(session), arms_(arms) {}

  void run() {
    const auto& rule = session_.in.manifest.outputs;
    with_values_ = rule.rule == record::OutputsRule::kLimits || rule.reference.present();
    for (const std::string arm : {"A", "B"}) {
      read_arm(arm);
    }
    compare_arms();
    if (session_.in.commands.count("reference") != 0) {
      compare_reference();
    }
    session_.commit("outputs", facts_);
    if (!failures_.empty()) {
      throw Error(ErrorCode::kPreflight, "outputs", sentence());
    }
  }

 private:
  // Stages to ask for: those named, else those that have a limit, else all.
  [[nodiscard]] std::vector<std::string> stages() const {
    const auto& outputs = session_.in.manifest.outputs;
    if (!outputs.stages.empty() || outputs.rule != record::OutputsRule::kLimits) {
      return outputs.stages;
    }
    std::vector<std::string> names;
    for (const auto& limits : {outputs.limits, outputs.reference_limits}) {
      for (const auto& [stage, limit] : limits) {
        if (std::find(names.begin(), names.end(), stage) == names.end()) {
          names.push_back(stage);
        }
      }
    }
    return names;
  }

  void read_arm(const std::string& arm) {
    auto& worker = arms_.worker(arm);
    const auto& workloads = session_.in.manifest.workloads;
    for (const auto& workload : workloads) {
      session_.require_going("the outputs of arm " + arm + " for " + workload.id);
      first_[arm][workload.id] = worker.outputs(workload.id, stages(), with_values_);
      again(arm, workload.id, "repeat");
    }
    for (auto workload = workloads.rbegin(); workload != workloads.rend(); ++workload) {
      session_.require_going("the outputs of arm " + arm + " in reversed order");
      again(arm, workload->id, "reversed");
    }
  }

  void again(const std::string& arm, const std::string& workload, const std::string& against) {
    const Tensors& before = first_[arm][workload];
    const Tensors now = arms_.worker(arm).outputs(workload, stages(), false);
    for (const auto& tensor : before) {
      const OutputTensor* same = find_stage(now, tensor.stage);
      OutputCheck check = blank(workload, tensor.stage, arm, against);
      check.digest = same == nullptr ? "" : same->digest;
      check.equal = check.within = same != nullptr && same->digest == tensor.digest;
      if (!check.equal) {
        fail(check, "arm " + arm + " gave other results for " + workload + ", stage " +
                        tensor.stage + ", when asked again (" + against + ")");
      }
      facts_.output_checks.push_back(std::move(check));
    }
  }

  void compare_arms() {
    for (const auto& workload : session_.in.manifest.workloads) {
      const Tensors* a = &first_["A"][workload.id];
      const Tensors* b = &first_["B"][workload.id];
      if (a->empty() || b->empty()) {
        failures_.push_back("a worker showed no output for " + workload.id);
      }
      Tensors a_values;
      Tensors b_values;
      if (!with_values_ && digests(*a) != digests(*b)) {  // for saying where they part
        a_values = arms_.worker("A").outputs(workload.id, stages(), true);
        b_values = arms_.worker("B").outputs(workload.id, stages(), true);
        a = &a_values;
        b = &b_values;
      }
      for (const auto& baseline : *a) {
        OutputCheck check = compare(workload.id, baseline.stage, "B", "A", *b, baseline,
                                    session_.in.manifest.outputs.limits);
        if (!check.within) {
          fail(check, "B differs from A for " + workload.id + ", stage " + baseline.stage +
                          (check.first_divergence.empty() ? "" : " at " + check.first_divergence));
        }
        facts_.output_checks.push_back(std::move(check));
      }
    }
  }

  static std::string digests(const Tensors& tensors) {
    std::string all;
    for (const auto& tensor : tensors) {
      all += tensor.stage + "=" + tensor.digest + "\n";
    }
    return all;
  }

  OutputCheck compare(const std::string& workload, const std::string& stage, const std::string& arm,
                      const std::string& against, const Tensors& tensors,
                      const OutputTensor& baseline,
                      const std::map<std::string, record::StageLimit>& limits) const {
    OutputCheck check = blank(workload, stage, arm, against);
    const OutputTensor* mine = find_stage(tensors, stage);
    if (mine == nullptr) {
      check.first_divergence = "the stage is missing";
      return check;
    }
    check.digest = mine->digest;
    check.equal = mine->digest == baseline.digest;
    const TensorDifference apart = difference(*mine, baseline);
    check.nrms = apart.nrms;
    check.max_abs = apart.max_abs;
    check.ulp = apart.ulp;
    check.first_divergence = apart.first_divergence;
    const auto limit = limits.find(stage);
    const bool limited = limit != limits.end();
    const bool bitwise =
        against != "reference" && session_.in.manifest.outputs.rule != record::OutputsRule::kLimits;
    check.within = check.equal || (!bitwise && (!limited || inside(limit->second, apart)));
    return check;
  }

  void compare_reference() {
    const ByWorkload reference = reference_outputs();
    const auto& outputs = session_.in.manifest.outputs;
    const auto& limits =
        outputs.reference_limits.empty() ? outputs.limits : outputs.reference_limits;
    for (const auto& workload : session_.in.manifest.workloads) {
      for (const auto& expected : reference.at(workload.id)) {
        OutputCheck a = compare(workload.id, expected.stage, "A", "reference",
                                first_["A"][workload.id], expected, limits);
        OutputCheck b = compare(workload.id, expected.stage, "B", "reference",
                                first_["B"][workload.id], expected, limits);
        const std::string place = workload.id + ", stage " + expected.stage;
        if (!a.within) {
          facts_.notes.push_back(make_note(
              kParityBlocked, workload.id,
              "claims: parity-blocked; " + std::string(b.within ? "A fails" : "both arms fail") +
                  " against the reference for " + place));
        } else if (!b.within) {
          fail(b, "only B fails against the reference for " + place);
        }
        facts_.output_checks.push_back(std::move(a));
        facts_.output_checks.push_back(std::move(b));
      }
    }
  }

  ByWorkload reference_outputs() {
    session_.require_going("the reference was started");
    const record::PlannedPass no_pass;
    workers::WorkerSpec spec = worker_spec(session_.in, "reference", no_pass);
    spec.stop = session_.with.kill_requested;
    const auto worker = session_.with.spawn(spec);
    const auto hello = worker->hello();
    const auto request = load_request(session_.in, "reference");
    require_effective("reference", hello, request, worker->load(request));
    facts_.bindings = workers::hash_command(session_.in.commands.at("reference").argv, "reference");
    ByWorkload tensors;
    for (const auto& workload : session_.in.manifest.workloads) {
      session_.require_going("the reference answered " + workload.id);
      worker->prepare(workload, session_.in.manifest.protocol.seed);
      tensors[workload.id] = worker->outputs(workload.id, stages(), true);
    }
    worker->shutdown();
    return tensors;
  }

  // Without a rule a difference is only recorded.
  void fail(const OutputCheck& check, const std::string& text) {
    if (session_.in.manifest.outputs.rule != record::OutputsRule::kNone ||
        check.against == "reference") {
      failures_.push_back(text);
    } else {
      facts_.notes.push_back(make_note(kOutputsNotChecked, check.input, text + "; no rule asks"));
    }
  }

  [[nodiscard]] std::string sentence() const {
    std::string text = failures_.front();
    if (failures_.size() > 1) {
      text += " (and " + std::to_string(failures_.size() - 1) + " more)";
    }
    return text +
           "; nothing was timed. Make B compute the same results, or register a rule that "
           "allows this difference";
  }

  Session& session_;
  Arms& arms_;
  bool with_values_ = false;
  std::map<std::string, ByWorkload> first_;  // by arm
  store::Facts facts_;
  std::vector<std::string> failures_;
};

}  // namespace

void check_outputs(Session& session, Arms& arms) {
  const auto& outputs = session.in.manifest.outputs;
  const bool wanted = outputs.rule != record::OutputsRule::kNone || outputs.reference.present();
  for (const std::string arm : {"A", "B"}) {
    if (can_show_outputs(session, arm)) {
      continue;
    }
    // A stranger's program cannot be asked; a worker can, and the manifest wants it.
    if (wanted && session.in.commands.at(arm).reads == record::Reads::kProtocol) {
      throw Error(ErrorCode::kPreflight, "worker " + arm,
                  "declares no outputs, but the manifest has a rule for them; use a worker that "
                  "declares \"outputs\", or write \"outputs\": \"none\"");
    }
    session.note(kOutputsNotChecked, "",
                 "outputs not checked: worker " + arm + " does not declare them");
    return;
  }
  if (!wanted) {
    session.note(kOutputsNotChecked, "", "the manifest has no rule for outputs; they are recorded");
  }
  Checker(session, arms).run();
}

}  // namespace abba::run
