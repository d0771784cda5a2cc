// What somebody else states about the machine of an earlier measurement (schema
// "abba.reference_environment/1"), to be printed beside what this run found. It is untrusted text:
// bounded, compared by equality only, and never a reason to refuse a run.
//
//   {"schema": "abba.reference_environment/1", "title": "...",
//    "facts": [{"what": "SM count", "stated": "132", "here": ["driver/0", "multiprocessors"]}]}
//
// `here` names the identity row to compare with; a fact without it is printed as not recorded here.
#pragma once

#include <vector>

#include "harness/manifest/project.h"
#include "harness/record/manifest.h"
#include "harness/record/run_record.h"

namespace abba::manifest {

// As identity rows (record::kReferenceStated and its neighbours); empty if the manifest names none.
// Throws Error(kBadInput) naming the first mistake.
std::vector<record::Identity> reference_environment(const record::Manifest& manifest,
                                                    const Project& project);

}  // namespace abba::manifest
