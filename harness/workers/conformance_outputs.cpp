// Rules about outputs and digests.
#include <algorithm>
#include <cstring>

#include "engine/base/sha256.h"
#include "harness/record/registration.h"
#include "harness/workers/conformance_probe.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

std::string digest_of_slot(const Bench& bench, Subject& subject, const std::string& id) {
  const std::string digest = bench.ask_slot(subject, Bench::slot(id)).digest;
  if (digest.empty()) throw Broken{"a slot has no digest, though outputs are declared", ""};
  return digest;
}

std::string digest_repeatable(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  const std::string first = digest_of_slot(bench, subject, "first");
  if (digest_of_slot(bench, subject, "second") != first) {
    throw Broken{"two slots of one process differ in their digest", ""};
  }
  return record::short_digest(first);
}

std::string digest_same_in_two_processes(Bench& bench) {
  bench.require_capability("outputs");
  const std::string first = digest_of_slot(bench, bench.prepared(), "here");
  Subject other = bench.start();
  bench.load_defaults(other);
  bench.prepare(other);
  if (digest_of_slot(bench, other, "there") != first) {
    throw Broken{"two processes differ in their digest", ""};
  }
  return "";
}

// The last request of a slot of two is of variant 1.
std::string variants_repeatable(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.shared();
  bench.forget();
  bench.load_defaults(subject);
  record::Workload workload = bench.workload();
  workload.rotate = 3;
  record::SlotRequest request = Bench::slot("rotated");
  request.warmup = 0;
  request.requests = 2;
  std::string first;
  for (int i = 0; i < 2; ++i) {
    const base::Json answer = subject.ask_or_error(prepare_request(workload, 11));
    if (answer_type(answer) == "error") throw NotDeclared{"it refuses to vary its input (rotate)"};
    parse_prepare(answer, "worker");
    const std::string digest = bench.ask_slot(subject, request).digest;
    if (i > 0 && digest != first) {
      throw Broken{"prepared twice with one seed, the second variant has two digests", ""};
    }
    first = digest;
  }
  return "";
}

std::string outputs_valid(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  bench.ask_outputs(subject, {}, true);
  return std::to_string(bench.ask_outputs(subject, {}, false).size()) + " stages";
}

std::string stages_asked_for_only(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  for (const std::string& stage : bench.hello.stages) bench.ask_outputs(subject, {stage}, false);
  return "";
}

std::string outputs_repeatable(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  const auto first = bench.ask_outputs(subject, {}, false);
  const auto second = bench.ask_outputs(subject, {}, true);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].stage != second[i].stage || first[i].digest != second[i].digest) {
      throw Broken{"the stage \"" + first[i].stage + "\" differs between two requests", ""};
    }
  }
  return "";
}

// What a digest is made of; empty where the bytes cannot be had: values are widened to 32-bit
// floats, so they are the bytes of that type alone.
std::string digested(const record::OutputTensor& tensor) {
  if (tensor.dtype != "F32") return "";
  std::string shape;
  for (const std::int64_t size : tensor.shape) {
    shape += (shape.empty() ? "" : ",") + std::to_string(size);
  }
  std::string bytes(tensor.values.size() * sizeof(float), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), tensor.values.data(), bytes.size());
  return "F32\n" + shape + "\n" + bytes;
}

std::string digest_as_defined(Bench& bench) {
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  const std::string slot = digest_of_slot(bench, subject, "digested");
  std::string all;
  int checked = 0;
  const auto tensors = bench.ask_outputs(subject, {}, true);
  for (const std::string& stage : bench.hello.stages) {
    const record::OutputTensor& tensor = *std::find_if(
        tensors.begin(), tensors.end(), [&](const auto& other) { return other.stage == stage; });
    const std::string content = digested(tensor);
    if (content.empty()) continue;
    ++checked;
    all += content;
    if (base::sha256_hex(content) != tensor.digest) {
      throw Broken{"the digest of stage \"" + tensor.stage + "\" is not that of its values", ""};
    }
  }
  if (checked == 0) throw NotDeclared{"no stage is of type F32, whose bytes values would show"};
  if (checked == static_cast<int>(tensors.size()) && base::sha256_hex(all) != slot) {
    throw Broken{"the digest of a slot is not that of its stages in their declared order", ""};
  }
  return std::to_string(checked) + " of " + std::to_string(tensors.size()) + " stages recomputed";
}

std::string unknown_stage_refused(Bench& bench) {
  bench.require_capability("outputs");
  bench.prepared().expect_error(outputs_request(Bench::kWorkload, {"no-such-stage"}, false).dump());
  return "";
}

}  // namespace

std::vector<Probe> output_probes() {
  return {
      {"digest-repeatable", {"slot-valid"}, {}, digest_repeatable},
      {"digest-same-in-two-processes", {"digest-repeatable"}, {}, digest_same_in_two_processes},
      {"variants-repeatable", {"digest-repeatable"}, {}, variants_repeatable},
      {"outputs-valid", {"prepare-valid"}, {"stages-answered-once"}, outputs_valid},
      {"stages-asked-for-only", {"outputs-valid"}, {}, stages_asked_for_only},
      {"outputs-repeatable", {"outputs-valid"}, {}, outputs_repeatable},
      {"digest-as-defined",
       {"outputs-repeatable", "digest-same-in-two-processes"},
       {},
       digest_as_defined},
      {"unknown-stage-refused", {"prepare-valid"}, {}, unknown_stage_refused},
  };
}

}  // namespace abba::workers
