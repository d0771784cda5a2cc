// Which device an experiment gets, and whether it may have it: present, alone, as expected. Where
// sources contradict each other the CUDA driver's values are used and every disagreement is kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/device_probe.h"
#include "harness/record/manifest.h"

namespace abba::host {

struct DeviceChoice {
  std::string uuid;                        // empty = the experiment asks for none
  std::vector<Device> sources;             // what each source says about it, the CUDA driver first
  std::vector<std::string> disagreements;  // one sentence each
  std::vector<std::string> doubts;         // what could not be checked, and why
  std::string text;                        // one line for people
  [[nodiscard]] bool chosen() const { return !uuid.empty(); }
};

// Who else has reserved the device with that UUID, or empty; see device_lock.h.
using DeviceHolder = std::function<std::string(const std::string& uuid)>;

// Throws Error(kPreflight) with one sentence if there is none that the wish allows. "any" takes the
// first in the driver's order that is free and as expected. Waits up to 2 s for a device that seems
// busy, since utilisation is an average over the past second.
DeviceChoice choose_device(const record::DeviceWish& wish, DeviceProbe& probe, Clock& clock,
                           const DeviceHolder& holder);

// The values in use as rows of source "device", and the disagreements; empty if none is chosen.
std::vector<record::Identity> choice_identity(const DeviceChoice& choice);

// What sources say differently about one device: name, compute capability, SM count, and memory
// beyond 5 %. The first source's value is the one used.
std::vector<std::string> disagreements(const std::vector<Device>& sources);

}  // namespace abba::host
