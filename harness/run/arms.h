// The live workers of a run, as its placement wants them: both at once; one at a time, and then a
// new one for every slot, so that each slot has the same history; or one process that both arms
// share, switched by its hot factors. Starts them in the planned order; what each is made to do and
// why it is refused stands in live_worker.h. Owns the processes; stores every start and end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/record/plan.h"
#include "harness/run/live_worker.h"
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

  [[nodiscard]] bool started() const { return started_; }
  // The worker that serves the arm, at the arm's factors. One at a time: if the other one is alive
  // it is ended, and this one started.
  [[nodiscard]] workers::Worker& worker(const std::string& arm);
  // The same for a slot. One at a time: always a new one.
  [[nodiscard]] workers::Worker& for_slot(const std::string& arm);
  [[nodiscard]] std::int64_t worker_id(const std::string& arm) const;
  [[nodiscard]] std::vector<pid_t> pids() const;  // of all that are alive

 private:
  [[nodiscard]] record::Placement placement() const;
  // Which of live_ serves the arm.
  [[nodiscard]] std::string owner(const std::string& arm) const;
  // The arms that a live worker serves.
  [[nodiscard]] std::vector<std::string> served_by(const std::string& owner) const;
  void start_for_placement();
  void start_alone(const std::string& arm);
  void start_one(const std::string& arm);
  void watch();
  void end_live();
  void describe_shared(const std::string& arm, store::Facts& facts) const;

  Session& session_;
  workers::FileDigests digests_;            // outlives the workers
  std::map<std::string, LiveWorker> live_;  // by arm; of a shared process by the first arm
  bool started_ = false;
  record::PlannedPass pass_;  // that workers are started for
  int pass_index_ = -1;
};

}  // namespace abba::run
