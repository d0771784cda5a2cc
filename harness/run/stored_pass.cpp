#include "harness/run/stored_pass.h"

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/run/notes.h"

namespace abba::run {

StoredPass::StoredPass(Session& session, const record::PlannedPass& planned)
    : session_(session), id_(session.next_id()), where_(place_of(planned)) {
  record::Pass pass;
  pass.id = id_;
  pass.index = planned.index;
  pass.phase = planned.phase;
  pass.start_ns = session_.with.clock.steady_ns();
  session_.with.sink.begin_pass(pass);
  session_.record.passes.push_back(std::move(pass));
}

record::Pass& StoredPass::stored() {
  for (auto& pass : session_.record.passes) {
    if (pass.id == id_) {
      return pass;
    }
  }
  ABBA_CHECK(!"a pass under way is in the record");
  return session_.record.passes.back();
}

void StoredPass::end() {
  stored().end_ns = session_.with.clock.steady_ns();
  session_.with.sink.end_pass(id_, stored().end_ns);
}

void StoredPass::supersede(const std::string& why) {
  session_.with.sink.supersede_pass(id_, why);
  stored().superseded = true;
  stored().why = why;
  session_.note(kPassSuperseded, where_, why);
}

std::string place_of(const record::PlannedPass& planned) {
  return std::string(record::name(planned.phase)) + " pass " + std::to_string(planned.index + 1);
}

}  // namespace abba::run
