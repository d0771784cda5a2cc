#include "harness/host/device_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

using base::Error;
using base::ErrorCode;

constexpr double kIdleUtilisation = 0.05;
constexpr double kIdleMemoryBytes = 1024.0 * 1024 * 1024;  // with nobody listed who would hold it
constexpr double kSameMemory = 0.05;
constexpr double kExpectedMemory = 0.02;
constexpr int kTries = 6;
constexpr std::int64_t kBetweenTriesNs = 400'000'000;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::kPreflight, where, what);
}

std::string shown(const Device& device) {
  return device.uuid + (device.name.empty() ? "" : " (" + device.name + ")");
}

std::string process_text(const DeviceProcess& process) {
  const auto name = read_line("/proc/" + std::to_string(process.pid) + "/comm");
  std::string text = "process " + std::to_string(process.pid);
  if (name) text += " (" + *name + ")";
  if (process.memory_bytes >= 0) {
    text += " with " + std::to_string(process.memory_bytes >> 20U) + " MiB";
  }
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

// Who or what else uses the device, or empty. Listed processes are cross-checked by utilisation and
// memory, since those of other containers are not listed.
std::string company(const DeviceState& state) {
  if (!state.processes.empty()) {
    return "is used by " + process_text(state.processes.front()) +
           (state.processes.size() > 1
                ? " and " + std::to_string(state.processes.size() - 1) + " more"
                : "");
  }
  const auto utilisation = state.value("gpu.utilisation");
  const auto used = state.value("gpu.memory_used");
  if (utilisation && *utilisation > kIdleUtilisation) {
    return "is busy (" + percent(*utilisation) + " utilised) with no process that is visible here";
  }
  if (used && *used > kIdleMemoryBytes) {
    return "has " + std::to_string(static_cast<std::int64_t>(*used) >> 20U) +
           " MiB in use by no process that is visible here";
  }
  return "";
}

void require_alone(const std::string& uuid, DeviceProbe& probe, Clock& clock,
                   std::vector<std::string>& doubts) {
  DeviceState state;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) clock.sleep_ns(kBetweenTriesNs);
    state = probe.read(uuid);
    if (company(state).empty()) break;
  }
  const std::string other = company(state);
  if (!other.empty()) {
    refuse(uuid, other + "; wait for it to end, or name another device");
  }
  if (!state.processes_problem.empty()) {
    doubts.push_back("other processes on " + uuid +
                     " cannot be listed: " + state.processes_problem);
  }
  if (!state.value("gpu.utilisation") || !state.value("gpu.memory_used")) {
    doubts.push_back("utilisation and memory of " + uuid +
                     " cannot be read, so that it is alone was not cross-checked");
  }
}

void expect(const std::string& uuid, const std::string& what, const std::string& wanted,
            const std::string& found) {
  if (!wanted.empty() && wanted != found) {
    refuse(uuid, "has " + what + " " + (found.empty() ? "unknown" : found) +
                     ", the manifest expects " + wanted +
                     "; run where it is so, or register for this device");
  }
}

void require_expected(const record::DeviceWish& wish, const Device& device) {
  const auto number = [](std::int64_t value) {
    return value < 0 ? std::string() : std::to_string(value);
  };
  expect(device.uuid, "compute capability", wish.compute_capability, device.compute_capability);
  expect(device.uuid, "an SM count of", number(wish.sm_count), number(device.sm_count));
  const auto wanted = static_cast<double>(wish.memory_bytes);
  if (wish.memory_bytes >= 0 &&
      std::abs(static_cast<double>(device.memory_bytes) - wanted) > kExpectedMemory * wanted) {
    expect(device.uuid, "memory of bytes", number(wish.memory_bytes), number(device.memory_bytes));
  }
}

std::vector<Device> candidates(const record::DeviceWish& wish, const std::vector<Device>& all) {
  std::vector<Device> found;
  for (const Device& device : all) {
    const bool wanted = wish.wanted == "any" || device.uuid == wish.wanted;
    if (device.source == "driver" && wanted) found.push_back(device);
  }
  return found;
}

[[noreturn]] void refuse_absence(const record::DeviceWish& wish, DeviceProbe& probe) {
  std::vector<std::string> here;
  for (const Device& device : probe.devices()) {
    if (device.source == "driver") here.push_back(shown(device));
    if (device.source == "nvml" && device.uuid == wish.wanted) {
      refuse(wish.wanted,
             "is on this machine but CUDA does not offer it; clear CUDA_VISIBLE_DEVICES, or name "
             "it there");
    }
  }
  const auto problems = probe.problems();
  const std::string machine =
      !here.empty() ? "this machine has " + base::join(here, ", ")
                    : "this machine has none" +
                          (problems.empty() ? "" : " (" + base::join(problems, "; ") + ")");
  refuse("device", wish.wanted + " is wanted, but " + machine +
                       "; run where it is, or ask for \"device\": \"none\"");
}

// The sources that speak of the driver's device: by UUID, the bus by address.
std::vector<Device> sources_of(const Device& device, const std::vector<Device>& all) {
  std::vector<Device> sources = {device};
  for (const Device& other : all) {
    const bool same_address =
        !device.pci_address.empty() && other.pci_address == device.pci_address;
    if (other.source != "driver" && (other.uuid == device.uuid || same_address)) {
      sources.push_back(other);
    }
  }
  return sources;
}

DeviceChoice take(const Device& device, const record::DeviceWish& wish, DeviceProbe& probe,
                  Clock& clock, const DeviceHolder& holder) {
  DeviceChoice choice;
  require_expected(wish, device);
  const std::string held = holder ? holder(device.uuid) : "";
  if (!held.empty()) {
    refuse(device.uuid, "is reserved by " + held + "; wait for it to end, or name another device");
  }
  require_alone(device.uuid, probe, clock, choice.doubts);
  choice.uuid = device.uuid;
  choice.sources = sources_of(device, probe.devices());
  choice.disagreements = disagreements(choice.sources);
  choice.text = shown(device) + ", compute capability " + device.compute_capability + ", " +
                std::to_string(device.sm_count) + " SMs, alone" +
                (choice.doubts.empty() ? "" : " as far as can be read") +
                (choice.disagreements.empty()
                     ? ""
                     : "; " + std::to_string(choice.disagreements.size()) +
                           " disagreements between sources are kept, CUDA's values are used");
  return choice;
}

}  // namespace

std::vector<std::string> disagreements(const std::vector<Device>& sources) {
  std::vector<std::string> sentences;
  const auto compare = [&](const char* what, const auto& text_of, const auto& same) {
    const Device* first = nullptr;
    std::string said;
    bool differ = false;
    for (const Device& device : sources) {
      const std::string text = device.source == "pci" ? "" : text_of(device);
      if (text.empty()) continue;
      said += (said.empty() ? "" : ", ") + device.source + " says " + text;
      differ = differ || (first != nullptr && !same(*first, device));
      if (first == nullptr) first = &device;
    }
    if (differ) {
      sentences.push_back(std::string(what) + ": " + said + "; used is " + text_of(*first));
    }
  };
  const auto by_text = [](const auto& text_of) {
    return [text_of](const Device& a, const Device& b) { return text_of(a) == text_of(b); };
  };
  const auto name = [](const Device& device) { return device.name; };
  const auto capability = [](const Device& device) { return device.compute_capability; };
  const auto sm_count = [](const Device& device) {
    return device.sm_count < 0 ? std::string() : std::to_string(device.sm_count);
  };
  const auto memory = [](const Device& device) {
    return device.memory_bytes < 0 ? std::string()
                                   : std::to_string(device.memory_bytes >> 20U) + " MiB";
  };
  compare("name", name, by_text(name));
  compare("compute capability", capability, by_text(capability));
  compare("SM count", sm_count, by_text(sm_count));
  compare("memory", memory, [](const Device& a, const Device& b) {
    const auto first = static_cast<double>(a.memory_bytes);
    return std::abs(static_cast<double>(b.memory_bytes) - first) <= kSameMemory * first;
  });
  return sentences;
}

std::vector<record::Identity> choice_identity(const DeviceChoice& choice) {
  std::vector<record::Identity> rows;
  if (!choice.chosen()) return rows;
  const Device& used = choice.sources.front();
  rows.push_back({"device", "uuid", used.uuid});
  rows.push_back({"device", "name", used.name});
  rows.push_back({"device", "compute capability", used.compute_capability});
  rows.push_back({"device", "multiprocessors", std::to_string(used.sm_count)});
  rows.push_back({"device", "memory bytes", std::to_string(used.memory_bytes)});
  for (std::size_t i = 0; i < choice.disagreements.size(); ++i) {
    rows.push_back({"device", "disagreement " + std::to_string(i + 1), choice.disagreements[i]});
  }
  return rows;
}

DeviceChoice choose_device(const record::DeviceWish& wish, DeviceProbe& probe, Clock& clock,
                           const DeviceHolder& holder) {
  if (wish.wanted == "none") {
    DeviceChoice none;
    none.text = "none asked for";
    return none;
  }
  const std::vector<Device> found = candidates(wish, probe.devices());
  if (found.empty()) refuse_absence(wish, probe);
  std::string first_refusal;
  for (const Device& device : found) {
    try {
      return take(device, wish, probe, clock, holder);
    } catch (const Error& error) {
      if (first_refusal.empty()) first_refusal = error.what();
    }
  }
  const std::string others =
      found.size() > 1 ? " (and no other of " + std::to_string(found.size()) + " will do)" : "";
  refuse("", first_refusal + others);
}

}  // namespace abba::host
