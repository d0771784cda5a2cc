// What a worker must be and have in effect before it serves an arm. Each throws kPreflight with one
// sentence.
#pragma once

#include <string>
#include <vector>

#include "harness/record/manifest.h"
#include "harness/record/worker.h"

namespace abba::run {

// That it may run on exactly the wanted CPUs; an empty list = not known, or nothing wanted.
void require_affinity(const std::string& arm, const std::vector<int>& wanted,
                      const std::vector<int>& found);

// That it can do what the protocol's placement and caches ask of it.
void require_abilities(const record::Manifest& manifest, const std::string& arm,
                       const record::WorkerHello& hello);

// Names the first setting or factor whose effective value is not the asked one,
// or if the worker takes no settings although some are asked for.
void require_effective(const std::string& arm, const record::WorkerHello& hello,
                       const record::LoadRequest& asked, const record::LoadReply& reply);

}  // namespace abba::run
