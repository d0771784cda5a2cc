// The sections of a report, one file each. A section appends blocks to the document and nothing
// else; it says that data are absent rather than leaving itself out.
#pragma once

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/report/document.h"
#include "harness/report/report.h"

namespace abba::report {

struct Source {
  const record::RunRecord& run;
  const record::Analysis& analysis;
  const ReportContext& context;
};

void verdict_section(const Source& source, Document& document);  // title and first lines too
void doubts_section(const Source& source, Document& document);
void plan_section(const Source& source, Document& document);
void effects_section(const Source& source, Document& document);
void times_section(const Source& source, Document& document);
void parts_section(const Source& source, Document& document);
void samples_section(const Source& source, Document& document);
void outputs_section(const Source& source, Document& document);
void traces_section(const Source& source, Document& document);
void workers_section(const Source& source, Document& document);
void capture_section(const Source& source, Document& document);  // where the manifest asks for it
void exposure_section(const Source& source, Document& document);
void machine_section(const Source& source, Document& document);
// Whether a row of identity belongs to the reference environment, which has a section of its own.
[[nodiscard]] bool is_reference(const record::Identity& row);
void reference_section(const Source& source, Document& document);
void limits_section(const Source& source, Document& document);
void reproduce_section(const Source& source, Document& document);

}  // namespace abba::report
