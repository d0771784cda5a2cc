#include "harness/workers/program_worker.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/temporary_folder.h"
#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/workers/executable.h"
#include "harness/workers/program_samples.h"
#include "harness/workers/protocol_worker.h"

namespace abba::workers {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

bool mentions(const std::vector<std::string>& argv, const std::string& placeholder) {
  return std::any_of(argv.begin(), argv.end(), [&](const std::string& argument) {
    return argument.find(placeholder) != std::string::npos;
  });
}

// The name a benchmark program knows a workload by: its input (a string, or {"benchmark": ...}),
// else its id.
std::string benchmark_name(const record::Workload& workload) {
  if (workload.input.is_string()) return workload.input.as_string();
  const Json* name = workload.input.find("benchmark");
  return name != nullptr && name->is_string() ? name->as_string() : workload.id;
}

}  // namespace

ProgramWorker::ProgramWorker(const WorkerSpec& spec) : spec_(spec) {
  hash_command(spec_.argv, spec_.name);  // refuses a program that is not there
}

record::WorkerHello ProgramWorker::hello() {
  record::WorkerHello hello;
  hello.name = fs::path(spec_.argv[0]).filename().string();
  hello.version = "program";
  const bool wall = spec_.reads == record::Reads::kWall;
  hello.boundaries = {{wall ? "process" : "program", "ns",
                       wall ? "steady_clock of the harness" : "the program's own", ""}};
  hello.facts = Json::object({{"reads", record::name(spec_.reads)}});
  hello.raw = hello.facts;
  return hello;
}

record::LoadReply ProgramWorker::load(const record::LoadRequest& request) {
  for (const auto& [factor, level] : request.factors) {
    if (!mentions(spec_.argv, "{factor." + factor + "}")) {
      throw Error(ErrorCode::kPreflight, spec_.name,
                  "the program's command does not mention {factor." + factor +
                      "}, so the factor would have no effect");
    }
  }
  if (!request.inject.is_null()) {
    throw Error(ErrorCode::kPreflight, spec_.name, "a program cannot inject known effects");
  }
  loaded_ = request;
  return {request.settings, request.factors, Json(), Json(), {}};
}

record::PrepareReply ProgramWorker::prepare(const record::Workload& workload, std::uint64_t) {
  workloads_[workload.id] = workload;
  record::PrepareReply reply;
  reply.work = workload.work;
  return reply;
}

std::vector<std::string> ProgramWorker::command(const record::SlotRequest& request,
                                                const std::string& out_file) const {
  const record::Workload& workload = workloads_.at(request.workload);
  std::map<std::string, std::string> replacements = {
      {"{workload}", workload.id},
      {"{input}", plain_text(workload.input)},
      {"{warmup}", std::to_string(request.warmup)},
      {"{requests}", std::to_string(request.requests)},
      {"{samples}", std::to_string(request.warmup + request.requests)},
      {"{out}", out_file}};
  for (const auto& [name, level] : loaded_.factors) replacements["{factor." + name + "}"] = level;
  for (const auto& [name, path] : loaded_.files) replacements["{file." + name + "}"] = path;
  if (loaded_.settings.is_object()) {
    for (const auto& [name, value] : loaded_.settings.as_object()) {
      replacements["{setting." + name + "}"] = plain_text(value);
    }
  }
  std::vector<std::string> argv = spec_.argv;
  for (std::string& argument : argv) {
    for (const auto& [from, to] : replacements) replace_all(argument, from, to);
  }
  return argv;
}

ProgramWorker::Run ProgramWorker::run_once(const record::SlotRequest& request) {
  std::optional<base::TemporaryFolder> folder;
  std::string out_file;
  if (mentions(spec_.argv, "{out}")) out_file = folder.emplace().path() + "/out.json";
  ProcessSpec spec = process_spec(spec_);
  spec.argv = command(request, out_file);
  Run run;
  run.start_ns = now_ns();
  const CommandResult result = run_command(spec, slot_timeout_s(spec_, request));
  run.duration_ns = now_ns() - run.start_ns;
  stderr_tail_ = result.stderr_tail;
  if (result.exit_code != 0) {
    throw Error(ErrorCode::kBroken, spec_.name,
                "the program ended with exit code " + std::to_string(result.exit_code) +
                    stderr_excerpt(stderr_tail_));
  }
  const std::string output = out_file.empty() ? result.output : base::read_file(out_file);
  // nvbench names further files in the JSON: read them while the folder is there.
  run.samples_ns = read_samples(request.workload, run, output, folder ? folder->path() : spec_.cwd);
  return run;
}

std::vector<std::int64_t> ProgramWorker::read_samples(const std::string& workload, const Run& run,
                                                      const std::string& output,
                                                      const std::string& folder) const {
  const std::string benchmark = benchmark_name(workloads_.at(workload));
  switch (spec_.reads) {
    case record::Reads::kLines:
      return read_sample_lines(output, workload, spec_.name);
    case record::Reads::kGoogleBenchmark:
      return read_google_benchmark(output, benchmark, spec_.name);
    case record::Reads::kNvbench:
      return read_nvbench(output, benchmark, folder, spec_.name);
    default:
      return {run.duration_ns};
  }
}

record::SlotReply ProgramWorker::slot(const record::SlotRequest& request) {
  if (workloads_.count(request.workload) == 0) {
    throw Error(ErrorCode::kBroken, spec_.name,
                "the workload \"" + request.workload + "\" was not prepared");
  }
  const bool wall = spec_.reads == record::Reads::kWall;
  const std::int64_t runs = wall ? request.warmup + request.requests : 1;
  record::SlotReply reply;
  for (std::int64_t i = 0; i < runs; ++i) {
    const Run run = run_once(request);
    std::int64_t start_ns = run.start_ns;
    for (const std::int64_t duration_ns : run.samples_ns) {
      const auto seq = static_cast<std::int64_t>(reply.samples.size());
      reply.samples.push_back(
          {seq, seq < request.warmup, start_ns, duration_ns, record::SampleStatus::kOk});
      start_ns += duration_ns;
    }
  }
  if (static_cast<std::int64_t>(reply.samples.size()) <= request.warmup) {
    throw Error(ErrorCode::kBroken, spec_.name,
                "the program reports " + std::to_string(reply.samples.size()) +
                    " samples, all of them warm-ups; ask for fewer warm-ups");
  }
  return reply;
}

std::vector<record::OutputTensor> ProgramWorker::outputs(const std::string&,
                                                         const std::vector<std::string>&, bool) {
  throw Error(ErrorCode::kBroken, spec_.name, "a program without the protocol shows no outputs");
}

std::vector<record::CaptureCosts> ProgramWorker::graph_capture(const std::string&) {
  throw Error(ErrorCode::kBroken, spec_.name, "a program without the protocol captures no graph");
}

std::vector<record::Binding> ProgramWorker::files() const {
  return hash_command(spec_.argv, spec_.name);
}

std::unique_ptr<Worker> spawn(const WorkerSpec& spec) {
  if (spec.reads == record::Reads::kProtocol) return std::make_unique<ProtocolWorker>(spec);
  return std::make_unique<ProgramWorker>(spec);
}

}  // namespace abba::workers
