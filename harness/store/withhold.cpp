// Texts of programs and errors may name paths of the machine; the rows that quote them are in the
// chain. So the words are stored as private strings and the text holds marks.
#include "harness/record/names.h"
#include "harness/store/private_words.h"
#include "harness/store/record_json.h"
#include "harness/store/row_writer.h"

namespace abba::store {

using base::Json;

namespace {

constexpr std::size_t kShortestHost = 4;  // a shorter name occurs in ordinary words

}  // namespace

std::string RowWriter::mark_of(const std::string& word) {
  Statement known =
      database_.prepare("SELECT key FROM private WHERE text = ? AND key LIKE 'text/%'");
  known.bind(0, word);
  if (known.step()) {
    return private_mark(known.bytes(0));
  }
  const std::int64_t count =
      database_.integer("SELECT count(*) FROM private WHERE key LIKE 'text/%'");
  return private_mark(private_string("text/" + std::to_string(count + 1), word));
}

std::string RowWriter::withheld(const std::string& text) {
  if (text.empty()) {
    return text;
  }
  std::string out = text;
  for (const std::string& word : private_words(text)) {
    out = replace_word(out, word, mark_of(word));
  }
  const std::string host = database_.text("SELECT text FROM private WHERE key = 'host'");
  return host.size() < kShortestHost ? out : replace_word(out, host, private_mark("host"));
}

Json RowWriter::withheld(const Json& json) {
  return with_texts(json, [this](const std::string& text) { return withheld(text); });
}

void RowWriter::analysis(const record::Analysis& analysis) {
  record::Analysis stored = analysis;
  stored.headline = withheld(stored.headline);
  for (record::Verdict& verdict : stored.verdicts) {
    verdict.reason = withheld(verdict.reason);
  }
  for (record::Note& note : stored.notes) {
    note.text = withheld(note.text);
  }
  document("analysis", to_json(stored).dump());
  Statement row = database_.prepare(
      "INSERT INTO verdict (entry, ordinal, workload, metric, boundary, is_primary, word, effect, "
      "low, high, level, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int ordinal = 0;
  for (const record::Verdict& verdict : stored.verdicts) {
    row.run(entry_, ordinal++, verdict.workload, verdict.metric, verdict.boundary, verdict.primary,
            record::name(verdict.word), verdict.effect, verdict.deciding.low, verdict.deciding.high,
            verdict.deciding.level, verdict.reason);
  }
}

}  // namespace abba::store
