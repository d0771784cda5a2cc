// A pass as it comes to lie in the run file and in the session's record: begun, then either ended
// or superseded, which keeps it and takes it out of every statistic.
#pragma once

#include <cstdint>
#include <string>

#include "harness/record/plan.h"
#include "harness/run/session.h"

namespace abba::run {

class StoredPass {
 public:
  // Begins it.
  StoredPass(Session& session, const record::PlannedPass& planned);

  [[nodiscard]] std::int64_t id() const { return id_; }
  // Of the session's record; valid until another pass is begun.
  [[nodiscard]] record::Pass& stored();
  void end();
  void supersede(const std::string& why);  // with a note that says why

 private:
  Session& session_;
  std::int64_t id_;
  std::string where_;
};

// "measured pass 3": where a note on it is.
[[nodiscard]] std::string place_of(const record::PlannedPass& planned);

}  // namespace abba::run
