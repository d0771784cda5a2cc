#include "harness/store/chain.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "engine/base/text.h"

namespace abba::store {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;

std::string select_of(const ChainedTable& table) {
  std::string where;
  switch (table.owner) {
    case ChainedTable::Owner::kEntry:
      where = "entry = ?";
      break;
    case ChainedTable::Owner::kBlock:
      where = "block IN (SELECT id FROM block WHERE entry = ?)";
      break;
    case ChainedTable::Owner::kSlot:
      where =
          "slot IN (SELECT slot.id FROM slot JOIN block ON block.id = slot.block WHERE "
          "block.entry = ?)";
      break;
  }
  return base::join(
      {"SELECT", table.columns, "FROM", table.name, "WHERE", where, "ORDER BY", table.order}, " ");
}

void append_number(std::int64_t value, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_real(double value, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 60; shift >= 0; shift -= 4) {
    out.push_back(kDigits[(bits >> static_cast<unsigned>(shift)) & 15U]);
  }
}

void append_value(const Statement& row, int column, std::string& out) {
  switch (row.kind(column)) {
    case Statement::Kind::kNull:
      out.push_back('n');
      return;
    case Statement::Kind::kInteger:
      out.push_back('i');
      append_number(row.integer(column), out);
      return;
    case Statement::Kind::kReal:
      out.push_back('r');
      append_real(row.real(column), out);
      return;
    case Statement::Kind::kText:
    case Statement::Kind::kBlob:
      break;
  }
  const std::string_view bytes = row.bytes(column);
  out.push_back(row.kind(column) == Statement::Kind::kText ? 't' : 'b');
  append_number(static_cast<std::int64_t>(bytes.size()), out);
  out.push_back(':');
  out.append(bytes);
}

}  // namespace

const std::vector<ChainedTable>& chained_tables() {
  using Owner = ChainedTable::Owner;
  static const std::vector<ChainedTable> kTables = {
      {"run",
       "id, run_id, manifest_id, lock_digest, started_utc, exploratory, analysis_version, "
       "program_version",
       Owner::kEntry, "id"},
      {"document", "name, text", Owner::kEntry, "name"},
      {"private", "key, commitment", Owner::kEntry, "key"},
      {"arm", "id, label, factors", Owner::kEntry, "id"},
      {"workload", "id, position, work_items, work_bytes, work_flops", Owner::kEntry, "id"},
      {"binding", "id, name, value", Owner::kEntry, "id"},
      {"slot_count", "id, workload, warmup, requests", Owner::kEntry, "id"},
      {"worker", "id, arm, pass, pid, command_digest", Owner::kEntry, "id"},
      {"identity", "id, source, key, value", Owner::kEntry, "id"},
      {"pass", "id, position, phase, start_ns", Owner::kEntry, "id"},
      {"block", "id, pass, phase, workload, boundary, slot_order, taint, failed, failure",
       Owner::kEntry, "id"},
      {"slot",
       "id, block, position, arm, worker, start_ns, end_ns, idle_gap_ns, allocations, failures, "
       "digest",
       Owner::kBlock, "id"},
      {"sample", "slot, seq, warmup, t_start_ns, duration_ns, status", Owner::kSlot, "slot, seq"},
      {"value", "slot, ordinal, seq, metric, value", Owner::kSlot, "slot, ordinal"},
      {"span", "slot, ordinal, seq, name, parent, start_ns, duration_ns, count", Owner::kSlot,
       "slot, ordinal"},
      {"environment", "id, slot, time_ns, moment, key, value, unit, text", Owner::kEntry, "id"},
      {"output_check",
       "id, input, stage, arm, against, digest, equal, within, nrms, max_abs, ulp, "
       "first_divergence",
       Owner::kEntry, "id"},
      {"note", "id, code, severity, place, text", Owner::kEntry, "id"},
      {"verdict",
       "ordinal, workload, metric, boundary, is_primary, word, effect, low, high, level, reason",
       Owner::kEntry, "ordinal"},
      {"graph_capture",
       "id, worker, arm, workload, shape, first_run_ns, warm_runs, warm_ns, capture_ns, "
       "instantiate_ns, upload_ns, first_replay_ns, nodes, bytes",
       Owner::kEntry, "id"},
      {"trace_kernel",
       "slot, ordinal, name, device, stream, correlation, graph_node, start_ns, end_ns, grid_x, "
       "grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, "
       "dynamic_shared_bytes",
       Owner::kSlot, "slot, ordinal"},
      {"trace_copy", "slot, ordinal, kind, device, stream, correlation, bytes, start_ns, end_ns",
       Owner::kSlot, "slot, ordinal"},
      {"trace_api", "slot, ordinal, name, thread, correlation, start_ns, end_ns", Owner::kSlot,
       "slot, ordinal"},
      {"trace_range", "slot, ordinal, name, thread, start_ns, end_ns", Owner::kSlot,
       "slot, ordinal"},
      {"change", "ordinal, tbl, row, col, value", Owner::kEntry, "ordinal"},
  };
  return kTables;
}

const std::vector<MutableColumn>& mutable_columns() {
  static const std::vector<MutableColumn> kColumns = {
      {"run", "state", "running"},  {"run", "state_text", ""},     {"run", "finished_utc", ""},
      {"run", "resumed", "0"},      {"worker", "exit_code", "0"},  {"worker", "cpus", "[]"},
      {"worker", "setup_ns", "{}"}, {"worker", "last_stderr", ""}, {"pass", "end_ns", "0"},
      {"pass", "superseded", "0"},  {"pass", "why", ""},
  };
  return kColumns;
}

std::string entry_digest(const ChainEntry& entry) {
  return base::sha256_hex("abba.chain/1\n" + std::to_string(entry.seq) + "\n" + entry.kind + "\n" +
                          entry.content + "\n" + entry.previous + "\n");
}

ContentDigest::ContentDigest(Database& database) : row_counts_(chained_tables().size(), 0) {
  statements_.reserve(chained_tables().size());
  for (const ChainedTable& table : chained_tables()) {
    statements_.push_back(database.prepare(select_of(table)));
  }
}

void WrittenSamples::clear() {
  text_.clear();
  count_ = 0;
  in_order_ = true;
}

void WrittenSamples::add(std::int64_t slot, std::int64_t seq, bool warmup, std::int64_t start_ns,
                         std::int64_t duration_ns, std::int64_t status) {
  const bool follows = slot > last_slot_ || (slot == last_slot_ && seq > last_seq_);
  in_order_ = in_order_ && (count_ == 0 || follows);
  last_slot_ = slot;
  last_seq_ = seq;
  ++count_;
  char row[7 * 24] = "sample(";
  char* end = row + std::strlen(row);
  for (const std::int64_t value :
       {slot, seq, std::int64_t{warmup ? 1 : 0}, start_ns, duration_ns, status}) {
    *end++ = 'i';
    end = std::to_chars(end, row + sizeof row, value).ptr;
    *end++ = ',';
  }
  end[-1] = ')';
  *end++ = '\n';
  text_.append(row, end);
}

void ContentDigest::flush(base::Sha256& sha) {
  sha.update(buffer_);
  buffer_.clear();
}

void ContentDigest::read(std::size_t table, std::int64_t entry, base::Sha256& sha) {
  Statement& rows = statements_[table];
  const int columns = rows.column_count();
  rows.bind(0, entry);
  while (rows.step()) {
    ++row_counts_[table];
    buffer_ += chained_tables()[table].name;
    for (int column = 0; column < columns; ++column) {
      buffer_.push_back(column == 0 ? '(' : ',');
      append_value(rows, column, buffer_);
    }
    buffer_ += ")\n";
    if (buffer_.size() >= kPieceBytes) {
      flush(sha);
    }
  }
}

std::string ContentDigest::digest(std::int64_t entry, const WrittenSamples* samples) {
  base::Sha256 sha;
  for (std::size_t i = 0; i < statements_.size(); ++i) {
    const bool is_written = samples != nullptr && samples->in_order() &&
                            std::string_view(chained_tables()[i].name) == "sample";
    if (!is_written) {
      read(i, entry, sha);
      continue;
    }
    flush(sha);
    sha.update(samples->text());
    row_counts_[i] += samples->count();
  }
  flush(sha);
  return sha.hex_digest();
}

std::vector<ChainEntry> read_chain(Database& database) {
  std::vector<ChainEntry> entries;
  Statement rows =
      database.prepare("SELECT seq, kind, content, previous, digest FROM chain ORDER BY seq");
  while (rows.step()) {
    entries.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4)});
  }
  return entries;
}

std::string commitment(std::string_view salt_hex, std::string_view text) {
  base::Sha256 sha;
  sha.update(salt_hex);
  sha.update(text);
  return sha.hex_digest();
}

}  // namespace abba::store
