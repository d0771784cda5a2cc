#include "harness/evidence/check_file.h"

#include <cstdint>

#include "harness/record/names.h"
#include "harness/store/chain.h"
#include "harness/store/private_words.h"

namespace abba::evidence {
namespace {

using store::ChainEntry;
using store::Database;
using store::Statement;

// "block 12 (measured pass 3, workload w1)" for a commit of a block, else what the commit was.
std::string what_it_covers(Database& database, const ChainEntry& entry) {
  Statement row = database.prepare(
      "SELECT block.id, pass.phase, pass.position, block.workload FROM block JOIN pass ON pass.id "
      "= "
      "block.pass WHERE block.entry = ?");
  row.bind(0, entry.seq);
  const std::string commit = "commit " + std::to_string(entry.seq) + " (" + entry.kind + ")";
  if (!row.step()) {
    return commit;
  }
  return commit + ", block " + row.text(0) + " (" + row.text(1) + " pass " +
         std::to_string(row.integer(2) + 1) + ", workload " + row.text(3) + ")";
}

std::string check_links(Database& database, const std::vector<ChainEntry>& entries,
                        store::ContentDigest& content) {
  if (entries.empty()) {
    return "there is no commit";
  }
  std::string previous(64, '0');
  std::int64_t seq = 0;
  for (const ChainEntry& entry : entries) {
    if (entry.seq != ++seq) {
      return "commit " + std::to_string(seq) + " is missing";
    }
    if (content.digest(entry.seq) != entry.content) {
      return "the rows of " + what_it_covers(database, entry) + " are not those committed";
    }
    if (entry.previous != previous) {
      return what_it_covers(database, entry) + " does not follow the commit before it";
    }
    if (store::entry_digest(entry) != entry.digest) {
      return "the digest of " + what_it_covers(database, entry) + " is wrong";
    }
    previous = entry.digest;
  }
  return "";
}

}  // namespace

ChainFindings check_chain(Database& database) {
  ChainFindings findings;
  const std::vector<ChainEntry> entries = store::read_chain(database);
  store::ContentDigest content(database);
  findings.chain = check_links(database, entries, content);
  if (!findings.chain.empty()) {
    return findings;  // rows were not all counted
  }
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < store::chained_tables().size(); ++i) {
    const std::string table = store::chained_tables()[i].name;
    const std::int64_t stored = database.integer("SELECT count(*) FROM " + table);
    rows += stored;
    if (stored != content.row_counts()[i] && findings.coverage.empty()) {
      findings.coverage = std::to_string(stored - content.row_counts()[i]) + " rows of table " +
                          table + " belong to no commit";
    }
  }
  findings.summary =
      std::to_string(entries.size()) + " commits over " + std::to_string(rows) + " rows";
  return findings;
}

std::string check_changes(Database& database) {
  for (const store::MutableColumn& column : store::mutable_columns()) {
    Statement rows = database.prepare(
        std::string("SELECT id, CAST(") + column.column +
        " AS TEXT), coalesce((SELECT value FROM change WHERE tbl = ?1 AND col = ?2 AND row = t.id "
        "ORDER BY entry DESC, ordinal DESC LIMIT 1), ?3) FROM " +
        column.table + " t");
    rows.bind(0, column.table);
    rows.bind(1, column.column);
    rows.bind(2, column.initial);
    while (rows.step()) {
      if (rows.bytes(1) != rows.bytes(2)) {
        return std::string(column.table) + "." + column.column + " of row " + rows.text(0) +
               " holds \"" + rows.text(1).substr(0, 60) + "\", the log of changes says \"" +
               rows.text(2).substr(0, 60) + "\"";
      }
    }
  }
  return "";
}

std::string check_verdict_table(Database& database, const record::Analysis& analysis) {
  Statement rows = database.prepare(
      "SELECT workload, metric, boundary, word, effect, low, high, reason FROM verdict WHERE entry "
      "= (SELECT max(entry) FROM document WHERE name = 'analysis') ORDER BY ordinal");
  const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
  std::size_t count = 0;
  while (rows.step()) {
    if (count == analysis.verdicts.size()) {
      return "the table of verdicts holds more than the analysis";
    }
    const record::Verdict& verdict = analysis.verdicts[count++];
    if (rows.bytes(0) != verdict.workload || rows.bytes(1) != verdict.metric ||
        rows.bytes(2) != verdict.boundary || rows.bytes(3) != record::name(verdict.word) ||
        !same(rows.real(4), verdict.effect) || !same(rows.real(5), verdict.deciding.low) ||
        !same(rows.real(6), verdict.deciding.high) ||
        store::filled_text(database, rows.bytes(7)) != verdict.reason) {
      return "the table of verdicts differs from the analysis on workload " + verdict.workload;
    }
  }
  return count == analysis.verdicts.size() ? "" : "the table of verdicts lacks a verdict";
}

PrivateFindings check_private(Database& database) {
  PrivateFindings findings;
  std::int64_t count = 0;
  std::int64_t redacted = 0;
  Statement rows = database.prepare(
      "SELECT key, commitment, salt, text, salt IS NULL, text IS NULL FROM private ORDER BY key");
  while (rows.step()) {
    ++count;
    const bool no_salt = rows.integer(4) != 0;
    const bool no_text = rows.integer(5) != 0;
    if (no_salt && no_text) {
      ++redacted;
    } else if (no_salt || no_text ||
               store::commitment(rows.bytes(2), rows.bytes(3)) != rows.bytes(1)) {
      findings.wrong = "the private string " + rows.text(0) + " is not the one committed to";
      return findings;
    }
  }
  findings.summary =
      std::to_string(count) + " strings, " + std::to_string(redacted) + " of them redacted";
  return findings;
}

}  // namespace abba::evidence
