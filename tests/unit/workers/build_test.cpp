// Builds of revisions, on a small repository of their own.
#include "harness/workers/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/workers/process.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using base::Error;
using testing::HasSubstr;

class BuildTest : public testing::Test {
 protected:
  BuildTest() {
    git({"init", "-q", "-b", "main"});
    commit("one");
    git({"checkout", "-q", "-b", "topic"});
    commit("two");
    git({"checkout", "-q", "main"});
    commit("three");
    git({"checkout", "-q", "topic"});
    recipe_.commands = {{"sh", "-c",
                         "echo x >> " + scratch_.file("builds") +
                             "; (echo '#!/bin/sh'; echo echo $(cat say) $(ls)) > {build}/program"},
                        {"chmod", "+x", "{build}/program"}};
    recipe_.executable = "program";
  }
  std::string git(std::vector<std::string> arguments) {
    ProcessSpec spec;
    spec.argv = {"git", "-C", repo_.path(), "-c", "user.name=t", "-c", "user.email=t"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    const CommandResult result = run_command(spec, 60);
    EXPECT_EQ(result.exit_code, 0) << base::join(result.stderr_tail, "\n");
    return result.output;
  }
  void write(const std::string& name, const std::string& text) {
    base::write_file_atomically(repo_.file(name), text);
  }
  void commit(const std::string& word) {
    write("say", word);
    write(".gitignore", ".abba/\nignored\n");
    git({"add", "."});
    git({"commit", "-q", "-m", word});
  }
  BuiltRevision build(const std::string& rev) {
    return build_revision(repo_.path(), rev, recipe_, "toolchain 1");
  }
  static std::string output(const BuiltRevision& built) {
    ProcessSpec spec;
    spec.argv = {built.executable};
    return run_command(spec, 10).output;
  }
  std::size_t builds() { return base::read_file(scratch_.file("builds")).size() / 2; }

  TemporaryFolder repo_;
  TemporaryFolder scratch_;
  record::BuildRecipe recipe_;
};

TEST_F(BuildTest, EachRevisionIsBuiltFromItsOwnFiles) {
  EXPECT_EQ(output(build("HEAD")), "two say\n");
  EXPECT_EQ(output(build("main")), "three say\n");
  EXPECT_EQ(output(build("merge-base(main)")), "one say\n");
  EXPECT_EQ(output(build("main~1")), "one say\n");
  EXPECT_EQ(build("HEAD").commit, std::string(base::trim(git({"rev-parse", "HEAD"}))));
  EXPECT_EQ(build("HEAD").tree, std::string(base::trim(git({"rev-parse", "HEAD^{tree}"}))));
  EXPECT_EQ(tree_of_revision(repo_.path(), "main~1"),
            tree_of_revision(repo_.path(), "merge-base(main)"));
}

TEST_F(BuildTest, ADirtyTreeIsBuiltAsItIsAndNotTouched) {
  write("say", "dirty");
  write("new file", "untracked");
  write("ignored", "secret");
  git({"add", "say"});
  write("say", "dirtier");
  const std::string status = git({"status", "--porcelain"});
  const std::string index = git({"ls-files", "--stage"});
  EXPECT_EQ(output(build("worktree")), "dirtier new file say\n");
  EXPECT_EQ(git({"status", "--porcelain"}), status);
  EXPECT_EQ(git({"ls-files", "--stage"}), index);
  EXPECT_EQ(git({"worktree", "list"}).find(".abba"), std::string::npos) << "nothing is left";
  EXPECT_EQ(output(build("HEAD")), "two say\n");
  EXPECT_TRUE(build("worktree").cached);
  write("say", "dirtiest");
  EXPECT_FALSE(build("worktree").cached);
}

TEST_F(BuildTest, TheCacheKnowsTreeRecipeAndToolchain) {
  EXPECT_FALSE(build("HEAD").cached);
  EXPECT_TRUE(build("topic").cached) << "the same tree by another name";
  EXPECT_EQ(builds(), 1U);
  EXPECT_FALSE(build_revision(repo_.path(), "HEAD", recipe_, "toolchain 2").cached);
  recipe_.commands.push_back({"true"});
  EXPECT_FALSE(build("HEAD").cached);
  EXPECT_EQ(builds(), 3U);
  const BuiltRevision built = build("HEAD");
  EXPECT_THAT(built.executable, HasSubstr("/.abba/builds/" + built.tree.substr(0, 8) + "-"));
}

TEST_F(BuildTest, AnUnfinishedBuildIsBegunAgain) {
  const BuiltRevision built = build("HEAD");
  const std::filesystem::path folder = std::filesystem::path(built.executable).parent_path();
  std::filesystem::remove(folder / "abba-build.json");
  EXPECT_FALSE(build("HEAD").cached);
  std::filesystem::remove(built.executable);
  EXPECT_FALSE(build("HEAD").cached);
  EXPECT_EQ(output(build("HEAD")), "two say\n");
}

TEST_F(BuildTest, HooksDoNotRun) {
  write(".git/hooks/post-checkout", "#!/bin/sh\ntouch " + scratch_.file("hooked"));
  std::filesystem::permissions(repo_.file(".git/hooks/post-checkout"),
                               std::filesystem::perms::owner_all);
  build("HEAD");
  EXPECT_FALSE(std::filesystem::exists(scratch_.file("hooked")));
}

TEST_F(BuildTest, RefusalsSayWhatIsWrong) {
  const auto refusal = [&](const std::string& rev) -> std::string {
    try {
      build(rev);
      return "built";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refusal("no-such-branch"), HasSubstr("no revision"));
  EXPECT_THAT(refusal(""), HasSubstr("no revision"));
  EXPECT_THAT(refusal("--exec=x"), HasSubstr("no revision"));
  EXPECT_THAT(refusal("merge-base(--all)"), HasSubstr("no revision"));
  EXPECT_THAT(refusal("merge-base(nowhere)"), HasSubstr("git merge-base failed"));
  recipe_.executable = "elsewhere";
  EXPECT_THAT(refusal("HEAD"), HasSubstr("not there"));
  recipe_.commands = {{"sh", "-c", "echo to stdout; echo to stderr >&2; exit 5"}};
  EXPECT_THAT(refusal("HEAD"), HasSubstr("exit code 5: to stdout"));
  EXPECT_THAT(refusal("HEAD"), HasSubstr("to stderr"));
  recipe_.executable = "";
  EXPECT_THAT(refusal("HEAD"), HasSubstr("names no executable"));
  EXPECT_THROW(tree_of_revision(scratch_.path(), "HEAD"), Error) << "not a repository";
}

TEST(Toolchain, HasAnId) {
  EXPECT_EQ(toolchain_id().size(), 64U);
  EXPECT_EQ(toolchain_id(), toolchain_id());
}

}  // namespace
}  // namespace abba::workers
