// Registration in a real git repository: what voids it, what does not, what cannot be compared.
#include "harness/manifest/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/manifest/command.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/source_tree.h"
#include "tests/unit/manifest/example.h"
#include "tests/unit/temporary_folder.h"

namespace abba::manifest::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'795'964'851;

const std::string kManifest =
    with(with(kNineLines, R"("id": "nine")",
              R"("id": "nine", "files": [{"name": "weights", "path": "data/weights.bin"}])"),
         R"({"n": 100})", R"({"file": "data/in.json"})");

// A project with a source file, a README, data and a manifest, committed.
class Lock : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("p/abba.json", "{}");
    folder_.write("p/src/main.c", "int main(void) { return 0; }\n");
    folder_.write("p/README.md", "read me\n");
    folder_.write("p/src/notes.md", "notes\n");
    folder_.write("p/data/weights.bin", "weights");
    folder_.write("p/data/in.json", "[1]");
    folder_.write("p/manifests/m.json", kManifest);
    git(root(), {"init", "-q", "-b", "main"});
    commit("start");
  }

  fs::path root() const { return folder_.path() / "p"; }

  static std::string git(const fs::path& at, std::vector<std::string> words) {
    std::vector<std::string> argv = {
        "git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"};
    argv.insert(argv.end(), words.begin(), words.end());
    const CommandResult result = run_command(argv, at);
    EXPECT_EQ(result.exit_code, 0) << base::join(argv, " ") << ": " << result.err;
    return result.out;
  }
  void commit(const std::string& message) {
    git(root(), {"add", "-A"});
    git(root(), {"commit", "-q", "-m", message});
  }

  static record::Manifest read(const fs::path& at) {
    return parse_file_or_throw((at / "manifests/m.json").string());
  }
  Registered enter(const std::string& supersede = "", std::int64_t now = kNow) {
    RegisterOptions options;
    options.unix_seconds = now;
    options.supersede = supersede;
    return register_manifest(read(root()), find_project(root()), options);
  }
  static LockCheck check(const fs::path& at) {
    const std::string lock = lock_path(at / "manifests/m.json").string();
    return check_lock(read(at), load_lock(lock), find_project(at), {});
  }
  static std::vector<std::string> names(const LockCheck& found) {
    std::vector<std::string> result;
    for (const Mismatch& mismatch : found.mismatches) result.push_back(mismatch.name);
    return result;
  }
  std::string refusal(const std::string& supersede = "") {
    try {
      enter(supersede);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::ErrorCode::kMismatch);
      return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return {};
  }

  LedgerReading ledger() const { return read_ledger(ledger_folder(find_project(root()))); }

  TemporaryFolder folder_;
};

TEST_F(Lock, CommittingItEditingDocumentsAndCloningElsewhereAreAccepted) {
  const Registered registered = enter();
  EXPECT_EQ(registered.registration.lock_digest.size(), 64U);
  EXPECT_TRUE(check(root()).mismatches.empty());
  commit("lock");
  EXPECT_TRUE(check(root()).mismatches.empty());
  folder_.write("p/README.md", "read me twice\n");
  folder_.write("p/src/notes.md", "more notes\n");
  EXPECT_TRUE(check(root()).mismatches.empty());
  folder_.write("p/results/r.sqlite", "a result");
  folder_.write("p/reports/r.md", "a report");
  commit("documents and results");
  EXPECT_TRUE(check(root()).mismatches.empty());
  const fs::path clone = folder_.path() / "elsewhere";
  git(folder_.path(), {"clone", "-q", root().string(), clone.string()});
  const LockCheck found = check(clone);
  EXPECT_THAT(names(found), ::testing::IsEmpty());
  EXPECT_THAT(found.notes, ::testing::IsEmpty());
  ASSERT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.files[0].path, clone / "data/weights.bin");
}

TEST_F(Lock, AChangedSourceIsNamed) {
  enter();
  folder_.write("p/src/main.c", "int main(void) { return 1; }\n");
  const LockCheck found = check(root());
  ASSERT_THAT(names(found), ::testing::ElementsAre("tree/A", "tree/B"));
  EXPECT_EQ(found.mismatches[0].detail, "src/main.c");
  EXPECT_THAT(text(found.mismatches[0]), HasSubstr("src/main.c"));
  commit("changed");  // committed or not makes no difference
  EXPECT_THAT(names(check(root())), ::testing::ElementsAre("tree/A", "tree/B"));
  folder_.write("p/src/main.c", "int main(void) { return 0; }\n");
  EXPECT_TRUE(check(root()).mismatches.empty());
}

TEST_F(Lock, AnAddedOrRemovedSourceIsNamed) {
  enter();
  fs::remove(root() / "src/main.c");
  EXPECT_EQ(check(root()).mismatches.at(0).detail, "src/main.c");
  git(root(), {"checkout", "-q", "--", "src/main.c"});
  folder_.write("p/src/more.c", "int more;\n");
  git(root(), {"add", "src/more.c"});
  EXPECT_EQ(check(root()).mismatches.at(0).detail, "src/more.c");
}

TEST_F(Lock, AChangedFileOrInputIsNamed) {
  folder_.write("p/.gitignore", "/data/\n");  // data outside the tree: only its hash tells
  git(root(), {"rm", "-q", "-r", "--cached", "data"});
  commit("data out");
  enter();
  folder_.write("p/data/weights.bin", "weightz");
  EXPECT_THAT(names(check(root())), ::testing::ElementsAre("file/weights"));
  folder_.write("p/data/weights.bin", "weights");
  folder_.write("p/data/in.json", "[2]");
  EXPECT_THAT(names(check(root())), ::testing::ElementsAre("input/w1"));
}

TEST_F(Lock, AChangedManifestIsNamedByPointer) {
  enter();
  folder_.write("p/manifests/m.json", with(kManifest, "\"n\": 200", "\"n\": 201"));
  const LockCheck found = check(root());
  EXPECT_THAT(names(found), ::testing::ElementsAre("manifest", "input/w2"));
  EXPECT_EQ(found.mismatches[0].detail, "/workloads/1/input/n");
  folder_.write("p/manifests/m.json", "// a comment\n" + kManifest);
  EXPECT_TRUE(check(root()).mismatches.empty());
}

TEST_F(Lock, RegisteringAgainChangesNothing) {
  const Registered first = enter();
  const std::string bytes = base::read_file(first.lock_file);
  const Registered second = enter("", kNow + 100);
  EXPECT_TRUE(second.existed);
  EXPECT_EQ(second.registration.lock_digest, first.registration.lock_digest);
  EXPECT_EQ(base::read_file(first.lock_file), bytes);
  EXPECT_EQ(ledger().events.size(), 1U);
}

TEST_F(Lock, ADifferentOneIsReplacedOnlyByName) {
  const Registered first = enter();
  folder_.write("p/manifests/m.json", with(kManifest, "B is faster", "B is slower"));
  const std::string digest = first.registration.lock_digest;
  EXPECT_THAT(refusal(), HasSubstr("--supersede " + digest.substr(0, 8)));
  EXPECT_THAT(refusal("00000000"), HasSubstr("not the one"));
  EXPECT_THAT(refusal(digest.substr(0, 4)), HasSubstr("not the one"));
  EXPECT_EQ(load_lock(first.lock_file).lock_digest, digest);  // untouched
  const Registered second = enter(digest.substr(0, 8), kNow + 5);
  EXPECT_EQ(second.registration.supersedes, digest);
  EXPECT_THAT(second.event.parents, ::testing::ElementsAre(first.event.digest));
  EXPECT_TRUE(check(root()).mismatches.empty());
}

TEST_F(Lock, AnEditedLockIsRefused) {
  const Registered registered = enter();
  const std::string bytes = base::read_file(registered.lock_file);
  folder_.write("p/manifests/m.lock.json", with(bytes, "\"B is faster\"", "\"B is slower\""));
  try {
    (void)load_lock(registered.lock_file);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kMismatch);
  }
  folder_.write("p/manifests/m.lock.json", bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW((void)load_lock(registered.lock_file), base::Error);
}

TEST_F(Lock, ADeletedLockIsNotForgotten) {
  const Registered first = enter();
  const std::string digest = first.registration.lock_digest;
  const std::string bytes = base::read_file(first.lock_file);
  fs::remove(first.lock_file);
  EXPECT_THAT(refusal(), HasSubstr("--supersede " + digest.substr(0, 8)));
  EXPECT_THAT(refusal("00000000"), HasSubstr("is gone"));
  folder_.write("p/manifests/m.json", with(kManifest, R"("id": "nine")", R"("id": "nein")"));
  EXPECT_THAT(refusal(), HasSubstr("is gone"));  // another id in the same file
  folder_.write("p/manifests/m.json", kManifest);
  folder_.write("p/manifests/m.lock.json", bytes);
  EXPECT_TRUE(enter().existed);
  fs::remove(first.lock_file);
  EXPECT_EQ(enter(digest.substr(0, 8), kNow + 5).registration.supersedes, digest);
  folder_.write("p/manifests/other.json", kManifest);  // a copy is no deletion
  RegisterOptions options;
  options.unix_seconds = kNow + 9;
  EXPECT_FALSE(register_manifest(parse_file_or_throw((root() / "manifests/other.json").string()),
                                 find_project(root()), options)
                   .existed);
}

TEST_F(Lock, ADamagedOrForgetfulLedgerRefusesRegistration) {
  const Registered first = enter();
  const fs::path event = ledger_folder(find_project(root())) / first.event.file;
  const std::string bytes = base::read_file(event.string());
  base::write_file_atomically(event.string(), with(bytes, "\"registered\"", "\"withdrawn\""));
  EXPECT_THAT(refusal(), HasSubstr("was changed"));
  fs::remove(event);
  EXPECT_THAT(refusal(), HasSubstr("not in the ledger"));
  base::write_file_atomically(event.string(), bytes);
  EXPECT_TRUE(enter().existed);
}

TEST_F(Lock, FixedHashesRefuseRegistration) {
  folder_.write("p/manifests/m.json", with(kManifest, R"("id": "nine")",
                                           R"("id": "nine", "hashes": {"file/weights": ")" +
                                               std::string(64, '1') + "\"}"));
  EXPECT_THAT(refusal(), HasSubstr("file/weights"));
  EXPECT_FALSE(fs::exists(root() / "manifests/m.lock.json"));
  EXPECT_FALSE(fs::exists(root() / "manifests/ledger"));
}

TEST_F(Lock, NothingIsHalfWrittenWhenTheLedgerCannotBe) {
  folder_.write("p/manifests/ledger", "a file where the folder should be");
  EXPECT_THROW(enter(), base::Error);
  EXPECT_FALSE(fs::exists(root() / "manifests/m.lock.json"));
}

TEST_F(Lock, WithoutGitTheTreeIsNotComparedAndThatIsSaid) {
  enter();
  fs::remove_all(root() / ".git");
  folder_.write("p/src/main.c", "changed");
  const LockCheck found = check(root());
  EXPECT_THAT(names(found), ::testing::IsEmpty());
  EXPECT_THAT(found.notes, ::testing::Contains(HasSubstr("source trees not hashed")));
  folder_.write("p/data/weights.bin", "changed");
  EXPECT_THAT(names(check(root())), ::testing::ElementsAre("file/weights"));
}

TEST_F(Lock, RevisionsAreHashedAsTrees) {
  const Project project = find_project(root());
  const SourceTree clean = source_tree(project, "", {});
  ASSERT_TRUE(clean.available);
  EXPECT_FALSE(clean.dirty);
  EXPECT_EQ(source_tree(project, "HEAD", {}).digest, clean.digest);
  EXPECT_EQ(source_tree(project, "merge-base(main)", {}).digest, clean.digest);
  folder_.write("p/src/main.c", "int main(void) { return 2; }\n");
  const SourceTree dirty = source_tree(project, "worktree", {});
  EXPECT_TRUE(dirty.dirty);
  EXPECT_NE(dirty.digest, clean.digest);
  EXPECT_EQ(source_tree(project, "HEAD", {}).digest, clean.digest);
  commit("two");
  EXPECT_EQ(source_tree(project, "main", {}).digest, dirty.digest);
  EXPECT_THROW((void)source_tree(project, "no-such-branch", {}), base::Error);
  EXPECT_THROW((void)source_tree(project, "--all", {}), base::Error);
}

TEST_F(Lock, DeclaredSourcesAreTheOnesThatCount) {
  const Project project = find_project(root());
  const std::string before = source_tree(project, "", {"src"}).digest;
  folder_.write("p/data/in.json", "[9]");
  EXPECT_EQ(source_tree(project, "", {"src"}).digest, before);
  folder_.write("p/README.md", "changed\n");
  EXPECT_NE(source_tree(project, "", {"src", "README.md"}).digest,
            source_tree(project, "HEAD", {"src", "README.md"}).digest);
}

TEST_F(Lock, TwoBranchesThatRegisterMergeWithoutConflict) {
  folder_.write("p/manifests/n.json", with(kManifest, R"("id": "nine")", R"("id": "ten")"));
  commit("second manifest");
  const auto register_on = [&](const std::string& branch, const std::string& name) {
    git(root(), {"checkout", "-q", "-b", branch, "main"});
    RegisterOptions options;
    options.unix_seconds = kNow;
    register_manifest(parse_file_or_throw((root() / "manifests" / name).string()),
                      find_project(root()), options);
    commit(branch);
  };
  register_on("one", "m.json");
  register_on("two", "n.json");
  git(root(), {"merge", "-q", "-m", "both", "one"});
  const LedgerReading both = ledger();
  EXPECT_EQ(both.events.size(), 2U);
  EXPECT_EQ(both.heads.size(), 2U);
  EXPECT_THAT(both.problems, ::testing::IsEmpty());
  EXPECT_TRUE(check(root()).mismatches.empty());
  const auto joined =
      append_event(ledger_folder(find_project(root())), record::LedgerEventKind::kRunStarted,
                   both.events[0].lock_digest, {}, kNow + 9);
  EXPECT_EQ(joined.parents.size(), 2U);
  EXPECT_THAT(graph(ledger()), HasSubstr("* " + joined.digest.substr(0, 8)));
}

}  // namespace
}  // namespace abba::manifest::testing
