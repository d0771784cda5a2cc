// Files and inputs: made when missing, hashed whole, refused when other than fixed.
#include "harness/manifest/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/base/sha256.h"
#include "harness/manifest/command.h"
#include "tests/unit/manifest/example.h"
#include "tests/unit/temporary_folder.h"

namespace abba::manifest::testing {
namespace {

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  base::Random random(seed);
  std::string bytes(size, '\xee');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

base::ErrorCode code_of(const std::function<void()>& act, std::string* message = nullptr) {
  try {
    act();
  } catch (const base::Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return base::ErrorCode::kBroken;
}

class Files : public ::testing::Test {
 protected:
  Project project() { return find_project(folder_.path()); }
  std::vector<ResolvedFile> resolve(const std::string& file_entry,
                                    const MakeOptions& options = {}) {
    const record::Manifest manifest = parsed(
        with(kNineLines, R"("id": "nine")", R"("id": "nine", "files": [)" + file_entry + "]"));
    HashCache cache = open_hash_cache(project());
    return resolve_files(manifest, project(), cache, options);
  }
  TemporaryFolder folder_;
};

TEST_F(Files, HashesAFile) {
  const std::string bytes = random_bytes(5000, 1);
  folder_.write("abba.json", "{}");
  folder_.write("data/weights", bytes);
  const auto files = resolve(R"({"name": "w", "path": "data/weights"})");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].digest, base::sha256_hex(bytes));
  EXPECT_EQ(files[0].path, folder_.path() / "data/weights");
  EXPECT_FALSE(files[0].made);
}

TEST_F(Files, AFoldersDigestCoversNamesAndContents) {
  folder_.write("d/a", "1");
  folder_.write("d/sub/b", "2");
  const std::string before = resolve(R"({"name": "d", "path": "d"})")[0].digest;
  EXPECT_EQ(resolve(R"({"name": "d", "path": "d/"})")[0].digest, before);
  folder_.write("d/sub/b", "3");
  const std::string changed = resolve(R"({"name": "d", "path": "d"})")[0].digest;
  EXPECT_NE(changed, before);
  folder_.write("d/sub/b", "2");
  std::filesystem::rename(folder_.path() / "d/a", folder_.path() / "d/c");
  EXPECT_NE(resolve(R"({"name": "d", "path": "d"})")[0].digest, before);
}

TEST_F(Files, MakesWhatIsMissing) {
  const auto files = resolve(
      R"({"name": "w", "path": "made/w", "make": ["sh", "-c", "printf made > \"$0\"", "{path}"]})");
  EXPECT_TRUE(files[0].made);
  EXPECT_EQ(files[0].digest, base::sha256_hex("made"));
}

TEST_F(Files, StandsInTheProgram) {
  MakeOptions options;
  options.program = "/bin/touch";
  EXPECT_TRUE(
      resolve(R"({"name": "w", "path": "w", "make": ["{abba}", "{path}"]})", options)[0].made);
}

TEST_F(Files, RefusesWhatIsMadeDifferently) {
  std::string message;
  const auto act = [&] {
    resolve(R"({"name": "w", "path": "w", "make": ["touch", "{path}"], "sha256": ")" +
            std::string(64, '0') + "\"}");
  };
  EXPECT_EQ(code_of(act, &message), base::ErrorCode::kMismatch);
  EXPECT_THAT(message, ::testing::HasSubstr("the manifest fixes 0000"));
}

TEST_F(Files, SaysHowToGetAMissingFile) {
  std::string message;
  const auto missing = [&] {
    resolve(R"({"name": "w", "path": "w", "source": {"repo": "some/where", "revision": "r1"}})");
  };
  EXPECT_EQ(code_of(missing, &message), base::ErrorCode::kPreflight);
  EXPECT_THAT(message, ::testing::HasSubstr("from some/where at r1"));
  MakeOptions none;
  none.allow_make = false;
  const auto unmade = [&] {
    resolve(R"({"name": "w", "path": "w", "make": ["touch", "{path}"]})", none);
  };
  EXPECT_EQ(code_of(unmade, &message), base::ErrorCode::kPreflight);
  EXPECT_THAT(message, ::testing::HasSubstr("make it with: touch"));
}

// What is half made would be taken for the whole by the next run.
TEST_F(Files, AMakeCommandThatFailsOrIsStoppedLeavesNothing) {
  MakeOptions stopped;
  stopped.stop = [] { return true; };
  for (const std::string end : {"exit 3", "sleep 100"}) {
    const std::string declared =
        R"({"name": "w", "path": "w", "make": ["sh", "-c", "echo half > $0; )" + end +
        R"(", "{path}"]})";
    const auto act = [&] { resolve(declared, end == "exit 3" ? MakeOptions{} : stopped); };
    EXPECT_EQ(code_of(act), base::ErrorCode::kPreflight) << end;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "w")) << end;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_EQ(entry.path().filename().string().rfind(".making", 0), std::string::npos) << end;
    }
  }
}

TEST_F(Files, SaysWhyMakingFailed) {
  std::string message;
  const auto act = [&] {
    resolve(R"({"name": "w", "path": "w", "make": ["sh", "-c", "echo no disk >&2; exit 3"]})");
  };
  EXPECT_EQ(code_of(act, &message), base::ErrorCode::kPreflight);
  EXPECT_THAT(message, ::testing::HasSubstr("code 3 saying: no disk"));
}

TEST_F(Files, LargeFilesAreCachedAndTheCacheNeverLies) {
  const std::string bytes = random_bytes((1U << 20U) + 17, 2);
  const auto file = folder_.write("big", bytes);
  // A file that was just written could still change within its time stamp: not cached yet.
  HashCache fresh(folder_.path() / "cache.json");
  EXPECT_EQ(fresh.digest(file), base::sha256_hex(bytes));
  fresh.save();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache.json"));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  fresh.digest(file);
  fresh.save();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "cache.json"));
  std::string other = bytes;
  other[12345] = static_cast<char>(other[12345] ^ 1);
  folder_.write("big", other);
  HashCache again(folder_.path() / "cache.json");
  EXPECT_EQ(again.digest(file), base::sha256_hex(other));
}

TEST_F(Files, ADamagedCacheIsAnEmptyOne) {
  const auto cache = folder_.write("cache.json", "{\"half");
  const auto file = folder_.write("f", "x");
  EXPECT_EQ(HashCache(cache).digest(file), base::sha256_hex("x"));
}

TEST_F(Files, InputsThatNameAFileAreHashedWithIt) {
  folder_.write("in.json", "1");
  record::Workload workload;
  workload.id = "w";
  workload.input = base::parse_json(R"({"file": "in.json", "key": "a"})", "");
  HashCache cache{std::filesystem::path()};
  const std::string before = input_digest(workload, project(), cache);
  folder_.write("in.json", "2");
  EXPECT_NE(input_digest(workload, project(), cache), before);
  folder_.write("in.json", "1");
  EXPECT_EQ(input_digest(workload, project(), cache), before);
  std::filesystem::remove(folder_.path() / "in.json");
  EXPECT_EQ(code_of([&] { (void)input_digest(workload, project(), cache); }),
            base::ErrorCode::kPreflight);
}

TEST_F(Files, ProjectIsFoundUpwards) {
  folder_.write("abba.json", R"({"default_worker": ["./w", "-x"]})");
  folder_.write("a/b/m.json", "{}");
  const Project found = find_project(folder_.path() / "a/b/m.json");
  EXPECT_EQ(found.root, folder_.path());
  EXPECT_TRUE(found.has_file);
  EXPECT_THAT(found.default_worker, ::testing::ElementsAre("./w", "-x"));
  folder_.write("abba.json", R"({"default_wroker": []})");
  std::string message;
  EXPECT_EQ(code_of([&] { (void)find_project(folder_.path()); }, &message),
            base::ErrorCode::kBadInput);
  EXPECT_THAT(message, ::testing::HasSubstr("\"default_worker\" (nearest)"));
}

TEST(Paths, TheLockLiesBesideTheManifestAndTheLedgerInOnePlaceOfTheProject) {
  EXPECT_EQ(lock_path("m/x.json"), "m/x.lock.json");
  EXPECT_EQ(ledger_folder({"/p", true, {}}), "/p/manifests/ledger");
  EXPECT_EQ(ledger_folder({"/p", false, {}}), "/p/manifests/ledger");
  EXPECT_EQ(ledger_folder({"/p/manifests", false, {}}), "/p/manifests/ledger");
  EXPECT_EQ(ledger_name({"/p", true, {}}, "/p/a/x.json"), "a/x.json");
  EXPECT_EQ(ledger_name({"/p", true, {}}, "/q/x.json"), "x.json");
}

// Of a group of its own it can be killed with all that it started, but may not read the terminal.
TEST(Command, HasAProcessGroupOfItsOwnOnlyIfItCanBeStopped) {
  const std::vector<std::string> group = {"sh", "-c", "cut -d ' ' -f 5 /proc/$$/stat"};
  const std::string ours = std::to_string(::getpgrp()) + "\n";
  EXPECT_EQ(run_command(group, "/").out, ours);
  EXPECT_NE(run_command(group, "/", {}, [] { return false; }).out, ours);
}

TEST(Command, CarriesInputOutputAndFailure) {
  const std::string large = random_bytes(300'000, 3);
  const CommandResult copied = run_command({"cat"}, "/", large);
  EXPECT_EQ(copied.exit_code, 0);
  EXPECT_EQ(copied.out, large);
  EXPECT_EQ(run_command({"no-such-program-here"}, "/").exit_code, 127);
  EXPECT_EQ(run_command({"sh", "-c", "kill -9 $$"}, "/").exit_code, 137);
  EXPECT_EQ(run_command({"true"}, "/", large).exit_code, 0);  // a reader that does not read
}

}  // namespace
}  // namespace abba::manifest::testing
