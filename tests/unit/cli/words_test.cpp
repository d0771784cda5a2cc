// What the command line is turned into, and what is said: all without a process.
#include <gtest/gtest.h>

#include <vector>

#include "harness/cli/command_words.h"
#include "harness/cli/completion_script.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/options.h"
#include "harness/cli/progress_line.h"
#include "harness/record/calibration_notes.h"
#include "harness/run/notes.h"
#include "harness/stats/notes.h"

namespace abba::cli {
namespace {

using base::ErrorCode;

Parsed parse(std::vector<const char*> words) {
  words.insert(words.begin(), "abba");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(CommandWords, splits_as_a_shell_without_its_powers) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(command_words("a  b\tc"), (Words{"a", "b", "c"}));
  EXPECT_EQ(command_words("run 'two words' \"and $HOME\" \\ x"),
            (Words{"run", "two words", "and $HOME", " x"}));
  EXPECT_EQ(command_words("a ''"), (Words{"a", ""}));
  EXPECT_EQ(command_words("'a\\b'"), (Words{"a\\b"}));
  EXPECT_THROW(command_words("a 'b"), base::Error);
  EXPECT_THROW(command_words("  "), base::Error);
}

TEST(ExitCode, is_the_documented_one) {
  EXPECT_EQ(exit_code(ErrorCode::kBadInput), 2);
  EXPECT_EQ(exit_code(ErrorCode::kMismatch), 3);
  EXPECT_EQ(exit_code(ErrorCode::kPreflight), 4);
  EXPECT_EQ(exit_code(ErrorCode::kBroken), 5);
  EXPECT_EQ(exit_code(ErrorCode::kEvidence), 7);
}

TEST(Options, each_command_fills_its_own) {
  auto parsed = parse({"run", "m.json", "--register", "--output", "o.sqlite"});
  EXPECT_EQ(parsed.exit_code, -1) << parsed.text;
  EXPECT_EQ(parsed.options.command, "run");
  EXPECT_EQ(parsed.options.manifest, "m.json");
  EXPECT_TRUE(parsed.options.do_register);
  EXPECT_FALSE(parsed.options.resume);
  EXPECT_EQ(parsed.options.output, "o.sqlite");

  parsed = parse({"worker-check", "--file", "a=b", "--file", "c=d", "./worker", "x"});
  EXPECT_EQ(parsed.options.files, (std::vector<std::string>{"a=b", "c=d"}));
  EXPECT_EQ(parsed.options.words, (std::vector<std::string>{"./worker", "x"}));
  parsed = parse({"worker-check", "--", "./worker", "--flag"});
  EXPECT_EQ(parsed.options.words, (std::vector<std::string>{"./worker", "--flag"}));
  parsed = parse({"try", "./old --x", "./new"});
  EXPECT_EQ(parsed.options.words, (std::vector<std::string>{"./old --x", "./new"}));
  parsed = parse({"laya", "decide", "--json", "-x", "--help"});
  EXPECT_EQ(parsed.exit_code, -1) << parsed.text;
  EXPECT_EQ(parsed.options.words, (std::vector<std::string>{"decide", "--json", "-x", "--help"}));
}

TEST(Options, resume_takes_a_file_or_none) {
  auto parsed = parse({"run", "m.json", "--resume"});
  EXPECT_TRUE(parsed.options.resume) << parsed.text;
  EXPECT_EQ(parsed.options.resume_file, "");
  parsed = parse({"run", "m.json", "--resume", "r.sqlite"});
  EXPECT_TRUE(parsed.options.resume);
  EXPECT_EQ(parsed.options.resume_file, "r.sqlite");
}

TEST(Options, mistakes_are_one_sentence_with_exit_code_2) {
  const std::vector<std::vector<const char*>> mistakes = {{},
                                                          {"frobnicate"},
                                                          {"check"},
                                                          {"check", "a", "b"},
                                                          {"run", "m.json", "--frob"},
                                                          {"try", "one"},
                                                          {"plan", "m.json", "--start-s", "soon"}};
  for (const auto& words : mistakes) {
    const auto parsed = parse(words);
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_EQ(parsed.text.find('\n'), std::string::npos) << parsed.text;
    EXPECT_NE(parsed.text.find("--help"), std::string::npos) << parsed.text;
  }
}

TEST(Options, help_and_version_are_no_mistakes) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  EXPECT_EQ(parse({"run", "--help"}).exit_code, 0);
  EXPECT_NE(parse({"run", "--help"}).text.find("--resume"), std::string::npos);
  EXPECT_EQ(parse({"--version"}).text.rfind("abba 0.", 0), 0U);
}

TEST(Completions, name_every_command) {
  const std::string script = completion_script("bash");
  for (const std::string command : {"check", "run", "worker-check", "explain"}) {
    EXPECT_NE(script.find(command), std::string::npos);
  }
  EXPECT_NE(script.find("--resume"), std::string::npos);
}

TEST(ProgressText, says_what_is_known) {
  run::Progress progress;
  progress.phase = "measured";
  progress.pass = 3;
  progress.passes = 12;
  progress.block = 2;
  progress.blocks = 8;
  progress.workload = "w1";
  progress.elapsed_s = 41.4;
  progress.rest_s = 3725;
  EXPECT_EQ(progress_text(progress), "measured 3/12 · block 2/8 · w1 · 0:41 · about 1:02:05 left");
  run::Progress early;
  early.phase = "preflight";
  EXPECT_EQ(progress_text(early), "preflight · 0:00");
}

TEST(ProgressLine, doubts_are_said_once_and_without_commands_to_the_terminal) {
  ProgressLine line(false, false);
  const record::Note note{"N056", record::Severity::kDoubt, "w1", "said \x1b[31mred\xc2\x9b"};
  ::testing::internal::CaptureStderr();
  line.note(note);
  line.note(note);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "abba: note N056 w1: said  [31mred \n");
}

TEST(RunId, is_the_moment_and_the_lock) {
  EXPECT_EQ(new_run_id(1'700'000'000, "0123456789abcdef"), "20231114T221320Z-01234567");
}

TEST(Notes, every_code_says_what_it_means_and_what_to_do) {
  const auto look = [](const auto& table) {
    ASSERT_FALSE(table.empty());
    for (const auto& note : table) {
      EXPECT_GT(note.explanation.size(), 20U) << note.code;
      EXPECT_GT(note.advice.size(), 10U) << note.code;
      EXPECT_TRUE(note.advice.ends_with(".")) << note.code << ": " << note.advice;
    }
  };
  look(stats::note_table());
  look(run::note_table());
  look(record::calibration_notes());
}

TEST(Notes, codes_are_ordered_and_none_is_used_twice) {
  std::string_view last;
  for (const auto table : {stats::note_table(), run::note_table(), record::calibration_notes()}) {
    for (const auto& note : table) {
      EXPECT_LT(last, note.code);
      last = note.code;
    }
  }
}

}  // namespace
}  // namespace abba::cli
