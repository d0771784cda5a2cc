// The reader against good and hostile files, and the writer. Every hostile file must be refused
// with one sentence that names the file and, where one is concerned, the tensor; sanitizer builds
// prove that no byte outside the file is read.
#include "engine/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/base/text.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "tests/unit/temporary_folder.h"

namespace abba::checkpoint {
namespace {

using tensor::DType;
using tensor::Shape;
using ::testing::HasSubstr;

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

// A file of header text, padded to a multiple of 8, and `data_bytes` bytes.
std::string file_of(std::string header, std::size_t data_bytes) {
  header.append((8 - header.size() % 8) % 8, ' ');
  return with_length(header.size(), header + std::string(data_bytes, '\x3c'));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

const std::string kGood =
    "{" + entry("a", "F32", "[2,3]", "[0,24]") + "," + entry("b", "F16", "[4]", "[24,32]") + "}";

// What opening a file of these bytes says; empty if it opens.
std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.safetensors");
  std::ofstream(path, std::ios::binary) << bytes;
  const std::vector<std::string> mistakes = SafetensorsFile::mistakes_of(path);
  try {
    const SafetensorsFile file(path);
    EXPECT_TRUE(mistakes.empty());
    for (const TensorInfo& info : file.tensors()) {  // touch every byte: the sanitizer looks on
      const auto* bytes_of = static_cast<const unsigned char*>(file.view(info).data());
      unsigned sum = 0;
      for (std::uint64_t i = 0; i < info.size_bytes; ++i) sum += bytes_of[i];
      EXPECT_LE(sum, 255 * info.size_bytes);
    }
    return "";
  } catch (const base::Error& error) {
    EXPECT_FALSE(mistakes.empty());
    EXPECT_EQ(error.where(), path);
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
}

TEST(Safetensors, ReadsAGoodFile) {
  EXPECT_EQ(refusal(file_of(kGood, 32)), "");
  const TemporaryFolder folder;
  const std::string path = folder.file("x");
  std::ofstream(path, std::ios::binary)
      << file_of("{\"__metadata__\":{\"format\":\"pt\"}," + kGood.substr(1), 32);
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.metadata().at(0).second, "pt");
  EXPECT_EQ(file.view("a").shape(), (Shape{2, 3}));
  EXPECT_EQ(file.view("b").dtype(), DType::kF16);
  EXPECT_EQ(file.view("b").as<base::F16>()[3].bits, 0x3c3c);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_THROW((void)file.view("c"), base::Error);
}

TEST(Safetensors, EmptyTensorsAndFilesAreFine) {
  EXPECT_EQ(refusal(file_of("{}", 0)), "");
  EXPECT_EQ(refusal(file_of("{" + entry("a", "F32", "[0,7]", "[0,0]") + "}", 0)), "");
}

TEST(Safetensors, HeaderLengthHugeOrPastTheEnd) {
  EXPECT_THAT(refusal(with_length(~std::uint64_t{0}, kGood)), HasSubstr("only"));
  EXPECT_THAT(refusal(with_length(std::uint64_t{1} << 63U, kGood)), HasSubstr("only"));
  EXPECT_THAT(refusal(with_length(kGood.size() + 1, kGood)), HasSubstr("truncated"));
  EXPECT_THAT(refusal(with_length(17U << 20U, std::string(18U << 20U, ' '))), HasSubstr("16 MiB"));
  EXPECT_THAT(refusal(""), HasSubstr("8 bytes"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("8 bytes"));
  EXPECT_THAT(refusal(with_length(0, "")), HasSubstr("JSON"));
}

TEST(Safetensors, HeadersThatAreNoObjectOfTensors) {
  for (const char* header :
       {"[]", "null", "{\"a\":", "{\"a\":[]}", "{\"a\":1,\"a\":2}", "{\"a\":{}}",
        "{\"__metadata__\":[]}", "{\"__metadata__\":{\"x\":1}}", "\xff\xfe"}) {
    EXPECT_NE(refusal(file_of(header, 0)), "") << header;
  }
  EXPECT_THAT(
      refusal(file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"z\":1}}", 1)),
      HasSubstr("\"z\""));
}

TEST(Safetensors, DeepNestingDoesNotRecurse) {
  EXPECT_THAT(refusal(file_of(std::string(1000000, '['), 0)), HasSubstr("JSON"));
  std::string nested = "{\"a\":";
  for (int i = 0; i < 100000; ++i) nested += "{\"a\":";
  EXPECT_THAT(refusal(file_of(nested, 0)), HasSubstr("JSON"));
}

TEST(Safetensors, OverlapsGapsAndRests) {
  const auto pair = [](const std::string& first, const std::string& second) {
    return "{" + entry("a", "U8", "[8]", first) + "," + entry("b", "U8", "[8]", second) + "}";
  };
  EXPECT_EQ(refusal(file_of(pair("[8,16]", "[0,8]"), 16)), "");
  const std::string overlap = refusal(file_of(pair("[0,8]", "[4,12]"), 12));
  EXPECT_THAT(overlap, HasSubstr("tensor \"b\" overlaps tensor \"a\""));
  EXPECT_THAT(refusal(file_of(pair("[0,8]", "[0,8]"), 8)), HasSubstr("overlaps"));
  EXPECT_THAT(refusal(file_of(pair("[0,8]", "[9,17]"), 17)),
              HasSubstr("tensor \"b\" leaves a gap of 1"));
  EXPECT_THAT(refusal(file_of(pair("[1,9]", "[9,17]"), 17)),
              HasSubstr("tensor \"a\" leaves a gap"));
  EXPECT_THAT(refusal(file_of(pair("[0,8]", "[8,16]"), 19)),
              HasSubstr("3 bytes follow the last tensor \"b\""));
  EXPECT_THAT(refusal(file_of("{}", 5)), HasSubstr("5 bytes follow"));
}

TEST(Safetensors, TruncatedAnywhereIsRefused) {
  const std::string bytes = file_of(kGood, 32);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_NE(refusal(bytes.substr(0, size)), "") << size;
  }
  EXPECT_THAT(refusal(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("tensor \"b\" ends at byte 32"));
}

struct EntryCase {
  const char* dtype;
  const char* shape;
  const char* offsets;
  const char* message;
};

TEST(Safetensors, HostileEntriesNameTheirTensor) {
  const EntryCase cases[] = {
      {"F64", "[1]", "[0,8]", "unknown dtype \"F64\""},
      {"", "[1]", "[0,8]", "unknown dtype"},
      {"U8", "[1.0]", "[0,8]", "whole numbers"},
      {"U8", "[8.5]", "[0,8]", "whole numbers"},
      {"U8", "[-8]", "[0,8]", "whole numbers"},
      {"U8", "[\"8\"]", "[0,8]", "whole numbers"},
      {"U8", "[true]", "[0,8]", "whole numbers"},
      {"U8", "[18446744073709551615]", "[0,8]", "whole numbers"},
      {"U8", "8", "[0,8]", "\"shape\""},
      {"U8", "[1,1,1,1,8]", "[0,8]", "at most 4"},
      {"U8", "[4294967296,4294967296]", "[0,8]", "overflows"},
      {"F32", "[2305843009213693953]", "[0,4]", "overflows"},
      {"F32", "[4611686018427387904,4]", "[0,8]", "overflows"},
      {"U8", "[0,9223372036854775807,9223372036854775807]", "[0,8]", "overflows"},
      {"U8", "[8]", "[0,7]", "has 7 bytes"},
      {"U8", "[8]", "[8,0]", "data_offsets"},
      {"U8", "[8]", "[-8,0]", "data_offsets"},
      {"U8", "[8]", "[0]", "data_offsets"},
      {"U8", "[8]", "[0,8,8]", "data_offsets"},
      {"U8", "[8]", "[0.0,8.0]", "data_offsets"},
      {"U8", "[8]", "[9223372036854775800,9223372036854775807]", "ends at byte"},
      {"U8", "[8]", "[0,18446744073709551615]", "data_offsets"},
      {"F32", "[2]", "{}", "data_offsets"},
  };
  for (const EntryCase& each : cases) {
    const std::string message =
        refusal(file_of("{" + entry("the one", each.dtype, each.shape, each.offsets) + "}", 8));
    EXPECT_THAT(message, HasSubstr("tensor \"the one\"")) << each.shape << each.offsets;
    EXPECT_THAT(message, HasSubstr(each.message));
  }
}

TEST(Safetensors, MisalignedTensorsAreRefused) {
  const std::string header =
      "{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "F32", "[1]", "[1,5]") + "}";
  EXPECT_THAT(refusal(file_of(header, 5)), HasSubstr("tensor \"b\" does not start at a multiple"));
}

TEST(Safetensors, AllMistakesAreListedAndHostileNamesTamed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x");
  const std::string name(5000, 'n');
  std::ofstream(path, std::ios::binary)
      << file_of("{" + entry("a", "F64", "[1]", "[0,8]") + "," +
                     entry("b\\n\\u001b[31m", "U8", "[9]", "[0,8]") + "," +
                     entry(name, "U8", "[-1]", "[0,8]") + "}",
                 8);
  const auto mistakes = SafetensorsFile::mistakes_of(path);
  ASSERT_EQ(mistakes.size(), 3U);
  EXPECT_EQ(mistakes[1].find('\x1b'), std::string::npos);
  EXPECT_LT(mistakes[2].size(), 300U);
  EXPECT_THAT(refusal(base::read_file(path)), HasSubstr("2 more"));
}

// Names end up in tables and messages: one of a megabyte would pad every line of `inspect` to that.
TEST(Safetensors, NamesThatCannotBePrintedAreRefused) {
  const auto with_name = [](const std::string& name) {
    return refusal(file_of("{" + entry(name, "U8", "[8]", "[0,8]") + "}", 8));
  };
  EXPECT_EQ(with_name(std::string(256, 'n')), "");
  EXPECT_THAT(with_name(std::string(257, 'n')), HasSubstr("name of 257 bytes"));
  EXPECT_THAT(with_name("a\\u001b[31m"), HasSubstr("control character"));
  EXPECT_THAT(with_name("a\\n"), HasSubstr("tensor \"a?\" has a control character"));
}

TEST(Safetensors, RandomDamageNeverYieldsATensorOutsideTheData) {
  base::Random random(5);
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<char> text(kGood.begin(),
                           kGood.end());  // exact heap size: a sanitizer sees overruns
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      // Digits and brackets hurt most; any byte is tried as well.
      const std::string_view likely = "0123456789[]{},:.-\"e";
      text[random.below(text.size())] = random.below(4) == 0 ? static_cast<char>(random.next_u64())
                                                             : likely[random.below(likely.size())];
    }
    const SafetensorsHeader header =
        parse_safetensors_header(std::string_view(text.data(), text.size()), 8 + text.size(), 32);
    refused += header.mistakes.empty() ? 0 : 1;
    if (!header.mistakes.empty()) continue;
    std::uint64_t covered = 0;
    for (const TensorInfo& info : header.tensors) {
      ASSERT_EQ(info.offset_bytes, covered);
      covered += info.size_bytes;
    }
    ASSERT_EQ(covered, 32U);
  }
  EXPECT_GT(refused, 10000);  // canary: damage is mostly seen
  EXPECT_LT(refused, 20000);  // and not everything is refused
}

TEST(Safetensors, WhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.file("missing"), folder.file(""), std::string("/dev/zero")}) {
    EXPECT_THROW(SafetensorsFile{path}, base::Error) << path;
  }
}

std::vector<TensorInfo> two_tensors() {
  return {{.name = "t", .dtype = DType::kF32, .shape = Shape{3}},
          {.name = "w", .dtype = DType::kF16, .shape = Shape{5, 7}}};
}

TEST(SafetensorsWriter, WhatIsWrittenIsReadBack) {
  const TemporaryFolder folder;
  base::Random random(3);
  std::vector<std::uint16_t> weights(35);
  for (auto& weight : weights) weight = static_cast<std::uint16_t>(random.next_u64());
  const float values[3] = {1.5F, -2, 3e30F};
  for (const std::string name : {"one", "two"}) {
    SafetensorsWriter writer(folder.file(name), two_tensors(), {{"format", "pt"}});
    writer.write(1, 20, weights.data() + 10, 50);
    writer.write(0, 0, values, sizeof values);
    writer.write(1, 0, weights.data(), 20);
    writer.finish();
  }
  EXPECT_EQ(folder.entry_count(), 2);
  EXPECT_EQ(base::read_file(folder.file("one")), base::read_file(folder.file("two")));
  const SafetensorsFile file(folder.file("one"));
  EXPECT_EQ(std::memcmp(file.view("w").data(), weights.data(), 70), 0);
  EXPECT_EQ(file.view("t").as<float>()[2], 3e30F);
  file.drop_pages(*file.find("w"));
  EXPECT_EQ(std::memcmp(file.view("w").data(), weights.data(), 70), 0);
}

TEST(SafetensorsWriter, UnfinishedFilesDisappearAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  {
    SafetensorsWriter writer(folder.file("x"), two_tensors(), {});
    EXPECT_EQ(folder.entry_count(), 1);
  }
  EXPECT_EQ(folder.entry_count(), 0);
  base::write_file_atomically(folder.file("x"), "mine");
  EXPECT_THROW(SafetensorsWriter(folder.file("x"), two_tensors(), {}), base::Error);
  EXPECT_EQ(base::read_file(folder.file("x")), "mine");
  EXPECT_THROW(SafetensorsWriter(folder.file("missing/x"), two_tensors(), {}), base::Error);
}

TEST(SafetensorsWriterDeathTest, RefusesOurMistakes) {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder.file("x"), two_tensors(), {});
  const float values[4] = {};
  EXPECT_DEATH(writer.finish(), "written_bytes_");
  EXPECT_DEATH(writer.write(0, 0, values, 16), "size_bytes");
}

}  // namespace
}  // namespace abba::checkpoint
