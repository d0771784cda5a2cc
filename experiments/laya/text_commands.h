// The commands of abba-laya that take text: decide, tokenize, serve. Plain functions of plain
// options; they print to stdout and throw base::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/long_answer.h"
#include "engine/runtime/runtime.h"

namespace abba::laya {

// What answers: a checkpoint folder and how it is computed.
struct ModelOptions {
  std::string checkpoint;
  std::string backend = "cpu";
  std::string precision = "auto";     // the original's choice: fp32 on a CPU, bf16 elsewhere
  int threads = 1;                    // of cpu
  int device = 0;                     // of cuda
  std::string language_temperatures;  // a JSON file, or empty
};
std::unique_ptr<runtime::LoadedModel> load_model(const ModelOptions& options);

// Where a state comes from; exactly one of text and file.
struct StateOptions {
  std::optional<std::string> text;
  std::string file;      // "-" is standard input
  bool is_json = false;  // otherwise it is taken as it stands
};
text::PyValue read_state(const StateOptions& options);

// Questions of a JSON file {id: definition} and of short forms:
//   choice "Which team? | billing: invoices and refunds | technical"
//   score  "How urgent? | can wait | soon | now"
//   noul   "Does the customer ask for a refund?"
// with the ids choice, score, noul, then choice_2 and so on.
struct QuestionOptions {
  std::string file;
  std::vector<std::string> choices, scores, nouls;
};
text::PyValue read_questions(const QuestionOptions& options);

struct Decide {
  ModelOptions model;
  StateOptions state;
  QuestionOptions questions;
  std::string requests;  // a file of JSON lines {"state", "questions"[, "max_len", ...]}, or "-"
  std::optional<std::int64_t> max_len, head_max_len;
  std::string language;
  bool in_windows = false;  // a state longer than a row is read whole, in windows; always JSON
  runtime::WindowOptions windows;
  bool json = false;   // also on a terminal
  bool rows = false;   // adds token ids, markers and logits to the JSON
  bool spans = false;  // where the time went, to standard error
};
void decide(const Decide& options);

struct Tokenize {
  std::string tokenizer;  // folder of tokenizer.json
  std::string questions;  // file, or empty: the state alone
  StateOptions state;
  std::int64_t max_len = 512;
  std::int64_t head_max_len = 192;
  bool ids = false;  // one line of numbers a row
};
void tokenize(const Tokenize& options);

struct Serve {
  ModelOptions model;
  std::string host = "127.0.0.1";
  int port = 8000;  // 0 = any free one; the ready line says which
  std::string key_file;
  bool open = false;  // may bind elsewhere than loopback without a key
  int most_waiting = 16;
  int most_connections = 128;
  double timeout_s = 10;    // for a client to send a whole request, 5 of them for its header
  double keep_alive_s = 5;  // for a connection to lie idle
  double most_wait_s = 30;  // for a request to wait for the engine
  double drain_s = 10;
};
// Answers until SIGTERM or SIGINT, then drains. Returns whether the engine was sound to the end.
bool serve(const Serve& options);

}  // namespace abba::laya
