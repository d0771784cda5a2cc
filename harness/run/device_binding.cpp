#include "harness/run/device_binding.h"

#include <algorithm>

#include "engine/base/error.h"
#include "harness/run/bindings.h"
#include "harness/run/notes.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

std::string text_of(const base::Json& object, const char* key) {
  const base::Json* value = object.find(key);
  if (value == nullptr) return "";
  return value->is_string() ? value->as_string() : value->dump();
}

std::int64_t number_of(const base::Json& object, const char* key) {
  const base::Json* value = object.find(key);
  return value != nullptr && value->is_int() ? value->as_int() : -1;
}

// "9.0", also where a worker says 90 as a number.
std::string capability_of(const base::Json& object) {
  const std::int64_t number = number_of(object, "compute_capability");
  return number < 0 ? text_of(object, "compute_capability")
                    : std::to_string(number / 10) + "." + std::to_string(number % 10);
}

// Every scalar that a worker says, under its own name: what this layer does not know is kept too.
void add_identity(const std::string& arm, const base::Json& device, store::Facts& facts) {
  if (!device.is_object()) return;
  for (const auto& [key, value] : device.as_object()) {
    if (!value.is_object() && !value.is_array() && !value.is_null()) {
      facts.identity.push_back(
          {"runtime/" + arm, key, value.is_string() ? value.as_string() : value.dump()});
    }
  }
}

bool is_known(const std::vector<std::string>& sentences, const std::string& sentence) {
  return std::find(sentences.begin(), sentences.end(), sentence) != sentences.end();
}

}  // namespace

void bind_device(Session& session) {
  const host::DeviceChoice& choice = session.in.device;
  if (!choice.chosen()) return;
  store::Facts facts;
  for (const record::Binding& now :
       {record::Binding{"device/uuid", choice.uuid},
        record::Binding{"device/driver", choice.sources.front().driver_version}}) {
    const record::Binding* known = find_binding(session.record.bindings, now.name);
    if (known == nullptr) {
      facts.bindings.push_back(now);
    } else if (known->value != now.value) {
      throw Error(ErrorCode::kMismatch, now.name,
                  "is " + now.value + " now but this run was bound to " + known->value +
                      "; go on where it began, or start a new run");
    }
  }
  if (!facts.bindings.empty()) session.commit("device", facts);
}

host::Device reported_device(const record::LoadReply& reply) {
  host::Device device;
  device.source = "runtime";
  if (!reply.device.is_object()) return device;
  device.uuid = text_of(reply.device, "uuid");
  device.name = text_of(reply.device, "name");
  device.compute_capability = capability_of(reply.device);
  device.sm_count = number_of(reply.device, "sm_count");
  device.memory_bytes = number_of(reply.device, "memory_bytes");
  return device;
}

void check_reported_device(Session& session, const std::string& arm, const record::LoadReply& reply,
                           store::Facts& facts) {
  const host::DeviceChoice& choice = session.in.device;
  const host::Device reported = reported_device(reply);
  const std::string where = "worker " + arm;
  if (session.in.require_device && reported.uuid.empty()) {
    throw Error(ErrorCode::kPreflight, where,
                "does not compute on a CUDA device (its load reply names no UUID), but --require "
                "cuda asks for one; ask it for its CUDA back end, or leave --require out");
  }
  if (!choice.chosen()) return;
  if (!reported.uuid.empty() && reported.uuid != choice.uuid) {
    throw Error(ErrorCode::kPreflight, where,
                "computes on " + reported.uuid + " but the run is bound to " + choice.uuid +
                    "; make it obey CUDA_VISIBLE_DEVICES or the device of its load message");
  }
  if (session.record.hello.count(arm) != 0) return;  // said before
  add_identity(arm, reply.device, facts);
  if (reported.uuid.empty()) {
    facts.notes.push_back(make_note(kDeviceUnconfirmed, where,
                                    "it names no device UUID; the run is bound to " + choice.uuid));
    return;
  }
  std::vector<host::Device> sources = choice.sources;
  sources.insert(sources.begin() + 1, reported);
  for (const std::string& sentence : host::disagreements(sources)) {
    if (!is_known(choice.disagreements, sentence)) {
      facts.notes.push_back(make_note(kDeviceDisagrees, where, sentence));
    }
  }
}

}  // namespace abba::run
