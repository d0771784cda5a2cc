#include "harness/workers/executable.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/workers/code_digest.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

TEST(Executable, IsFoundAsExecvpWould) {
  EXPECT_EQ(find_executable("/bin/sh"), "/bin/sh");
  EXPECT_TRUE(find_executable("sh").ends_with("/sh"));
  EXPECT_EQ(find_executable("no-such-program-here"), "");
  EXPECT_EQ(find_executable("/etc/passwd"), "") << "not executable";
  EXPECT_EQ(find_executable("/tmp"), "") << "a folder";
  EXPECT_EQ(find_executable(""), "");
}

TEST(HashCommand, TakesTheProgramAndItsFiles) {
  const TemporaryFolder folder;
  const std::string script = folder.file("script.py");
  base::write_file_atomically(script, "print(1)");
  const auto bindings = hash_command({"sh", script, "--flag"}, "A");
  ASSERT_EQ(bindings.size(), 3U);
  EXPECT_EQ(bindings[0],
            (record::Binding{"executable/A", base::sha256_file(find_executable("sh"))}));
  EXPECT_EQ(bindings[1],
            (record::Binding{"code/executable/A", code_digest(find_executable("sh"))}));
  EXPECT_EQ(bindings[2], (record::Binding{"argument/A/script.py", base::sha256_hex("print(1)")}));
  base::write_file_atomically(script, "print(2)");  // the canary: an edit changes the binding
  EXPECT_NE(hash_command({"sh", script}, "A")[2], bindings[2]);
  EXPECT_THROW(hash_command({"no-such-program-here"}, "A"), base::Error);
  EXPECT_THROW(hash_command({}, "A"), base::Error);
}

TEST(HashMappedFiles, AreThoseOfTheRunningProcess) {
  const auto bindings = hash_mapped_files(getpid(), "me");
  ASSERT_FALSE(bindings.empty());
  EXPECT_EQ(bindings[0].name, "executable/me");
  EXPECT_EQ(bindings[0].value, base::sha256_file("/proc/self/exe"));
  EXPECT_TRUE(std::any_of(bindings.begin(), bindings.end(), [](const record::Binding& binding) {
    return binding.name.starts_with("library/me/libstdc++.so");
  }));
  EXPECT_TRUE(hash_mapped_files(-1, "me").empty());
}

// A large file that has just changed is read again; one that lies still gives the same answer.
TEST(Digests, NeverRememberWhatMayStillChange) {
  const std::string path = testing::TempDir() + "/large.bin";
  FileDigests digests;
  std::ofstream(path) << std::string(std::size_t{2} << 20U, 'a');
  const std::string first = digests.of(path);
  std::ofstream(path) << std::string(std::size_t{2} << 20U, 'b');
  EXPECT_NE(digests.of(path), first);
  EXPECT_EQ(digests.of("/proc/self/exe"), digests.of("/proc/self/exe"));
  EXPECT_EQ(digests.of("/proc/self/exe"), base::sha256_file("/proc/self/exe"));
}

}  // namespace
}  // namespace abba::workers
