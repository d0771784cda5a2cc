// A worker that breaks where a test says, and answers recorded times. It speaks abba.worker/1 by
// itself, since a kit would not let it say what breaks the protocol.
//
// $ABBA_FAULTS is a folder:
//   plan     "FAULT MESSAGE START SLOT": what to do at which message of which worker start (counted
//            over both arms), at which slot of that process (0 = any). Done once: it becomes
//   struck   the same line; it proves that the fault struck.
//   starts   one byte for each worker started
//   answers  "START DURATION" of every sample ever answered: nothing else may be in a run file
//   captures "FIRST_RUN_NS CAPTURE_NS" of every ledger ever answered: likewise
// `worker --make PATH` is the same for a file that a manifest makes.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/prng.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"

namespace {

using abba::base::Json;
namespace fs = std::filesystem;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void touch(const fs::path& path) {
  std::ofstream(path) << "\n";
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void say(const std::string& line) {
  std::cout << line << '\n' << std::flush;
}

class Faults {
 public:
  explicit Faults(bool is_worker) : folder_(variable("ABBA_FAULTS")) {
    if (!is_worker) return;
    const int file = ::open((folder_ / "starts").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    (void)!::write(file, ".", 1);
    struct stat status {};
    ::fstat(file, &status);
    start_ = status.st_size;
    ::close(file);
  }

  // What to do at this message, if anything: the harness's faults are done here, those of an answer
  // are returned by name.
  std::string at(const std::string& message, std::int64_t slot) {
    std::ifstream plan(folder_ / "plan");
    std::string fault;
    std::string wanted;
    std::int64_t start = 0;
    std::int64_t nth = 0;
    if (!(plan >> fault >> wanted >> start >> nth) || wanted != message) return "";
    if ((start != 0 && start != start_) || (nth != 0 && nth != slot)) return "";
    fs::rename(folder_ / "plan", folder_ / "struck");
    to_harness(fault);
    to_itself(fault);
    return fault;
  }

  void captured(std::int64_t first_run_ns, std::int64_t capture_ns) {
    std::ofstream(folder_ / "captures", std::ios::app) << first_run_ns << ' ' << capture_ns << '\n';
  }

  void answered(std::int64_t start_ns, std::int64_t duration_ns) {
    std::ofstream(folder_ / "answers", std::ios::app) << start_ns << ' ' << duration_ns << '\n';
  }

 private:
  void to_harness(const std::string& fault) const {
    const pid_t harness = ::getppid();
    if (fault == "harness-kill") {
      ::kill(harness, SIGKILL);
      hang();
    }
    if (fault == "ctrl-c" || fault == "ctrl-c-twice") ::kill(harness, SIGINT);
    if (fault == "sigterm") ::kill(harness, SIGTERM);
    if (fault == "ctrl-c-twice") {
      ::signal(SIGTERM, SIG_IGN);
      ::usleep(100'000);  // two signals at once would be one
      ::kill(harness, SIGINT);
      hang();
    }
    if (fault == "size-limit") {
      const rlimit none{1, RLIM_INFINITY};
      ::prlimit(harness, RLIMIT_FSIZE, &none, nullptr);
    }
    for (const char* marker : {"disk-full", "half-write", "device-gone", "clock-back"}) {
      if (fault == marker) touch(folder_ / marker);
    }
    if (fault == "ask") {  // the test does it, and says when it is done
      while (!fs::exists(folder_ / "go")) ::usleep(2000);
    }
  }

  static void to_itself(const std::string& fault) {
    if (fault == "worker-kill") ::raise(SIGKILL);
    if (fault == "worker-exit") {
      std::cerr << "told to end\n";
      ::_exit(7);
    }
    if (fault == "worker-hang") {
      ::signal(SIGTERM, SIG_IGN);
      hang();
    }
    if (fault == "closes-pipe") {
      ::close(STDOUT_FILENO);
      hang();
    }
    if (fault == "flood") {
      const std::string line = std::string(99, 'x') + "\n";
      for (int i = 0; i < 40'000; ++i) std::cerr << line;
    }
  }

  fs::path folder_;
  std::int64_t start_ = 0;
};

class Worker {
 public:
  int run() {
    for (std::string line; std::getline(std::cin, line);) {
      const Json message = abba::base::parse_json(line, "request");
      const std::string type = message.get_string("type", "request");
      const std::string fault = faults_.at(type, type == "slot" ? ++slots_ : 0);
      if (fault == "garbage") {
        say("Segmentation fault (just kidding)");
      } else if (fault == "huge-line") {
        std::cout << std::string(std::size_t{65} << 20U, 'x') << std::flush;
        hang();
      } else if (fault == "other-answer") {
        say(type == "slot" ? answer(message, "another").dump() : R"({"type":"whatever"})");
      } else {
        say(answer(message, "").dump());
      }
      if (type == "shutdown") return 0;
    }
    return 0;
  }

  static Json hello() {
    return abba::base::parse_json(
        R"({"type":"hello","protocol":"abba.worker/1","name":"faulty","version":"1",
            "source_stamp":"","files_to_hash":[],
            "boundaries":[{"name":"request","unit":"ns","clock":"steady_clock","parent":""}],
            "metrics":[],"factors":[{"name":"pace","levels":[{"name":"slow"},{"name":"fast"}],
            "default":"slow","hot":false}],
            "capabilities":["load","outputs","graph_capture"],"stages":["answer"],
            "facts":{}})",
        "hello");
  }

 private:
  Json answer(const Json& message, const std::string& slot_id) {
    const std::string type = message.get_string("type", "request");
    if (type == "hello") return hello();
    if (type == "load") return load(message);
    if (type == "prepare") return prepare();
    if (type == "slot") return slot(message, slot_id);
    if (type == "outputs") return outputs();
    if (type == "graph_capture") return graph_capture();
    return Json::object({{"type", type}});
  }

  Json load(const Json& message) {
    pace_ = message.at("factors", "load").get_string("pace", "load");
    request_us_ = message.at("settings", "load").at("request_us", "load").as_int();
    return Json::object({{"type", "load"},
                         {"settings", message.at("settings", "load")},
                         {"factors", message.at("factors", "load")},
                         {"device", nullptr},
                         {"memory", nullptr},
                         {"setup_ns", Json::object()}});
  }

  static Json prepare() {
    return Json::object({{"type", "prepare"},
                         {"ready", true},
                         {"work", Json::object({{"items", 1}, {"bytes", 1}, {"flops", 1}})},
                         {"facts", Json::object()},
                         {"first_request_ns", 100'000}});
  }

  // Times are not measured but recorded: drawn from what is the same whenever a pass is run again
  // (its padding, the slot's place in it), so that an interrupted run must give what a whole one
  // gives. Half of the real time at most, so that they lie within it.
  Json slot(const Json& message, const std::string& slot_id) {
    const std::int64_t count =
        message.at("warmup", "slot").as_int() + message.at("requests", "slot").as_int();
    abba::base::Random random(seed());
    Json starts = Json::array();
    Json durations = Json::array();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t start = now_ns();
      ::usleep(static_cast<unsigned>(request_us_));
      const double pace = pace_ == "fast" ? 0.3 : 0.4;
      const double noise = 1 + 0.1 * static_cast<double>(random.below(1000)) / 1000;
      const auto duration =
          static_cast<std::int64_t>(1000.0 * static_cast<double>(request_us_) * pace * noise);
      faults_.answered(start, duration);
      starts.push_back(start);
      durations.push_back(duration);
    }
    Json answer = abba::base::parse_json(
        R"({"type":"slot","boundary":"request","failed":[],"failure_text":"","values":{},
            "spans":{"seq":[],"name":[],"parent":[],"start_ns":[],"duration_ns":[]},
            "totals":{"name":[],"parent":[],"duration_ns":[],"count":[]},"allocations":-1})",
        "slot");
    answer.set("workload", message.get_string("workload", "slot"));
    answer.set("slot_id", slot_id.empty() ? message.get_string("slot_id", "slot") : slot_id);
    answer.set("warmup", message.at("warmup", "slot"));
    answer.set("start_ns", starts);
    answer.set("duration_ns", durations);
    answer.set("digest", digest());
    return answer;
  }

  [[nodiscard]] std::uint64_t seed() const {
    const std::string digest =
        abba::base::sha256_hex(variable("ABBA_PADDING") + std::to_string(slots_));
    return std::stoull(digest.substr(0, 15), nullptr, 16);
  }

  static std::string digest() { return abba::base::sha256_hex("the same answer"); }

  static Json outputs() {
    Json tensors = Json::array();
    Json shape = Json::array();
    shape.push_back(1);
    tensors.push_back(Json::object(
        {{"stage", "answer"}, {"dtype", "F32"}, {"shape", shape}, {"digest", digest()}}));
    return Json::object({{"type", "outputs"}, {"tensors", tensors}});
  }

  Json graph_capture() {
    const std::int64_t now = now_ns();  // no two are alike
    faults_.captured(now, now % 1'000'000);
    Json ledger = Json::array();
    ledger.push_back(
        Json::object({{"shape", "[3]"}, {"first_run_ns", now}, {"capture_ns", now % 1'000'000}}));
    return Json::object({{"type", "graph_capture"}, {"ledger", ledger}});
  }

  Faults faults_{true};
  std::string pace_;
  std::int64_t request_us_ = 1000;
  std::int64_t slots_ = 0;
};

int make(const std::string& path) {
  std::ofstream(path) << "half";
  Faults(false).at("make", 0);
  std::ofstream(path) << "the whole file";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--describe") {
    say(Worker::hello().dump());
    return 0;
  }
  return first == "--make" ? make(argv[2]) : Worker().run();
}
