// Both arms' full effective configuration side by side, and the questions that only a worker's
// hello can answer: do the factors, levels, boundaries, metrics and stages named exist?
#pragma once

#include <string>
#include <vector>

#include "harness/manifest/parse.h"
#include "harness/record/manifest.h"
#include "harness/record/worker.h"

namespace abba::manifest {

struct DiffRow {
  std::string name;  // "factor rope", "setting threads", "file weights", "build command 1", ...
  std::string a;
  std::string b;
  std::string from;  // "manifest", "worker default"
  [[nodiscard]] bool differs() const { return a != b; }
};

// Every row, equal ones included. `hello_a`/`hello_b` (may be null) supply factor defaults.
std::vector<DiffRow> diff(const record::Manifest& manifest, const record::WorkerHello* hello_a,
                          const record::WorkerHello* hello_b);

// A fixed-width table; rows that differ are marked with '*' and come first.
std::string table(const std::vector<DiffRow>& rows);

// What `arm` ("A" or "B") asks for that its worker does not offer, each with what exists.
std::vector<Mistake> check_against_hello(const record::Manifest& manifest, const std::string& arm,
                                         const record::WorkerHello& hello);
// The same for both arms when one worker serves both.
std::vector<Mistake> check_against_hello(const record::Manifest& manifest,
                                         const record::WorkerHello& hello);

}  // namespace abba::manifest
