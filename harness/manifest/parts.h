// The parts of parsing, one function a part of the manifest; parse.cpp calls them in order. Each
// reads its members into `manifest` and files mistakes.
#pragma once

#include <string>
#include <vector>

#include "harness/manifest/section.h"
#include "harness/record/manifest.h"

namespace abba::manifest {

void read_arms(const Section& top, record::Manifest& manifest);
void read_files(const Section& top, record::Manifest& manifest);
void read_build(const Section& top, record::Manifest& manifest);
void read_device(const Section& top, record::Manifest& manifest);
void read_affinity(const Section& top, record::Manifest& manifest);
void read_workloads(const Section& top, record::Manifest& manifest);
void read_protocol(const Section& top, record::Manifest& manifest);
void read_outputs(const Section& top, record::Manifest& manifest);
void read_success(const Section& top, record::Manifest& manifest);
void read_later_passes(const Section& top, record::Manifest& manifest);
void read_hashes(const Section& top, record::Manifest& manifest);

// What only the whole shows: the arms differ in exactly the independent variable, names refer to
// something, counts fit the limits. Fills default labels.
void check_arms(record::Manifest& manifest, Mistakes& mistakes);
void check_names(const record::Manifest& manifest, Mistakes& mistakes);
void check_size(const record::Manifest& manifest, Mistakes& mistakes);
std::vector<std::string> notes_on(const record::Manifest& manifest);

// One thing in which arms differ: the name an independent variable would have, and where.
struct ArmDifference {
  std::string variable;  // a factor's name, "rev", "worker", "executable", "reads"
  std::string pointer;
  std::string a;
  std::string b;
};
std::vector<ArmDifference> arm_differences(const record::Arm& a, const record::Arm& b);

}  // namespace abba::manifest
