// The answers with measurements in them: slot and outputs. Nothing here trusts a count.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "harness/workers/answer_reader.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;
using record::SampleStatus;

constexpr std::int64_t kMaxTime = std::int64_t{1} << 61U;  // sums of two stay within int64

bool is_digest(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char character) {
           return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f');
         });
}

// That the answer is to this request; the boundary that it times.
std::string parse_echo(const AnswerReader& reader, const record::SlotRequest& request) {
  const AnswerReader of_id = reader.under("slot-id-echoed");
  const std::string slot_id = of_id.name("slot_id");
  of_id.require(slot_id == request.slot_id, "it answers slot \"" + slot_id + "\" where \"" +
                                                request.slot_id + "\" was asked for");
  const AnswerReader echo = reader.under("request-echoed");
  echo.require(echo.name("workload") == request.workload, "it is of another workload");
  std::string outermost = echo.name("boundary");
  echo.require(request.boundaries.empty() || outermost == request.boundaries.front(),
               "it times \"" + outermost + "\", another boundary than was asked for");
  echo.require(echo.integer("warmup", 0, kMaxTime) == request.warmup,
               "it counts other warm-ups than were asked for");
  return outermost;
}

std::vector<record::Sample> parse_samples(const AnswerReader& reader,
                                          const record::SlotRequest& request) {
  const AnswerReader counted = reader.under("samples-counted");
  const std::vector<std::int64_t> starts = counted.integers("start_ns", 0, kMaxTime);
  const std::vector<std::int64_t> durations = counted.integers("duration_ns", 0, kMaxTime);
  const auto total = static_cast<std::size_t>(request.warmup + request.requests);
  counted.require(starts.size() == total && durations.size() == total,
                  "it holds " + std::to_string(starts.size()) + " starts and " +
                      std::to_string(durations.size()) + " durations where " +
                      std::to_string(total) + " were asked for");
  const AnswerReader ordered = reader.under("samples-in-order");
  std::vector<record::Sample> samples(total);
  std::int64_t last_end = 0;
  for (std::size_t i = 0; i < total; ++i) {
    const auto seq = static_cast<std::int64_t>(i);
    ordered.require(starts[i] >= last_end, "request " + std::to_string(seq) +
                                               " starts before the one before it has ended");
    last_end = starts[i] + durations[i];
    samples[i] = {seq, seq < request.warmup, starts[i], durations[i], SampleStatus::kOk};
  }
  return samples;
}

void mark_failures(const AnswerReader& reader, std::vector<record::Sample>& samples) {
  std::int64_t last_failed = -1;
  for (const std::int64_t seq :
       reader.integers("failed", 0, static_cast<std::int64_t>(samples.size()) - 1)) {
    reader.require(seq > last_failed, "\"failed\" is not in order");
    last_failed = seq;
    samples[static_cast<std::size_t>(seq)].status = SampleStatus::kFailed;
  }
}

bool encloses(const record::Span& outer, const record::Span& inner) {
  return outer.start_ns <= inner.start_ns &&
         outer.start_ns + outer.duration_ns >= inner.start_ns + inner.duration_ns;
}

// A span lies within its request, and within a span of its parent's name.
void check_nesting(const AnswerReader& reader, const std::vector<record::Span>& spans,
                   const std::vector<record::Sample>& samples, const std::string& outermost) {
  std::map<std::int64_t, std::vector<const record::Span*>> by_request;
  for (const record::Span& span : spans) by_request[span.seq].push_back(&span);
  for (const auto& [seq, of_request] : by_request) {
    reader.require(of_request.size() <= 5000, "more than 5000 spans in one request");
    const record::Sample& sample = samples[static_cast<std::size_t>(seq)];
    const record::Span whole{seq, outermost, "", sample.start_ns, sample.duration_ns, 1};
    for (const record::Span* span : of_request) {
      const auto is_parent = [&](const record::Span* candidate) {
        return candidate != span && candidate->name == span->parent && encloses(*candidate, *span);
      };
      const bool nested =
          encloses(whole, *span) && (span->parent == outermost ||
                                     std::any_of(of_request.begin(), of_request.end(), is_parent));
      reader.require(nested, "the span \"" + span->name + "\" of request " + std::to_string(seq) +
                                 " does not lie within \"" + span->parent + "\"");
    }
  }
}

std::vector<record::Span> parse_spans(const AnswerReader& reader,
                                      const record::SlotRequest& request,
                                      const std::vector<record::Sample>& samples,
                                      const std::string& outermost) {
  const AnswerReader columns = reader.object("spans");
  const auto total = static_cast<std::int64_t>(samples.size());
  const auto seq = columns.integers("seq", request.warmup, total - 1);
  const auto names = columns.names("name");
  const auto parents = columns.names("parent");
  const auto starts = columns.integers("start_ns", 0, kMaxTime);
  const auto durations = columns.integers("duration_ns", 0, kMaxTime);
  columns.require(names.size() == seq.size() && parents.size() == seq.size() &&
                      starts.size() == seq.size() && durations.size() == seq.size(),
                  "the columns have different lengths");
  std::vector<record::Span> spans;
  spans.reserve(seq.size());
  for (std::size_t i = 0; i < seq.size(); ++i) {
    spans.push_back({seq[i], names[i], parents[i], starts[i], durations[i], 1});
  }
  check_nesting(columns, spans, samples, outermost);
  return spans;
}

void append_totals(const AnswerReader& reader, std::vector<record::Span>& spans) {
  const AnswerReader columns = reader.object("totals");
  const auto names = columns.names("name");
  const auto parents = columns.names("parent");
  const auto durations = columns.integers("duration_ns", 0, kMaxTime);
  const auto counts = columns.integers("count", 1, kMaxTime);
  columns.require(parents.size() == names.size() && durations.size() == names.size() &&
                      counts.size() == names.size(),
                  "the columns have different lengths");
  for (std::size_t i = 0; i < names.size(); ++i) {
    spans.push_back({-1, names[i], parents[i], 0, durations[i], counts[i]});
  }
}

std::vector<record::Value> parse_values(const AnswerReader& reader,
                                        const record::WorkerHello& hello, std::size_t total) {
  std::vector<record::Value> values;
  const AnswerReader columns = reader.object("values");
  for (const auto& [metric, column] : reader.member("values").as_object()) {
    const std::string& name = metric;
    const bool declared = std::any_of(hello.metrics.begin(), hello.metrics.end(),
                                      [&](const auto& known) { return known.name == name; });
    columns.require(declared, "the metric \"" + name.substr(0, 100) + "\" was not declared");
    columns.require(column.is_array() && column.as_array().size() == total,
                    "the metric \"" + name + "\" does not have one entry per request");
    for (std::size_t i = 0; i < total; ++i) {
      const Json& value = column.as_array()[i];
      if (value.is_null()) continue;
      columns.require(value.is_number(), "the metric \"" + name + "\" holds no number");
      values.push_back({static_cast<std::int64_t>(i), name, value.as_double()});
    }
  }
  return values;
}

int base64_digit(char character) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t index = kDigits.find(character);
  return index == std::string_view::npos ? -1 : static_cast<int>(index);
}

std::optional<std::string> decode_base64(const std::string& text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::array<int, 256> digits{};
  for (int i = 0; i < 256; ++i) {
    digits[static_cast<std::size_t>(i)] = base64_digit(static_cast<char>(i));
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = !last ? 0 : text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 1 : 0;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const bool padded = static_cast<int>(j) >= 4 - padding;
      const int digit = padded ? 0 : digits[static_cast<unsigned char>(text[i + j])];
      if (digit < 0 || (padded && text[i + j] != '=')) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(digit);
    }
    for (int j = 0; j < 3 - padding; ++j) {
      bytes += static_cast<char>(group >> (16U - 8U * static_cast<unsigned>(j)) & 0xffU);
    }
  }
  return bytes;
}

std::vector<float> parse_floats(const AnswerReader& item, std::int64_t count) {
  const Json& text = item.member("values_f32");
  item.require(text.is_string(), "\"values_f32\" is no string");
  const std::optional<std::string> bytes = decode_base64(text.as_string());
  item.require(bytes.has_value(), "\"values_f32\" is not base64");
  item.require(bytes->size() == static_cast<std::size_t>(count) * sizeof(float),
               "\"values_f32\" does not hold as many values as the shape says");
  std::vector<float> values(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

record::OutputTensor parse_tensor(const AnswerReader& item, bool with_values) {
  record::OutputTensor tensor;
  tensor.stage = item.name("stage");
  tensor.dtype = item.name("dtype");
  tensor.shape = item.integers("shape", 0, std::int64_t{1} << 40U);
  tensor.digest = item.name("digest");
  item.require(is_digest(tensor.digest), "\"digest\" is no SHA-256");
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40U;
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    item.require(size == 0 || count <= kMaxElements / size, "the shape is too large");
    count *= size;
  }
  if (with_values) tensor.values = parse_floats(item, count);
  return tensor;
}

record::FlushCheck parse_flush(const AnswerReader& reader) {
  const AnswerReader check = reader.object("flush");
  record::FlushCheck flush{check.name("cache"), check.number("bytes"), check.number("warm_ns"),
                           check.number("cold_ns")};
  check.require(flush.bytes > 0 && flush.warm_ns > 0 && flush.cold_ns > 0,
                "a size or a time is not positive");
  return flush;
}

}  // namespace

record::SlotReply parse_slot(const Json& answer, const record::SlotRequest& request,
                             const record::WorkerHello& hello, const std::string& name) {
  const AnswerReader reader(answer, name, "slot", "slot-valid");
  const std::string outermost = parse_echo(reader, request);
  record::SlotReply reply;
  reply.samples = parse_samples(reader, request);
  mark_failures(reader.under("failures-in-order"), reply.samples);
  reply.spans = parse_spans(reader.under("spans-nested"), request, reply.samples, outermost);
  append_totals(reader.under("span-totals-add-up"), reply.spans);
  reply.values = parse_values(reader.under("values-declared"), hello, reply.samples.size());
  require_switched(answer, request.factors, name);
  if (request.flush) reply.flush = parse_flush(reader.under("flush-makes-cold"));
  reply.allocations = reader.integer("allocations", -1, kMaxTime);
  reply.digest = reader.name_or_empty("digest");
  reader.require(reply.digest.empty() || is_digest(reply.digest), "\"digest\" is no SHA-256");
  reply.failures = std::count_if(reply.samples.begin(), reply.samples.end(),
                                 [](const auto& s) { return s.status == SampleStatus::kFailed; });
  const Json& text = reader.json_or_null("failure_text");
  if (text.is_string()) reply.failure_text = text.as_string().substr(0, 1000);
  return reply;
}

std::vector<record::OutputTensor> parse_outputs(const Json& answer,
                                                const std::vector<std::string>& stages,
                                                const record::WorkerHello& hello, bool with_values,
                                                const std::string& name) {
  const AnswerReader reader(answer, name, "outputs", "outputs-valid");
  const std::vector<std::string>& wanted = stages.empty() ? hello.stages : stages;
  std::vector<record::OutputTensor> tensors;
  reader.each("tensors", [&](const AnswerReader& item) {
    tensors.push_back(parse_tensor(item, with_values));
    const std::string& stage = tensors.back().stage;
    item.under("stages-asked-for-only")
        .require(std::find(wanted.begin(), wanted.end(), stage) != wanted.end(),
                 "nobody asked for the stage \"" + stage + "\"");
  });
  for (const std::string& stage : wanted) {
    const auto of_stage = std::count_if(tensors.begin(), tensors.end(),
                                        [&](const auto& t) { return t.stage == stage; });
    reader.under("stages-answered-once")
        .require(of_stage == 1,
                 "the stage \"" + stage + "\" is there " + std::to_string(of_stage) + " times");
  }
  return tensors;
}

}  // namespace abba::workers
