#include "experiments/laya/cli.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "engine/base/error.h"
#include "engine/base/source_stamp.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_settings.h"
#include "experiments/laya/terminal.h"
#include "experiments/laya/text_commands.h"
#include "experiments/laya/text_worker.h"

namespace abba::laya {
namespace {

// CLI11 wraps a negative whole number and takes the largest for one that is too large.
std::string whole_number(std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return {};
  return text + " is no whole number of 0 to 2^64 - 1";
}

// CLI::Range lets nan pass.
std::string finite_number(std::string& text) {
  if (std::isfinite(std::strtod(text.c_str(), nullptr))) return {};
  return text + " is no finite number";
}

constexpr int kBadUsage = 2;
constexpr int kBroken = 5;
constexpr int kDoesNotCheckOut = 7;

int exit_code(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kBadInput:
      return kBadUsage;
    case base::ErrorCode::kMismatch:
      return 3;
    case base::ErrorCode::kPreflight:
      return 4;
    case base::ErrorCode::kBroken:
      return kBroken;
    case base::ErrorCode::kEvidence:
      return kDoesNotCheckOut;
  }
  return kBroken;
}

// One word after each flag, as often as one likes: more words would be those of another option.
CLI::Option* takes_each(CLI::App* command, const char* flag, std::vector<std::string>& words,
                        const char* meaning) {
  return command->add_option(flag, words, meaning)->allow_extra_args(false);
}

void takes_backend(CLI::App* command, std::string& backend) {
  command->add_option("--backend", backend, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

// A whole number of low to high, with its default shown.
template <typename Number>
void takes_count(CLI::App* command, const char* flag, Number& value, int low, int high,
                 const char* meaning) {
  command->add_option(flag, value, meaning)->check(CLI::Range(low, high))->capture_default_str();
}

void takes_seconds(CLI::App* command, const char* flag, double& value, double low,
                   const char* meaning) {
  command->add_option(flag, value, meaning)
      ->check(CLI::Validator(finite_number, "") & CLI::Range(low, 3600.0))
      ->capture_default_str();
}

void takes_threads(CLI::App* command, int& threads) {
  takes_count(command, "--threads", threads, 1, 256, "Of the CPU backend");
}

void add_checkpoint_commands(CLI::App& app, int& result) {
  CLI::App* group =
      app.add_subcommand("checkpoint", "Make and judge checkpoints in the official layout");
  group->require_subcommand(1);

  static MakeCheckpoint make;
  CLI::App* maker = group->add_subcommand("make", "Write a deterministic synthetic checkpoint");
  maker
      ->add_option(
          "--config", make.config,
          "english, multilingual, typed, student or tiny, or a folder (with a slash in its "
          "name) that holds encoder/config.json and rl_agent_config.json")
      ->required();
  maker->add_option("--seed", make.seed, "Same seed, same bytes")
      ->check(CLI::Validator(whole_number, ""))
      ->capture_default_str();
  maker->add_option("--out", make.out, "Folder to make; must not exist or be empty")->required();
  maker->add_option("--tokenizer", make.tokenizer, "builtin, none, or a folder")
      ->capture_default_str();
  takes_count(maker, "--threads", make.threads, 1, 256, "Threads that draw");
  maker->callback([] { make_checkpoint(make); });

  static std::string inspected;
  CLI::App* inspector = group->add_subcommand("inspect", "Print config, tensors and digest");
  inspector->add_option("dir", inspected, "Checkpoint folder")->required();
  inspector->callback([] { inspect_checkpoint_command(inspected); });

  static std::string verified;
  CLI::App* verifier = group->add_subcommand("verify", "Check every tensor against the config");
  verifier->add_option("dir", verified, "Checkpoint folder")->required();
  verifier->callback(
      [&result] { result = verify_checkpoint_command(verified) ? 0 : kDoesNotCheckOut; });
}

void add_compare_reference(CLI::App& app, int& result) {
  static CompareReference options;
  CLI::App* command = app.add_subcommand(
      "compare-reference", "Run one batch through the engine and the double-precision reference");
  command->add_option("checkpoint", options.checkpoint, "Checkpoint folder")->required();
  takes_count(command, "--rows", options.rows, 1, 64, "Rows of the batch");
  takes_count(command, "--tokens", options.tokens, 24, 1024, "Tokens of a row");
  command->add_option("--seed", options.seed, "Of the drawn ids")
      ->check(CLI::Validator(whole_number, ""))
      ->capture_default_str();
  takes_backend(command, options.backend);
  takes_threads(command, options.threads);
  command->add_flag("--checks", options.checks,
                    "Run the three output checks in bf16 as well; 1 and 2 must hold");
  command->callback([&result] { result = compare_reference(options) ? 0 : kDoesNotCheckOut; });
}

void add_device_commands(CLI::App& app) {
  static Doctor examined;
  CLI::App* doctor_command =
      app.add_subcommand("doctor", "Say what each backend would run on, or why it cannot");
  CLI::Option* loaded =
      doctor_command->add_option("--checkpoint", examined.network.checkpoint,
                                 "Load this one on the GPU and print the memory it takes");
  takes_each(doctor_command, "--shape", examined.network.shapes,
             "ROWSxTOKENS[xOPTIONS] to plan for")
      ->needs(loaded);
  doctor_command->add_flag("--json", examined.json, "Print one JSON object for programs");
  doctor_command->footer(
      "--json: {schema, cpu, cuda[, memory]}; each backend has `available` and, if not, `reason`;\n"
      "cpu: isa, library, product; cuda: name, uuid, pci, compute_capability, sm_count,\n"
      "memory_bytes, memory_used_bytes, driver_cuda, runtime_cuda; memory (with --checkpoint):\n"
      "weight_bytes, arena_bytes, scratch_bytes, device_used_bytes and what was not available.");
  doctor_command->callback([] { doctor(examined); });

  static PlannedNetwork options;
  CLI::App* command = app.add_subcommand(
      "gemm-pin", "Time a GPU's matrix products and print rows for the table of pinned algorithms");
  command->add_option("checkpoint", options.checkpoint, "Checkpoint folder")->required();
  takes_each(command, "--shape", options.shapes, "ROWSxTOKENS[xOPTIONS], as often as you like")
      ->required();
  takes_count(command, "--device", options.device, 0, 255, "GPU");
  command->callback([] { gemm_pin(options); });
}

void add_model_options(CLI::App* command, ModelOptions& model) {
  command->add_option("checkpoint", model.checkpoint, "Checkpoint folder, tokenizer included")
      ->required();
  takes_backend(command, model.backend);
  command->add_option("--precision", model.precision, "auto, fp32 or bf16")
      ->check(CLI::IsMember({"auto", "fp32", "bf16"}))
      ->capture_default_str();
  takes_threads(command, model.threads);
  takes_count(command, "--device", model.device, 0, 255, "Of the CUDA backend");
  command->add_option("--lang-temperatures", model.language_temperatures,
                      "JSON file {\"de\": {\"temperature\": [choice, score, noul]}, ...}");
}

void add_state_options(CLI::App* command, StateOptions& state) {
  command->add_option("--state-file", state.file, "File of the state; - is standard input");
  command->add_flag("--state-json", state.is_json, "The state is JSON, not text");
}

void add_decide(CLI::App& app) {
  static Decide options;
  QuestionOptions& asked = options.questions;
  CLI::App* command = app.add_subcommand("decide", "Answer typed questions about a state");
  add_model_options(command, options.model);
  command->add_option("state", options.state.text, "What the questions are about");
  add_state_options(command, options.state);
  command->add_option("--questions", asked.file, "JSON file {id: definition}");
  takes_each(command, "--choice", asked.choices, "\"Question? | label: description | label\"");
  takes_each(command, "--score", asked.scores, "\"Question? | level 0 | level 1\"");
  takes_each(command, "--noul", asked.nouls, "\"Question?\", answered true or false");
  CLI::Option* lines =
      command->add_option("--requests", options.requests,
                          "JSON lines {\"state\", \"questions\"} instead; - is standard input");
  CLI::Option* row = command->add_option("--max-len", options.max_len, "Tokens of a row, at most")
                         ->check(CLI::Range(1, 8192));
  CLI::Option* head =
      command->add_option("--head-max-len", options.head_max_len, "Of question and options")
          ->check(CLI::Range(1, 8192));
  CLI::Option* whole =
      command->add_flag("--long", options.in_windows, "Read a state longer than a row in windows");
  whole->excludes(row)->excludes(head);
  command->add_option("--window", options.windows.window, "State tokens of a window")
      ->check(CLI::Range(1, 8192))
      ->needs(whole);
  command->add_option("--stride", options.windows.stride, "Tokens from one window to the next")
      ->check(CLI::Range(1, 8192))
      ->needs(whole);
  command->add_option("--lang", options.language, "Language of the state, for its temperatures");
  command->add_flag("--json", options.json, "Print JSON on a terminal too");
  command->add_flag("--rows", options.rows, "Add token ids, markers and logits to the JSON")
      ->excludes(whole);
  command->add_flag("--spans", options.spans, "Print where the time went to standard error")
      ->excludes(whole);
  for (const char* own :
       {"state", "--state-file", "--state-json", "--questions", "--choice", "--score", "--noul",
        "--max-len", "--head-max-len", "--long", "--lang", "--spans"}) {
    lines->excludes(command->get_option(own));  // a line says these for itself
  }
  command->callback([] { decide(options); });
}

void add_tokenize(CLI::App& app) {
  static Tokenize options;
  CLI::App* command = app.add_subcommand("tokenize", "Print the token rows of a request");
  command->add_option("--tokenizer", options.tokenizer, "Folder with tokenizer.json")->required();
  CLI::Option* questions =
      command->add_option("--questions", options.questions, "JSON file {id: definition}");
  command->add_option("--state", options.state.text, "What the questions are about");
  add_state_options(command, options.state);
  command->add_option("--max-len", options.max_len, "Tokens of a row")
      ->check(CLI::Range(1, 8192))
      ->needs(questions)
      ->capture_default_str();
  command->add_option("--head-max-len", options.head_max_len, "Of question and options")
      ->check(CLI::Range(1, 8192))
      ->needs(questions)
      ->capture_default_str();
  command->add_flag("--ids", options.ids, "One line of numbers a row");
  command->callback([] { tokenize(options); });
}

void add_serve(CLI::App& app, int& result) {
  static Serve options;
  CLI::App* command =
      app.add_subcommand("serve", "Answer POST /v1/systemone and GET /health over HTTP");
  add_model_options(command, options.model);
  command->add_option("--host", options.host, "Address to bind")->capture_default_str();
  takes_count(command, "--port", options.port, 0, 65535, "0 = any free one");
  command->add_option("--key-file", options.key_file, "File with the bearer key to ask for");
  command->add_flag("--open", options.open, "Bind elsewhere than loopback without a key");
  takes_count(command, "--max-in-flight", options.most_waiting, 1, 4096,
              "Requests waiting or running");
  takes_count(command, "--max-connections", options.most_connections, 1, 4096, "Open connections");
  takes_seconds(command, "--timeout", options.timeout_s, 0.1,
                "Seconds for a client to send a request");
  takes_seconds(command, "--keep-alive", options.keep_alive_s, 0.1,
                "Seconds a connection may lie idle");
  takes_seconds(command, "--max-wait", options.most_wait_s, 0.1,
                "Seconds a request waits for the engine");
  takes_seconds(command, "--drain", options.drain_s, 0.0,
                "Seconds for running requests after SIGTERM");
  command->callback([&result] { result = serve(options) ? 0 : kBroken; });
}

void add_time(CLI::App& app) {
  static TimeForward options;
  CLI::App* command =
      app.add_subcommand("time", "Time forward passes, for work on kernels; nothing to publish");
  command->add_option("checkpoint", options.network.checkpoint, "Checkpoint folder")->required();
  takes_each(command, "--shape", options.network.shapes, "ROWSxTOKENS, as often as you like")
      ->required();
  takes_each(command, "--factor", options.factors, "FACTOR=LEVEL, as often as you like");
  takes_backend(command, options.backend);
  command->add_option("--precision", options.precision, "bf16 or fp32")
      ->check(CLI::IsMember({"bf16", "fp32"}))
      ->capture_default_str();
  command->add_option("--device", options.network.device, "GPU")->check(CLI::Range(0, 255));
  takes_threads(command, options.threads);
  takes_count(command, "--count", options.count, 5, 100000, "Passes timed");
  command->add_flag("--operations", options.by_operation, "Also each operation by itself");
  command->callback([] { time_forward(options); });
}

void add_profile(CLI::App& app) {
  static ProfileOptions options;
  CLI::App* command =
      app.add_subcommand("profile", "Say where the time of a request goes, operation by operation");
  command->add_option("checkpoint", options.checkpoint, "Checkpoint folder")->required();
  command->add_option("--input", options.input, "A workload's input as JSON")->required();
  command->add_option("--fixtures", options.fixtures, "Folder of the fixtures")
      ->capture_default_str();
  takes_backend(command, options.backend);
  takes_each(command, "--factor", options.levels, "FACTOR=LEVEL, as often as you like");
  takes_each(command, "--beside", options.beside,
             "FACTOR=LEVEL whose operations are timed too, with a count of 0");
  command->add_option("--out", options.out, "Writes OUT.json and OUT.md")->required();
  command->callback([] { profile(options); });
}

// It takes no options of its own: the protocol configures it.
void add_worker(CLI::App& app, int& result) {
  static bool describes = false;
  CLI::App* command =
      app.add_subcommand("worker", "Speak abba.worker/1 on stdin and stdout (started by abba)");
  command->add_flag("--describe", describes, "Print the answer to hello, touch no device, end");
  command->callback([&result] {
    TextWorker worker;
    char name[] = "worker";
    char flag[] = "--describe";
    char* words[] = {name, flag, nullptr};
    result = abba_worker::run(worker, describes ? 2 : 1, words);
  });
}

// In the order of the help, each batch below its heading.
void add_commands(CLI::App& app, int& result) {
  const auto head = [&](const char* heading) {
    for (CLI::App* command : app.get_subcommands({})) {
      if (command->get_group() == "Subcommands") command->group(heading);
    }
  };
  add_decide(app);
  add_serve(app, result);
  add_tokenize(app);
  head("Answers");
  add_checkpoint_commands(app, result);
  add_compare_reference(app, result);
  head("Checkpoints and correctness");
  add_profile(app);
  add_time(app);
  app.add_subcommand("variants", "List factors, levels and their exactness")->callback([] {
    std::fputs(variants_text().c_str(), stdout);
  });
  head("Speed");
  add_device_commands(app);
  head("Machine");
  add_worker(app, result);
  head("For abba");
}

// CLI11's sentence with the help of the command that was meant; it would only say that a command is
// missing where one is not known.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string help = "abba-laya";
  const CLI::App* innermost = &app;
  int depth = 1;
  while (!innermost->get_subcommands().empty()) {
    innermost = innermost->get_subcommands().front();
    help += " " + innermost->get_name();
    ++depth;
  }
  std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      !innermost->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    const bool is_named = depth < argc && argv[depth][0] != '-';
    what = is_named ? '"' + std::string(argv[depth]) + "\" is no command" : "name a command";
  }
  return what + "; see `" + help + " --help`";
}

}  // namespace

int run_command_line(int argc, char** argv) {
  int result = 0;
  CLI::App app("The Laya decision models on any CPU; a worker for abba and a command line.",
               "abba-laya");
  app.set_version_flag("--version",
                       std::string("abba-laya " ABBA_VERSION " ") + base::source_stamp());
  app.require_subcommand(1);
  app.footer(
      "Start with: abba-laya checkpoint make --config tiny --out DIR, abba-laya decide DIR TEXT.\n"
      "`abba-laya COMMAND --help` says what a command takes.\n\n"
      "Exit codes: 0 done; 2 bad usage or input; 4 no such device or address to be had; 5 broken;\n"
      "7 a checkpoint or a comparison does not check out.");
  add_commands(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      return app.exit(error);
    }
    const std::string sentence = usage_error(app, error, argc, argv);
    complain(sentence);
    return kBadUsage;
  } catch (const base::Error& error) {
    complain(error.what());
    return exit_code(error.code());
  } catch (const std::exception& error) {
    complain(error.what());
    return kBroken;
  }
  return result;
}

}  // namespace abba::laya
