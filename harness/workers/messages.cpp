#include "harness/workers/messages.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/workers/answer_reader.h"

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

Json string_map(const std::map<std::string, std::string>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object.set(key, value);
  return object;
}

Json string_array(const std::vector<std::string>& texts) {
  Json array = Json::array();
  for (const std::string& text : texts) array.push_back(text);
  return array;
}

void check_unique(const AnswerReader& reader, std::vector<std::string> names,
                  const std::string& what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  reader.require(twice == names.end(),
                 what + " \"" + (twice == names.end() ? "" : *twice) + "\" is declared twice");
}

template <typename Item>
std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

// A parent must be declared before its child: that rules out cycles too.
std::vector<record::BoundaryDecl> parse_boundaries(const AnswerReader& reader) {
  std::vector<record::BoundaryDecl> boundaries;
  std::set<std::string> names;
  reader.each("boundaries", [&](const AnswerReader& item) {
    record::BoundaryDecl boundary{item.name("name"), item.name("unit"), item.name("clock"),
                                  item.name_or_empty("parent")};
    names.insert(boundary.name);
    boundaries.push_back(boundary);
  });
  reader.require(!boundaries.empty(), "no boundary is declared");
  check_unique(reader, names_of(boundaries), "the boundary");
  for (const record::BoundaryDecl& boundary : boundaries) {
    std::string ancestor = boundary.parent;
    for (std::size_t steps = 0; !ancestor.empty(); ++steps) {
      reader.require(names.count(ancestor) == 1 && steps < boundaries.size(),
                     "the parents of boundary \"" + boundary.name + "\" do not end");
      ancestor = std::find_if(boundaries.begin(), boundaries.end(), [&](const auto& candidate) {
                   return candidate.name == ancestor;
                 })->parent;
    }
  }
  return boundaries;
}

std::vector<record::MetricDecl> parse_metrics(const AnswerReader& reader) {
  std::vector<record::MetricDecl> metrics;
  reader.each("metrics", [&](const AnswerReader& item) {
    const std::string direction = item.name("direction");
    const auto known = record::parse_name<record::Direction>(direction);
    item.require(known.has_value(), "unknown direction \"" + direction + "\"");
    metrics.push_back({item.name("name"), item.name_or_empty("unit"), *known});
  });
  check_unique(reader, names_of(metrics), "the metric");
  return metrics;
}

record::FactorDecl parse_factor(const AnswerReader& item) {
  record::FactorDecl factor;
  factor.name = item.name("name");
  item.each("levels", [&](const AnswerReader& level) {
    record::LevelDecl declared{level.name("name"), level.name_or_empty("exactness"),
                               level.name_or_empty("exact_to")};
    const std::set<std::string> classes = {"", "bitwise", "same-order", "tolerance"};
    level.require(classes.count(declared.exactness) == 1,
                  "unknown exactness \"" + declared.exactness + "\"");
    factor.levels.push_back(declared);
  });
  item.require(!factor.levels.empty(), "the factor \"" + factor.name + "\" has no levels");
  const std::vector<std::string> names = names_of(factor.levels);
  check_unique(item, names, "the level");
  factor.default_level = item.name("default");
  item.require(std::find(names.begin(), names.end(), factor.default_level) != names.end(),
               "the default of \"" + factor.name + "\" is none of its levels");
  factor.hot = item.boolean_or("hot", false);
  return factor;
}

}  // namespace

Json hello_request() {
  return Json::object({{"type", "hello"}, {"versions", string_array({kProtocol})}});
}

Json load_request(const record::LoadRequest& request) {
  return Json::object({{"type", "load"},
                       {"settings", request.settings.is_null() ? Json::object() : request.settings},
                       {"files", string_map(request.files)},
                       {"factors", string_map(request.factors)},
                       {"device", request.device.empty() ? "none" : request.device},
                       {"inject", request.inject}});
}

Json prepare_request(const record::Workload& workload, std::uint64_t rotate_seed) {
  Json body = Json::object({{"id", workload.id},
                            {"input", workload.input},
                            {"rotate", workload.rotate},
                            // 53 bits: every JSON reader holds them exactly
                            {"seed", rotate_seed & ((std::uint64_t{1} << 53U) - 1)}});
  body.set("boundaries", string_array(workload.boundaries));
  return Json::object({{"type", "prepare"}, {"workload", body}});
}

Json slot_request(const record::SlotRequest& request) {
  Json message = Json::object({{"type", "slot"},
                               {"slot_id", request.slot_id},
                               {"workload", request.workload},
                               {"boundaries", string_array(request.boundaries)},
                               {"warmup", request.warmup},
                               {"requests", request.requests},
                               {"max_spans", request.max_spans},
                               {"interval_ms", request.interval_ms},
                               {"digest", request.digest}});
  if (!request.factors.empty()) message.set("factors", string_map(request.factors));
  if (request.flush) message.set("flush", true);
  return message;
}

Json outputs_request(const std::string& workload, const std::vector<std::string>& stages,
                     bool with_values, const std::map<std::string, std::string>& factors) {
  Json message = Json::object({{"type", "outputs"},
                               {"workload", workload},
                               {"stages", string_array(stages)},
                               {"values", with_values}});
  if (!factors.empty()) message.set("factors", string_map(factors));
  return message;
}

Json graph_capture_request(const std::string& workload) {
  return Json::object({{"type", "graph_capture"}, {"workload", workload}});
}

Json shutdown_request() {
  return Json::object({{"type", "shutdown"}});
}

Json parse_answer(const std::string& line, const std::string& name) {
  try {
    return base::parse_json(line, name, {kMaxAnswerBytes, 32, false});
  } catch (const Error& error) {
    throw ProtocolBreach("answers-are-json", name,
                         "printed a line on its standard output that is no answer (" +
                             error.message() + "); logs belong on standard error");
  }
}

void require_switched(const Json& answer, const std::map<std::string, std::string>& factors,
                      const std::string& name) {
  if (factors.empty()) return;
  const AnswerReader reader(answer, name, answer_type(answer), "hot-factors-switch");
  const Json* found = answer.find("factors");
  reader.require(found != nullptr && *found == string_map(factors),
                 "asked for " + string_map(factors).dump() + ", in effect is " +
                     (found == nullptr ? "nothing" : found->dump().substr(0, 200)));
}

std::string answer_type(const Json& answer) {
  const Json* error = answer.find("error");
  if (error != nullptr && error->is_object()) return "error";
  return answer.text_or_empty("type");
}

record::WorkerHello parse_hello(const Json& answer, const std::string& name) {
  const AnswerReader reader(answer, name, "hello", "hello-valid");
  const std::string protocol = reader.name("protocol");
  reader.require(protocol == kProtocol,
                 "it speaks \"" + protocol + "\", this harness speaks " + kProtocol);
  record::WorkerHello hello;
  hello.name = reader.name("name");
  hello.version = reader.name("version");
  hello.source_stamp = reader.name_or_empty("source_stamp");
  hello.files_to_hash = reader.names("files_to_hash");
  hello.boundaries = parse_boundaries(reader.under("boundaries-nest"));
  hello.metrics = parse_metrics(reader.under("metrics-declared"));
  const AnswerReader factors = reader.under("factors-declared");
  factors.each("factors",
               [&](const AnswerReader& item) { hello.factors.push_back(parse_factor(item)); });
  check_unique(factors, names_of(hello.factors), "the factor");
  hello.capabilities = reader.names("capabilities");
  hello.stages = reader.names("stages");
  check_unique(reader, hello.stages, "the stage");
  hello.facts = reader.json_or_null("facts");
  hello.raw = answer;
  return hello;
}

record::LoadReply parse_load(const Json& answer, const std::string& name) {
  const AnswerReader reader(answer, name, "load", "load-valid");
  record::LoadReply reply;
  reader.require(reader.member("settings").is_object(), "\"settings\" is no object");
  reply.settings = reader.member("settings");
  const AnswerReader factors = reader.object("factors");
  for (const auto& [factor, level] : reader.member("factors").as_object()) {
    reply.factors[factor] = factors.checked_name(level, factor);
  }
  reply.device = reader.json_or_null("device");
  reply.memory = reader.json_or_null("memory");
  const AnswerReader setup = reader.object("setup_ns");
  for (const auto& [step, ns] : reader.member("setup_ns").as_object()) {
    reply.setup_ns[step] = setup.number(step);
    setup.require(reply.setup_ns[step] >= 0, "\"" + step + "\" is negative");
  }
  return reply;
}

record::PrepareReply parse_prepare(const Json& answer, const std::string& name) {
  const AnswerReader reader(answer, name, "prepare", "prepare-valid");
  reader.under("prepare-ready")
      .require(reader.boolean_or("ready", false), "the worker is not ready");
  record::PrepareReply reply;
  const AnswerReader work = reader.object("work");
  reply.work = {work.number("items"), work.number("bytes"), work.number("flops")};
  reply.facts = reader.json_or_null("facts");
  reply.first_request_ns = reader.number("first_request_ns");
  return reply;
}

}  // namespace abba::workers
