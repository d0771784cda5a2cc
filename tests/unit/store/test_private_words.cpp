#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/text.h"
#include "harness/store/database.h"
#include "harness/store/private_words.h"
#include "harness/store/redact.h"
#include "harness/store/xz.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(PrivateWords, ArePathsOfThisMachineOnly) {
  EXPECT_THAT(private_words("worker A: /home/ann/lab/w.py ended (see /home/ann/lab/w.py)."),
              ElementsAre("/home/ann/lab/w.py"));
  EXPECT_THAT(private_words("\"/srv/a-b/c\", '/tmp/x/y.'"), ElementsAre("/srv/a-b/c", "/tmp/x/y"));
  EXPECT_THAT(private_words("file:///home/ann/x"), ElementsAre("/home/ann/x"));
  EXPECT_THAT(private_words("/usr/bin/python3 -B /sys/x/y /proc/1/stat 3/4 a/b /w1 https://a.b/c"),
              IsEmpty());
}

TEST(PrivateWords, AreReplacedWhole) {
  EXPECT_EQ(replace_word("/a/b /a/bc x/a/b /a/b.", "/a/b", "P"), "P /a/bc x/a/b P.");
  EXPECT_EQ(replace_word("box, boxer, the-box", "box", "H"), "H, boxer, the-box");
}

TEST(PrivateWords, MarksAreFilledOnceAndWithinBounds) {
  const auto text_of = [](const std::string& key) {
    return key == "k" ? std::string("{private:k}!") : std::string();
  };
  EXPECT_EQ(fill_private_marks("a {private:k} {private:other} {private:", text_of),
            "a {private:k}! {private:other} {private:");
  const auto large = [](const std::string&) { return std::string(40'000, 'x'); };
  std::string marks;
  for (int i = 0; i < 1000; ++i) marks += "{private:k}";
  EXPECT_LT(fill_private_marks(marks, large).size(), 100'000U);
}

// What programs said is in the chain, so its private words are stored apart; a redacted copy holds
// none of them in any byte.
TEST(PrivateWords, LeaveARedactedFileWhereverTheyStood) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  record::RunRecord run = testing::random_run(5);
  const std::string secret = "/home/someone/secret-project/worker.py";
  run.notes.back().text = "worker A: " + secret + " ended with 3 on host-of-someone";
  run.passes.back().blocks.back().failed = true;
  run.passes.back().blocks.back().failure = "worker A: " + secret + " hangs";
  record::LoadReply load = run.load.at("A");
  load.settings = base::Json::object({{"library", secret}, {secret, 1}});
  load.device = base::parse_json(R"({"files": ["host-of-someone:)" + secret + R"(", 3]})", "d");
  record::PrepareReply prepared = run.prepared.at("A/w1");
  prepared.facts = base::Json::object({{"cache", "kept in " + secret}});
  record::WorkerHello hello = run.hello.at("A");
  hello.facts = base::Json::object({{"built in", secret}});
  const record::Identity identity{"runtime/A", "library", secret};
  {
    RunFile file = testing::create_run(path, run);
    file.commit_facts("host", {.private_strings = {{"host", "host-of-someone"}}});
    file.commit_facts("notes", {.notes = {run.notes.back()}});
    file.commit_facts("answers", {.hello = {{"A", hello}},
                                  .load = {{"A", load}},
                                  .prepared = {{"A/w1", prepared}},
                                  .identity = {identity},
                                  .environment = {{-1, 1, "before", "placement", 0, "", secret}}});
    for (const record::Pass& pass : run.passes) testing::commit_pass(file, run, pass);
    record::Analysis analysis = testing::random_analysis(5);
    analysis.verdicts[0].reason = "N015: " + run.passes.back().blocks.back().failure;
    file.commit_analysis(analysis);
    file.finish(record::RunState::kBroken, "stopped by " + secret, "2026-11-29T16:00:00Z");
  }
  const record::RunRecord read = read_run(path);
  EXPECT_EQ(read.notes.back().text, run.notes.back().text);
  EXPECT_EQ(read.passes.back().blocks.back().failure, run.passes.back().blocks.back().failure);
  EXPECT_EQ(read.state_text, "stopped by " + secret);
  EXPECT_THAT(read_analysis(path)->verdicts[0].reason, HasSubstr(secret));
  EXPECT_EQ(read.load.at("A").settings, load.settings);
  EXPECT_EQ(read.load.at("A").device, load.device);
  EXPECT_EQ(read.prepared.at("A/w1").facts, prepared.facts);
  EXPECT_EQ(read.hello.at("A").facts, hello.facts);
  EXPECT_EQ(read.identity.back().value, secret);
  const std::string copy = folder.file("copy.sqlite");
  write_redacted(path, copy);
  const std::string bytes = base::read_file(copy);
  EXPECT_THAT(base::read_file(path), HasSubstr("secret-project"));  // the canary
  EXPECT_THAT(bytes, Not(HasSubstr("secret-project")));
  EXPECT_THAT(bytes, Not(HasSubstr("host-of-someone")));
  EXPECT_THAT(read_run(copy).state_text, HasSubstr("{private:text/1}"));
  // A compressed file gives the same copy, also one of the first layout.
  compress_run(path, path + ".xz");
  write_redacted(path + ".xz", folder.file("copy2.sqlite"));
  EXPECT_EQ(base::read_file(folder.file("copy2.sqlite")), bytes);
  const std::string old = ABBA_RESULTS "/quickstart/20261129T171303Z-82a87f31.sqlite.xz";
  write_redacted(old, folder.file("old.sqlite"));
  EXPECT_EQ(read_run(folder.file("old.sqlite")).head_digest, read_run(old).head_digest);
}

}  // namespace
}  // namespace abba::store
