// The code digest is that of what runs: equal for one source built in two folders with two stamps,
// another as soon as code, data or device code is another.
#include "harness/workers/code_digest.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/workers/process.h"
#include "tests/unit/machine.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = ABBA_TEST_SOURCE_DIR;

void run(const std::vector<std::string>& argv) {
  ProcessSpec spec;
  spec.argv = argv;
  const CommandResult result = run_command(spec, 100);
  ASSERT_EQ(result.exit_code, 0) << base::join(argv, " ") << "\n"
                                 << base::join(result.stderr_tail, "\n");
}

// Both halves of a program: the code, and a stamp in its own section as our programs have one.
class CodeDigest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* at : {"one", "two"}) fs::create_directories(scratch_.file(at) + "/src");
  }
  std::string build(const std::string& at, const std::string& source, char stamp,
                    std::vector<std::string> more = {}) {
    const std::string folder = scratch_.file(at);
    base::write_file_atomically(folder + "/src/main.cpp", source);
    base::write_file_atomically(folder + "/src/stamp.cpp",
                                "extern const char kStamp[];\n"
                                "__attribute__((section(\".abba_stamp\"), used)) const char "
                                "kStamp[] = \"" +
                                    std::string(57, stamp) + "\";\n");
    std::vector<std::string> argv = {
        ABBA_TEST_COMPILER,      "-std=c++20",    "-O1", "-g", "-ffile-prefix-map=" + folder + "=.",
        "-I" + kSource.string(), "-Wl,--build-id"};
    argv.insert(argv.end(), more.begin(), more.end());
    for (const char* file : {"/src/main.cpp", "/src/stamp.cpp"}) argv.push_back(folder + file);
    argv.insert(argv.end(), {"-o", folder + "/program"});
    run(argv);
    return folder + "/program";
  }
  TemporaryFolder scratch_;
};

constexpr const char* kSmall =
    "#include <cassert>\n"
    "int table[] = {1, 2, 3};\n"
    "extern const char* const kWords[] = {\"a\", \"b\"};\n"
    "int main(int argc, char**) { assert(argc < 9); return table[argc] + kWords[0][0]; }\n";

TEST_F(CodeDigest, OneSourceInTwoFoldersWithTwoStampsHasOneCodeDigest) {
  const std::string saxpy = base::read_file(kSource / "experiments/peers/saxpy_worker.cpp");
  const std::string one = build("one", saxpy, 'a');
  const std::string two = build("two", saxpy, 'b');
  EXPECT_NE(base::sha256_file(one), base::sha256_file(two));
  EXPECT_EQ(code_digest(one).size(), 64U);
  EXPECT_EQ(code_digest(one), code_digest(two));
  run({"strip", two});
  EXPECT_EQ(code_digest(one), code_digest(two));
}

TEST_F(CodeDigest, CodeConstantsAndInitialValuesAllCount) {
  const std::string source = kSmall;
  const std::string plain = code_digest(build("one", source, 'a'));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"argc < 9", "argc < 8"},
                                                        {"{1, 2, 3}", "{1, 2, 4}"},
                                                        {"\"a\", \"b\"", "\"c\", \"b\""}}) {
    std::string changed = source;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_NE(code_digest(build("two", changed, 'a')), plain) << to;
  }
  EXPECT_EQ(code_digest(build("two", source, 'a')), plain);
  EXPECT_NE(code_digest(build("two", source, 'a', {"-DNDEBUG"})), plain) << "a compile flag";
}

TEST_F(CodeDigest, DeviceCodeCounts) {
  const std::string nvcc = ABBA_TEST_NVCC;
  if (nvcc.empty() || nvcc.find("NOTFOUND") != std::string::npos) {
    ASSERT_FALSE(machine::is_required("ABBA_REQUIRE_CUDA")) << "ABBA_REQUIRE_CUDA=1, but no nvcc";
    GTEST_SKIP() << "no nvcc here";
  }
  const auto build_device = [&](const std::string& at, const std::string& factor) {
    const std::string folder = scratch_.file(at);
    base::write_file_atomically(
        folder + "/src/scale.cu",
        "__global__ void scale(float* x) { x[threadIdx.x] *= " + factor + "; }\n");
    run({nvcc, "-arch=sm_90", "-O1", "-Xcompiler", "-ffile-prefix-map=" + folder + "=.", "-c",
         folder + "/src/scale.cu", "-o", folder + "/scale.o"});
    return code_digest(folder + "/scale.o");
  };
  const std::string one = build_device("one", "2.0f");
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(build_device("two", "2.0f"), one);
  EXPECT_NE(build_device("two", "3.0f"), one);
}

TEST_F(CodeDigest, WhatIsNoWholeElfFileHasNone) {
  for (const char* text : {"", "#!/bin/sh\n"}) {
    EXPECT_EQ(code_digest(scratch_.write("x", text)), "") << text;
  }
  // Cut anywhere: the section headers are the last thing in the file.
  const std::string bytes = base::read_file(build("one", kSmall, 'a'));
  for (std::size_t size = 0; size < bytes.size(); size += size < sizeof(Elf64_Ehdr) ? 1 : 251) {
    EXPECT_EQ(code_digest(scratch_.write("x", bytes.substr(0, size))), "") << size;
  }
  EXPECT_EQ(code_digest(scratch_.write("x", bytes.substr(0, bytes.size() - 1))), "");
}

// Each byte of the header inverted. The digest is of what is loaded, found through the table of
// sections: where that cannot be read there is none, and every other field leaves it alone.
TEST_F(CodeDigest, OnlyWhatLeadsToTheSectionsMattersInTheHeader) {
  const std::string program = build("one", kSmall, 'a');
  const std::string bytes = base::read_file(program);
  const std::string plain = code_digest(program);
  const auto is_within = [](std::size_t at, std::size_t first, std::size_t size) {
    return at >= first && at < first + size;
  };
  for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(~changed[at]);
    const std::string digest = code_digest(scratch_.write("x", changed));
    if (is_within(at, offsetof(Elf64_Ehdr, e_shoff), sizeof(Elf64_Off))) {
      EXPECT_NE(digest, plain) << at;  // other bytes taken for the table
    } else if (at <= EI_DATA || at >= offsetof(Elf64_Ehdr, e_shentsize)) {
      EXPECT_EQ(digest, "") << at;
    } else {
      EXPECT_EQ(digest, plain) << at;
    }
  }
}

}  // namespace
}  // namespace abba::workers
