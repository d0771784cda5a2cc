#include "harness/report/report.h"

#include "harness/report/document.h"
#include "harness/report/sections/sections.h"

namespace abba::report {
namespace {

Document build(const record::RunRecord& run, const record::Analysis& analysis,
               const ReportContext& context) {
  const Source source{run, analysis, context};
  Document document;
  verdict_section(source, document);
  doubts_section(source, document);
  effects_section(source, document);
  times_section(source, document);
  parts_section(source, document);
  samples_section(source, document);
  traces_section(source, document);
  plan_section(source, document);
  outputs_section(source, document);
  workers_section(source, document);
  capture_section(source, document);
  exposure_section(source, document);
  machine_section(source, document);
  reference_section(source, document);
  limits_section(source, document);
  reproduce_section(source, document);
  return document;
}

}  // namespace

std::string markdown(const record::RunRecord& run, const record::Analysis& analysis,
                     const ReportContext& context) {
  return render_markdown(build(run, analysis, context));
}

std::string html(const record::RunRecord& run, const record::Analysis& analysis,
                 const ReportContext& context) {
  return render_html(build(run, analysis, context));
}

}  // namespace abba::report
