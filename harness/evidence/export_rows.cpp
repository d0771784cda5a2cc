#include "harness/evidence/export_rows.h"

#include <charconv>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "harness/store/chain.h"
#include "harness/store/open_run.h"

namespace abba::evidence {
namespace {

using base::Json;
using store::Database;
using store::Statement;

// A request with all that it belongs to.
constexpr char kSamples[] =
    "SELECT pass.phase, pass.position AS pass, pass.superseded, block.workload, block.boundary, "
    "block.id AS block, block.slot_order, block.taint, block.failed, slot.id AS slot, "
    "slot.position, slot.arm, slot.worker, sample.seq, sample.warmup, sample.t_start_ns, "
    "sample.duration_ns, sample.status FROM sample JOIN slot ON slot.id = sample.slot JOIN block "
    "ON block.id = slot.block JOIN pass ON pass.id = block.pass ORDER BY slot.id, sample.seq";

constexpr const char* kViews[] = {"v_slot",          "v_contrast",      "v_pass",         "v_pair",
                                  "v_pass_contrast", "v_verdict_input", "v_graph_capture"};

// All columns of a table that may be shown, in its own order of rows.
std::string query_of(const store::ChainedTable& table) {
  std::string columns = table.columns;
  for (const store::MutableColumn& column : store::mutable_columns()) {
    if (std::string_view(column.table) == table.name) {
      columns += std::string(", ") + column.column;
    }
  }
  return "SELECT " + columns + " FROM " + table.name + " ORDER BY " + table.order;
}

std::string query_of(const std::string& table, const std::string& run_file) {
  std::vector<std::string> known = {"samples"};
  if (table == known.front()) {
    return kSamples;
  }
  for (const store::ChainedTable& chained : store::chained_tables()) {
    if (table == chained.name) {
      return query_of(chained);
    }
    known.push_back(chained.name);
  }
  for (const char* view : kViews) {
    if (table == view) {
      return "SELECT * FROM " + table;
    }
    known.push_back(view);
  }
  throw base::Error(base::ErrorCode::kBadInput, run_file,
                    "has no table \"" + table + "\"; there are " + base::join(known, ", "));
}

std::string number(double value) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string csv_field(const Statement& row, int column) {
  switch (row.kind(column)) {
    case Statement::Kind::kNull:
      return "";
    case Statement::Kind::kInteger:
      return std::to_string(row.integer(column));
    case Statement::Kind::kReal:
      return number(row.real(column));
    case Statement::Kind::kText:
    case Statement::Kind::kBlob:
      break;
  }
  std::string quoted = "\"";
  for (const char c : row.bytes(column)) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

Json json_value(const Statement& row, int column) {
  switch (row.kind(column)) {
    case Statement::Kind::kNull:
      return nullptr;
    case Statement::Kind::kInteger:
      return row.integer(column);
    case Statement::Kind::kReal:
      return std::isfinite(row.real(column)) ? Json(row.real(column)) : Json(nullptr);
    case Statement::Kind::kText:
    case Statement::Kind::kBlob:
      break;
  }
  return row.text(column);
}

}  // namespace

std::string rows_as_csv(const std::string& run_file, const std::string& table) {
  const std::string query = query_of(table, run_file);
  Database database = store::open_run(run_file, {});
  Statement rows = database.prepare(query);
  std::string out;
  const int columns = rows.column_count();
  for (int column = 0; column < columns; ++column) {
    out += (column == 0 ? "" : ",") + rows.column_name(column);
  }
  out += "\r\n";
  while (rows.step()) {
    for (int column = 0; column < columns; ++column) {
      out += (column == 0 ? "" : ",") + csv_field(rows, column);
    }
    out += "\r\n";
  }
  return out;
}

std::string rows_as_json_lines(const std::string& run_file) {
  Database database = store::open_run(run_file, {});
  std::string out;
  for (const store::ChainedTable& table : store::chained_tables()) {
    Statement rows = database.prepare(query_of(table));
    while (rows.step()) {
      Json row = Json::object({{"table", table.name}});
      for (int column = 0; column < rows.column_count(); ++column) {
        row.set(rows.column_name(column), json_value(rows, column));
      }
      out += row.dump() + "\n";
    }
  }
  return out;
}

}  // namespace abba::evidence
