// The sections on what the arms were exposed to and on a reference environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const record::RunRecord& run) {
  return markdown(run, stats::analyze(run), {});
}

TEST(Conditions, ArePrintedByArmAndByPassWithTheirLimits) {
  record::RunRecord run = synthetic::Maker(synthetic::Spec()).run();
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        const double wobble = static_cast<double>(slot.id % 5);
        run.environment.push_back({slot.id, 0, "during", "gpu.sm_clock", 1970 + wobble, "MHz", ""});
        run.environment.push_back({slot.id, 0, "during", "gpu.power", 400 + wobble, "W", ""});
      }
    }
  }
  const std::string page = page_of(run);
  EXPECT_THAT(page, HasSubstr("Conditions of the arms"));
  EXPECT_THAT(page, HasSubstr("| small | SM clock | 197"));
  EXPECT_THAT(page, HasSubstr("shown only"));
  EXPECT_THAT(page, HasSubstr("Conditions pass by pass"));
}

TEST(Reference, StandsBesideWhatTheRunFound) {
  record::RunRecord run = synthetic::Maker(synthetic::Spec()).run();
  EXPECT_THAT(page_of(run), Not(HasSubstr("Beside a reference environment")));
  run.identity = {{"driver/0", "multiprocessors", "132"},
                  {"nvml/0", "name", "NVIDIA H200"},
                  {record::kReferenceTitle, "stated.json", "the <first> one"},
                  {record::kReferenceStated, "SM count", "132"},
                  {record::kReferenceHere, "SM count", "driver/0|multiprocessors"},
                  {record::kReferenceStated, "device name", "L20X"},
                  {record::kReferenceHere, "device name", "nvml/0|name"},
                  {record::kReferenceStated, "weather", "fine"}};
  const std::string page = page_of(run);
  EXPECT_THAT(page, HasSubstr("| SM count | 132 | 132 | same |"));
  EXPECT_THAT(page, HasSubstr("| device name | L20X | NVIDIA H200 | differs |"));
  EXPECT_THAT(page, HasSubstr("| weather | fine | not recorded here |"));
  EXPECT_THAT(page, HasSubstr("1 of these differ"));
  EXPECT_THAT(page, Not(HasSubstr("reference/here")));  // not in the machine's own table
}

}  // namespace
}  // namespace abba::report
