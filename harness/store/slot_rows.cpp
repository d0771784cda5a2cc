#include "harness/store/slot_rows.h"

#include "engine/base/error.h"
#include "harness/store/private_words.h"

namespace abba::store {
namespace {

// The same few names stand in thousands of rows.
class Names {
 public:
  explicit Names(Withhold make) : make_(std::move(make)) {}
  const std::string& of(const std::string& name) {
    const auto [known, is_new] = known_.try_emplace(name);
    if (is_new) {
      known->second = make_(name);
    }
    return known->second;
  }

 private:
  Withhold make_;
  std::unordered_map<std::string, std::string> known_;
};

void write_kernels(Database& database, std::int64_t slot,
                   const std::vector<record::TraceKernel>& kernels, Names& names) {
  Statement row = database.prepare(
      "INSERT INTO trace_kernel (slot, ordinal, name, device, stream, correlation, graph_node, "
      "start_ns, end_ns, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, "
      "static_shared_bytes, dynamic_shared_bytes) VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t ordinal = 0;
  for (const record::TraceKernel& k : kernels) {
    row.run(slot, ordinal++, names.of(k.name), k.device, k.stream, k.correlation, k.graph_node,
            k.start_ns, k.end_ns, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1],
            k.block[2], k.registers, k.static_shared_bytes, k.dynamic_shared_bytes);
  }
}

[[noreturn]] void damaged(const Database& database, const std::string& what) {
  throw base::Error(base::ErrorCode::kBadInput, database.path(), "is damaged: " + what);
}

// Statistics of a row subtract its times: only those that a tracer may write.
template <typename Row>
Row checked(Row row, const Database& database) {
  if (row.start_ns < 0 || row.end_ns < row.start_ns || row.end_ns > record::kLatestNs) {
    damaged(database, "a trace's row ends before it begins, or at no time");
  }
  return row;
}

record::Slot& slot_of(const SlotsById& slots, const Statement& row, const Database& database) {
  const auto slot = slots.find(row.integer(0));
  if (slot == slots.end()) {
    damaged(database, "a sample or a trace's row belongs to no slot");
  }
  return *slot->second;
}

record::TraceKernel kernel_of(const Statement& row, Names& names) {
  record::TraceKernel kernel;
  kernel.name = names.of(row.text(1));
  kernel.device = row.integer(2);
  kernel.stream = row.integer(3);
  kernel.correlation = row.integer(4);
  kernel.graph_node = row.integer(5);  // 0 for NULL
  kernel.start_ns = row.integer(6);
  kernel.end_ns = row.integer(7);
  kernel.grid = {row.integer(8), row.integer(9), row.integer(10)};
  kernel.block = {row.integer(11), row.integer(12), row.integer(13)};
  kernel.registers = row.integer(14);
  kernel.static_shared_bytes = row.integer(15);
  kernel.dynamic_shared_bytes = row.integer(16);
  return kernel;
}

}  // namespace

void write_trace(Database& database, std::int64_t slot, const record::Trace& trace,
                 const Withhold& withheld) {
  Names names(withheld);
  write_kernels(database, slot, trace.kernels, names);
  std::int64_t ordinal = 0;
  Statement copies = database.prepare(
      "INSERT INTO trace_copy (slot, ordinal, kind, device, stream, correlation, bytes, start_ns, "
      "end_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const record::TraceCopy& c : trace.copies) {
    copies.run(slot, ordinal++, names.of(c.kind), c.device, c.stream, c.correlation, c.bytes,
               c.start_ns, c.end_ns);
  }
  ordinal = 0;
  Statement calls = database.prepare(
      "INSERT INTO trace_api (slot, ordinal, name, thread, correlation, start_ns, end_ns) VALUES "
      "(?, ?, ?, ?, ?, ?, ?)");
  for (const record::TraceApi& c : trace.calls) {
    calls.run(slot, ordinal++, names.of(c.name), c.thread, c.correlation, c.start_ns, c.end_ns);
  }
  ordinal = 0;
  Statement ranges = database.prepare(
      "INSERT INTO trace_range (slot, ordinal, name, thread, start_ns, end_ns) VALUES "
      "(?, ?, ?, ?, ?, ?)");
  for (const record::TraceRange& r : trace.ranges) {
    ranges.run(slot, ordinal++, names.of(r.name), r.thread, r.start_ns, r.end_ns);
  }
}

void read_samples(Database& database, const SlotsById& slots) {
  Statement samples = database.prepare(
      "SELECT slot, seq, warmup, t_start_ns, duration_ns, status FROM sample ORDER BY slot, seq");
  record::Slot* slot = nullptr;  // rows of a slot follow each other
  while (samples.step()) {
    if (slot == nullptr || slot->id != samples.integer(0)) {
      slot = &slot_of(slots, samples, database);
    }
    const std::int64_t status = samples.integer(5);
    if (status != 0 && status != 1) {
      damaged(database, "a sample has the unknown status " + std::to_string(status));
    }
    slot->samples.push_back({samples.integer(1), samples.integer(2) != 0, samples.integer(3),
                             samples.integer(4), static_cast<record::SampleStatus>(status)});
  }
  Statement values =
      database.prepare("SELECT slot, seq, metric, value FROM value ORDER BY slot, ordinal");
  while (values.step()) {
    slot_of(slots, values, database)
        .values.push_back({values.integer(1), values.text(2), values.real(3)});
  }
  Statement spans = database.prepare(
      "SELECT slot, seq, name, parent, start_ns, duration_ns, count FROM span ORDER BY slot, "
      "ordinal");
  while (spans.step()) {
    slot_of(slots, spans, database)
        .spans.push_back({spans.integer(1), spans.text(2), spans.text(3), spans.integer(4),
                          spans.integer(5), spans.integer(6)});
  }
}

void read_traces(Database& database, const SlotsById& slots) {
  Names names([&database](const std::string& text) { return filled_text(database, text); });
  Statement kernels = database.prepare(
      "SELECT slot, name, device, stream, correlation, graph_node, start_ns, end_ns, grid_x, "
      "grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, "
      "dynamic_shared_bytes FROM trace_kernel ORDER BY slot, ordinal");
  while (kernels.step()) {
    slot_of(slots, kernels, database)
        .trace.kernels.push_back(checked(kernel_of(kernels, names), database));
  }
  Statement copies = database.prepare(
      "SELECT slot, kind, device, stream, correlation, bytes, start_ns, end_ns FROM trace_copy "
      "ORDER BY slot, ordinal");
  while (copies.step()) {
    slot_of(slots, copies, database)
        .trace.copies.push_back(
            checked(record::TraceCopy{names.of(copies.text(1)), copies.integer(2),
                                      copies.integer(3), copies.integer(4), copies.integer(5),
                                      copies.integer(6), copies.integer(7)},
                    database));
  }
  Statement calls = database.prepare(
      "SELECT slot, name, thread, correlation, start_ns, end_ns FROM trace_api ORDER BY slot, "
      "ordinal");
  while (calls.step()) {
    slot_of(slots, calls, database)
        .trace.calls.push_back(
            checked(record::TraceApi{names.of(calls.text(1)), calls.integer(2), calls.integer(3),
                                     calls.integer(4), calls.integer(5)},
                    database));
  }
  Statement ranges = database.prepare(
      "SELECT slot, name, thread, start_ns, end_ns FROM trace_range ORDER BY slot, ordinal");
  while (ranges.step()) {
    slot_of(slots, ranges, database)
        .trace.ranges.push_back(
            checked(record::TraceRange{names.of(ranges.text(1)), ranges.integer(2),
                                       ranges.integer(3), ranges.integer(4)},
                    database));
  }
}

}  // namespace abba::store
