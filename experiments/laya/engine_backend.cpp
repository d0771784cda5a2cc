#include "experiments/laya/engine_backend.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "engine/base/error.h"
#include "engine/cpu/exactness.h"
#include "engine/cpu/isa.h"

#ifdef ABBA_WITH_CUDA
#include "engine/cuda/backend.h"
#include "engine/cuda/device_cache.h"
#include "engine/cuda/exactness.h"
#include "engine/cuda/pin_products.h"
#include "engine/cuda/stopwatch.h"
#endif

namespace abba::laya {
namespace {

using base::Json;

bool is_cuda(const EngineSettings& settings) {
  return settings.backend == "cuda";
}

Json cpu_json(const EngineSettings& settings) {
  const cpu::Description machine = cpu::describe(settings.cpu.isa, settings.cpu.product);
  const bool is_fp32 = settings.cpu.precision == ops::Precision::kFp32;
  return Json::object({{"kind", "cpu"},
                       {"isa", machine.isa},
                       {"product", is_fp32 ? "fp32" : machine.product},
                       {"library", machine.library}});
}

#ifdef ABBA_WITH_CUDA

std::optional<std::string> visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

cuda::Settings cuda_settings(const EngineSettings& settings) {
  return {settings.cpu.precision, settings.cpu.choices, settings.device, visible_devices()};
}

std::unique_ptr<ops::Backend> make_cuda(const EngineSettings& settings) {
  return cuda::make_backend(cuda_settings(settings));
}

std::vector<ProvedLevel> prove_cuda(const EngineSettings& settings, std::int64_t hidden) {
  std::vector<ProvedLevel> levels;
  for (const cuda::ProvedLevel& p : cuda::prove_exactness(cuda_settings(settings), hidden)) {
    levels.push_back({p.factor, p.level, std::string(p.to), p.proved, p.detail});
  }
  return levels;
}

Json json_of(const cuda::DeviceInfo& info) {
  return Json::object({{"name", info.name},
                       {"uuid", info.uuid},
                       {"pci", info.pci_id},
                       {"compute_capability", info.compute_capability},
                       {"sm_count", info.sm_count},
                       {"memory_bytes", static_cast<std::int64_t>(info.memory_bytes)},
                       {"driver_cuda", info.driver_version},
                       {"runtime_cuda", info.runtime_version}});
}

Json with_first(std::string_view key, Json value, const Json& rest) {
  Json all;
  all.set(key, std::move(value));
  for (const auto& [name, member] : rest.as_object()) all.set(name, member);
  return all;
}

Json cuda_json(const EngineSettings& settings) {
  return with_first("kind", "cuda",
                    json_of(cuda::find_device(settings.device, visible_devices()).info));
}

Json cuda_found() {
  const cuda::DeviceAnswer answer = cuda::find_device(0, visible_devices());
  const cuda::DeviceInfo& info = answer.info;
  if (!answer.unavailable.empty()) {
    return Json::object({{"available", false}, {"reason", answer.unavailable}});
  }
  Json found = with_first("available", true, json_of(info));
  found.set("memory_used_bytes", static_cast<std::int64_t>(info.memory_bytes - info.free_bytes));
  return found;
}

DeviceTimer cuda_timer(ops::Backend& backend) {
  return [watch = std::make_shared<cuda::Stopwatch>(backend)](const std::function<void()>& issue) {
    return watch->device_ns(issue);
  };
}

DeviceFlush cuda_flush() {
  const auto cache = std::make_shared<cuda::DeviceCache>();
  return {[cache] { cache->flush(); }, [cache] { return cache->walk_ns(); },
          static_cast<double>(cache->flushed_bytes())};
}

Json names(const std::vector<std::string>& list) {
  Json array = Json::array();
  for (const std::string& name : list) array.push_back(name);
  return array;
}

Json cuda_report_json(const ops::Backend& backend) {
  const cuda::Report report = cuda::report_of(backend);
  Json unavailable = Json::array();
  for (const cuda::UnavailableKernel& kernel : report.unavailable_kernels) {
    unavailable.push_back(Json::object({{"kernel", kernel.name}, {"reason", kernel.reason}}));
  }
  const auto bytes = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  return Json::object({{"weight_bytes", bytes(report.weight_bytes)},
                       {"arena_bytes", bytes(report.arena_bytes)},
                       {"scratch_bytes", bytes(report.scratch_bytes)},
                       {"device_used_bytes", bytes(report.used_bytes)},
                       {"unavailable", unavailable},
                       {"unpinned", names(report.unpinned_products)},
                       {"refused_by_library", names(report.refused_products)}});
}

std::string cuda_memory_text(const ops::Backend& backend) {
  const cuda::Report report = cuda::report_of(backend);
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const std::size_t held = report.weight_bytes + report.scratch_bytes + report.arena_bytes;
  char text[320];
  std::snprintf(text, sizeof text,
                "device memory: %.1f MiB of weights, %.1f of scratch, %.1f of arenas: %.1f, %.2f "
                "times weights and arenas; the device has %.0f of %.0f MiB in use, by all\n",
                mib(report.weight_bytes), mib(report.scratch_bytes), mib(report.arena_bytes),
                mib(held), mib(held) / mib(report.weight_bytes + report.arena_bytes),
                mib(report.used_bytes), mib(report.device.memory_bytes));
  return text;
}

void print_cuda_rows(const ops::Backend& backend) {
  cuda::pin_products(backend, [](const cuda::PinnedChoice& choice) {
    std::printf("// %s: %.2f us, first proposal %.2f, of %d\n%s\n", choice.problem.c_str(),
                choice.best_us, choice.first_us, choice.candidates, choice.row.c_str());
    std::fflush(stdout);
  });
}

#else

constexpr const char* kWithout = "this program was built without a CUDA toolkit";

[[noreturn]] void refuse_cuda() {
  throw base::Error(base::ErrorCode::kPreflight, "backend \"cuda\"",
                    std::string(kWithout) + ": build it where nvcc is, or use \"cpu\"");
}

std::unique_ptr<ops::Backend> make_cuda(const EngineSettings&) {
  refuse_cuda();
}
std::vector<ProvedLevel> prove_cuda(const EngineSettings&, std::int64_t) {
  refuse_cuda();
}
Json cuda_json(const EngineSettings&) {
  refuse_cuda();
}
Json cuda_report_json(const ops::Backend&) {
  refuse_cuda();
}
DeviceTimer cuda_timer(ops::Backend&) {
  refuse_cuda();
}
DeviceFlush cuda_flush() {
  refuse_cuda();
}
void print_cuda_rows(const ops::Backend&) {
  refuse_cuda();
}
std::string cuda_memory_text(const ops::Backend&) {
  refuse_cuda();
}
Json cuda_found() {
  return Json::object({{"available", false}, {"reason", kWithout}});
}

#endif

std::string cuda_text(const Json& found) {
  if (!found.get_bool("available", "cuda")) {
    return "unavailable: " + found.text_or_empty("reason");
  }
  const auto number = [&](const char* key) { return found.get_int(key, "cuda"); };
  const auto mib = [&](const char* key) { return std::to_string(number(key) >> 20U); };
  return found.text_or_empty("name") + " " + found.text_or_empty("uuid") + " at " +
         found.text_or_empty("pci") + ", sm_" + std::to_string(number("compute_capability")) +
         ", " + std::to_string(number("sm_count")) + " SMs, memory " + mib("memory_used_bytes") +
         " of " + mib("memory_bytes") + " MiB in use, driver speaks CUDA " +
         std::to_string(number("driver_cuda") / 1000) + "." +
         std::to_string(number("driver_cuda") % 1000 / 10);
}

}  // namespace

std::unique_ptr<ops::Backend> make_backend(const EngineSettings& settings) {
  return is_cuda(settings) ? make_cuda(settings) : cpu::make_backend(settings.cpu);
}

Json device_json(const EngineSettings& settings) {
  return is_cuda(settings) ? cuda_json(settings) : cpu_json(settings);
}

Json report_json(const ops::Backend& backend) {
  return backend.name() == "cuda" ? cuda_report_json(backend) : Json();
}

std::vector<ProvedLevel> prove_exactness(const EngineSettings& settings, std::int64_t hidden) {
  if (is_cuda(settings)) return prove_cuda(settings, hidden);
  std::vector<ProvedLevel> levels;
  for (const cpu::ProvedLevel& p : cpu::prove_exactness(settings.cpu, hidden)) {
    levels.push_back({p.factor, p.level, std::string(p.to), p.proved, p.detail});
  }
  return levels;
}

std::string memory_text(const ops::Backend& backend) {
  return backend.name() == "cuda" ? cuda_memory_text(backend) : std::string();
}

DeviceTimer device_timer(ops::Backend& backend) {
  if (backend.name() == "cuda") return cuda_timer(backend);
  return [](const std::function<void()>& issue) {
    const auto start = std::chrono::steady_clock::now();
    issue();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  };
}

DeviceFlush device_flush(const EngineSettings& settings) {
  return is_cuda(settings) ? cuda_flush() : DeviceFlush{};
}

void print_pinned_rows(const ops::Backend& backend) {
  if (backend.name() != "cuda") {
    throw base::Error(base::ErrorCode::kBadInput, "gemm-pin",
                      "pins the products of the backend \"cuda\" alone");
  }
  print_cuda_rows(backend);
}

base::Json backends_json() {
  const cpu::Description machine = cpu::describe();
  return Json::object({{"schema", "abba-laya.doctor/1"},
                       {"cpu", Json::object({{"available", true},
                                             {"isa", machine.isa},
                                             {"library", machine.library},
                                             {"product", machine.product}})},
                       {"cuda", cuda_found()}});
}

std::string backends_text(const base::Json& backends) {
  const Json& machine = backends.at("cpu");
  return "cpu:  " + machine.text_or_empty("isa") + ", " + machine.text_or_empty("library") +
         ", product " + machine.text_or_empty("product") +
         "\ncuda: " + cuda_text(backends.at("cuda")) + "\n";
}

}  // namespace abba::laya
