// What a person may set about the engine (backend, precision, threads, product path) and the
// factors it offers, as tables for the worker's hello and for `variants`. The levels themselves
// live in engine/ops; this is the one place that turns words into a backend.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/cpu/backend.h"
#include "engine/ops/variant.h"

namespace abba::laya {

// {"backend": "cpu", "precision": "bf16", "threads": 1, "product": "auto", "isa": "auto"} or
// {"backend": "cuda", "precision": "bf16", "device": 0}; every key may be left out.
struct EngineSettings {
  std::string backend = "cpu";
  cpu::Settings cpu;  // precision and choices are those of any backend
  int device = 0;     // of cuda
};

// Throws Error(kBadInput) for an unknown key, a key of another backend or a bad value, naming what
// is accepted.
EngineSettings read_settings(const base::Json& settings, const ops::Choices& choices);

// The same settings with every default filled in.
base::Json settings_json(const EngineSettings& settings);

// Levels by factor name laid over the defaults. Throws Error(kBadInput) for unknown names.
ops::Choices read_choices(const std::map<std::string, std::string>& levels);
// Throws Error(kBadInput) if one of the factors named, at whatever level, belongs to another
// backend.
void check_factors(const std::set<std::string>& named, const std::string& backend);
// The factors of `levels`.
std::set<std::string> names_of(const std::map<std::string, std::string>& levels);
// The levels of the factors that the backend has.
std::map<std::string, std::string> choices_map(const ops::Choices& choices,
                                               const std::string& backend);

// A table of factors, levels, exactness and what each is, for people.
std::string variants_text();

}  // namespace abba::laya
