// `abba trace`: the traces of a run as tables, as JSON, or for Perfetto.
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/report/traces.h"
#include "harness/store/run_file.h"
#include "harness/trace/perfetto.h"

namespace abba::cli {
namespace {

std::string for_perfetto(const std::vector<trace::TracedSlot>& slots) {
  std::vector<trace::Shown> shown;
  for (const trace::TracedSlot& slot : slots) {
    shown.push_back({slot.workload + ", arm " + slot.slot->arm, slot.slot->trace, slot.windows});
  }
  return trace::perfetto_json(shown);
}

}  // namespace

int trace_command(const Options& options) {
  const std::string file = named_run(options.words.front()).string();
  if (!options.perfetto.empty()) {
    refuse_to_overwrite(options.perfetto, "--perfetto");
  }
  const record::RunRecord run = store::read_run(file);
  const auto slots = trace::traced_slots(run, {options.arm, options.workload});
  if (slots.empty()) {
    const bool any = !trace::traced_slots(run).empty();
    throw base::Error(base::ErrorCode::kBadInput, file,
                      any ? "holds no trace of that arm and workload; leave out --arm or --workload"
                          : "holds no trace; name `traces` in its manifest and run again (`abba "
                            "show` lists why an arm was not traced)");
  }
  if (!options.perfetto.empty()) {
    base::write_file_atomically(options.perfetto, for_perfetto(slots));
  }
  if (options.json) {
    print(report::traces_json(run, slots));
  } else if (options.perfetto.empty()) {
    print(report::traces_markdown(run, slots));
  } else {
    print(options.perfetto + "\n");
  }
  return kDone;
}

}  // namespace abba::cli
