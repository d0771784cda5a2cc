// The answer to graph_capture: the ledger of what each shape cost until its graph ran.
#include <algorithm>
#include <array>
#include <set>

#include "harness/workers/answer_reader.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;
using record::CaptureCosts;

constexpr std::int64_t kLargest = std::int64_t{1} << 61U;  // as of every time in an answer
constexpr std::size_t kMostShapes = 1000;

struct Column {
  const char* name;
  std::optional<std::int64_t> CaptureCosts::*cost;
};

constexpr std::array<Column, 9> kColumns = {{
    {"first_run_ns", &CaptureCosts::first_run_ns},
    {"warm_runs", &CaptureCosts::warm_runs},
    {"warm_ns", &CaptureCosts::warm_ns},
    {"capture_ns", &CaptureCosts::capture_ns},
    {"instantiate_ns", &CaptureCosts::instantiate_ns},
    {"upload_ns", &CaptureCosts::upload_ns},
    {"first_replay_ns", &CaptureCosts::first_replay_ns},
    {"nodes", &CaptureCosts::nodes},
    {"bytes", &CaptureCosts::bytes},
}};

void require_known_members(const AnswerReader& entry, const Json& json) {
  for (const auto& [key, value] : json.as_object()) {
    const std::string& member = key;
    const bool known = member == "shape" ||
                       std::any_of(kColumns.begin(), kColumns.end(),
                                   [&](const Column& column) { return member == column.name; });
    entry.require(known, "\"" + member.substr(0, 100) + "\" is no cost of a capture");
  }
}

CaptureCosts parse_entry(const AnswerReader& entry, const Json& json) {
  require_known_members(entry, json);
  CaptureCosts costs;
  costs.shape = entry.name("shape");
  for (const Column& column : kColumns) {
    if (json.find(column.name) != nullptr) {
      costs.*column.cost = entry.integer(column.name, 0, kLargest);
    }
  }
  entry.require(costs.warm_runs.has_value() == costs.warm_ns.has_value(),
                "\"warm_runs\" and \"warm_ns\" come together");
  return costs;
}

}  // namespace

std::vector<CaptureCosts> parse_graph_capture(const Json& answer, const std::string& name) {
  const AnswerReader reader(answer, name, "graph_capture", "graph-capture-answered");
  const Json& ledger = reader.member("ledger");
  reader.require(ledger.is_array(), "\"ledger\" is no array");
  reader.require(!ledger.as_array().empty(),
                 "\"ledger\" is empty; a shape that runs without a graph is an entry that leaves "
                 "its capture out");
  reader.require(ledger.as_array().size() <= kMostShapes, "\"ledger\" has more than 1000 entries");
  std::vector<CaptureCosts> costs;
  std::set<std::string> shapes;
  std::size_t next = 0;
  reader.each("ledger", [&](const AnswerReader& entry) {
    costs.push_back(parse_entry(entry, ledger.as_array()[next++]));
    entry.require(shapes.insert(costs.back().shape).second,
                  "the shape \"" + costs.back().shape + "\" is named twice");
  });
  return costs;
}

}  // namespace abba::workers
