// The two live workers of a run. Starts them in the planned order, makes them declare, load and
// prepare, and refuses what is not exactly what was asked: other factors or settings than wanted,
// lost affinity (kPreflight); another executable, library or file than bound (kMismatch); a death,
// a silence or rubbish (kBroken, from the worker). Owns the processes; stores every start and end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "harness/record/plan.h"
#include "harness/run/session.h"
#include "harness/workers/worker.h"

namespace abba::run {

class Arms {
 public:
  explicit Arms(Session& session) : session_(session) {}
  ~Arms();  // ends processes still alive, stores nothing
  Arms(const Arms&) = delete;
  Arms& operator=(const Arms&) = delete;

  // Ends the old workers, starts new ones for `pass` (its order and padding). `pass_index` is
  // stored with them: the first measured pass they serve, -1 before. The first start freezes the
  // bindings of executables and libraries; every later one must match them.
  void start(const record::PlannedPass& pass, int pass_index);
  // The bindings of the running workers, of their commands' files and of the files they were given,
  // read again. Right after a start they must be the same set; later a worker may have loaded a
  // further library.
  void require_bindings(bool just_started = false);
  // Asks both to end and stores how they ended.
  void stop();

  [[nodiscard]] bool started() const { return !live_.empty(); }
  [[nodiscard]] workers::Worker& worker(const std::string& arm);
  [[nodiscard]] std::int64_t worker_id(const std::string& arm) const;

 private:
  struct Live {
    std::unique_ptr<workers::Worker> worker;
    record::WorkerProcess process;
  };
  void start_one(const std::string& arm, const record::PlannedPass& pass, int pass_index);
  void set_up(const std::string& arm, Live& live, store::Facts& facts);
  void require_files(store::Facts& facts);

  Session& session_;
  workers::FileDigests digests_;      // outlives the workers
  std::map<std::string, Live> live_;  // by arm
};

// What a worker for `arm` ("A", "B", "reference") is started with and asked to load.
workers::WorkerSpec worker_spec(const RunInputs& in, const std::string& arm,
                                const record::PlannedPass& pass);
record::LoadRequest load_request(const RunInputs& in, const std::string& arm);

// Throws kPreflight naming the first setting or factor whose effective value is not the asked one,
// or if the worker takes no settings although some are asked for.
void require_effective(const std::string& arm, const record::WorkerHello& hello,
                       const record::LoadRequest& asked, const record::LoadReply& reply);

}  // namespace abba::run
