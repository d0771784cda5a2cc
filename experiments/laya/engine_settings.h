// What a person may set about the engine (backend, precision, threads, product path) and the
// factors it offers, as tables for the worker's hello and for `variants`. The levels themselves
// live in engine/ops; this is the one place that turns words into a backend.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/cpu/backend.h"
#include "engine/ops/variant.h"

namespace abba::laya {

// {"backend": "cpu", "precision": "bf16", "threads": 1, "product": "auto", "isa": "auto"}; every
// key may be left out. Throws Error(kBadInput) for an unknown key or value, naming what is
// accepted.
cpu::Settings read_settings(const base::Json& settings, const ops::Choices& choices);

// The same settings with every default filled in.
base::Json settings_json(const cpu::Settings& settings);

// Levels by factor name laid over the defaults. Throws Error(kBadInput) for unknown names.
ops::Choices read_choices(const std::map<std::string, std::string>& levels);
std::map<std::string, std::string> choices_map(const ops::Choices& choices);

// A table of factors, levels, exactness and what each is, for people.
std::string variants_text();

}  // namespace abba::laya
