// The kit's own JSON, SHA-256 and base64, judged by the harness's (other code, other libraries).
#include "engine/base/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "engine/base/sha256.h"
#include "harness/worker_kit/abba_worker.h"

namespace {

using abba_worker::Json;

TEST(KitJson, ReadsWhatItWrites) {
  const std::string text =
      R"({"a":[1,-2,3.5,true,false,null],"b":{"c":"é\n\"\\\u0001"},"d":[],"e":{},"f":9007199254740993})";
  const Json json = Json::parse(text);
  EXPECT_EQ(json["a"].items().size(), 6U);
  EXPECT_EQ(json["f"].integer(), 9007199254740993);
  EXPECT_EQ(json["b"]["c"].text(), "é\n\"\\\x01");
  EXPECT_TRUE(json["no"]["such"].is_null());
  EXPECT_EQ(Json::parse(json.dump()).dump(), json.dump());
  EXPECT_TRUE(abba::base::parse_json(json.dump(), "") == abba::base::parse_json(text, ""));
}

TEST(KitJson, UnicodeEscapesBecomeUtf8) {
  EXPECT_EQ(Json::parse(R"("\u00e9\u20ac\ud83d\ude00")").text(), "é€😀");
}

class KitJsonRefuses : public testing::TestWithParam<std::string> {};

TEST_P(KitJsonRefuses, WithoutReadingOutOfBounds) {
  EXPECT_THROW(Json::parse(GetParam()), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Malformed, KitJsonRefuses,
                         testing::Values("", "{", "[1,", "[1,]", "{\"a\"}", "{\"a\":1,}",
                                         "{\"a\":1,\"a\":2}", "{\"a\":null,\"a\":2}", "01", "1.",
                                         "-", "1e", "\"", "\"\\", "\"\\u12", "\"\\ud800\"",
                                         "\"\\udc00\"", "nul", "[1] 2", "\"\n\"", "1e999", "{1:2}",
                                         "\"\\x\"", std::string(1000, '['), "NaN",
                                         std::string("\"a\0b\"", 5), "+1", ".5", "'a'"));

TEST(KitJson, NumbersKeepTheirValue) {
  abba::base::Random random(5);
  for (int i = 0; i < 1000; ++i) {
    const double value = (random.uniform() - 0.5) * std::pow(10.0, 40 * random.uniform() - 20);
    EXPECT_EQ(Json::parse(Json(value).dump()).number(), value);
  }
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
}

TEST(KitSha256, AgreesWithOpenSsl) {
  abba::base::Random random(6);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    abba_worker::Sha256 sha;  // in two pieces
    sha.update(bytes.substr(0, size / 3));
    sha.update(bytes.substr(size / 3));
    EXPECT_EQ(sha.hex_digest(), abba::base::sha256_hex(bytes)) << size;
    if (size > 0) {  // the canary: one bit makes a difference
      bytes[size / 2] = static_cast<char>(bytes[size / 2] ^ 1);
      abba_worker::Sha256 other;
      other.update(bytes);
      EXPECT_NE(other.hex_digest(), abba::base::sha256_hex(std::string(size, '\0')));
    }
  }
}

TEST(KitDigest, IsOfDtypeShapeAndBytes) {
  const std::vector<float> values = abba_worker::random_floats(6, 3);
  const auto digest = [&](std::vector<std::int64_t> shape) {
    abba_worker::Sha256 sha;
    abba_worker::add_to_digest(sha, abba_worker::make_tensor("x", std::move(shape), values.data()));
    return sha.hex_digest();
  };
  const std::string bytes(reinterpret_cast<const char*>(values.data()), 24);
  EXPECT_EQ(digest({2, 3}), abba::base::sha256_hex("F32\n2,3\n" + bytes));
  EXPECT_NE(digest({2, 3}), digest({3, 2}));
}

TEST(KitBase64, HasTheRfcVectors) {
  EXPECT_EQ(abba_worker::base64(""), "");
  EXPECT_EQ(abba_worker::base64("f"), "Zg==");
  EXPECT_EQ(abba_worker::base64("fo"), "Zm8=");
  EXPECT_EQ(abba_worker::base64("foo"), "Zm9v");
  EXPECT_EQ(abba_worker::base64("foobar"), "Zm9vYmFy");
}

TEST(KitRandomFloats, AreSeededAndNeverConstant) {
  const std::vector<float> a = abba_worker::random_floats(100, 1);
  EXPECT_EQ(a, abba_worker::random_floats(100, 1));
  EXPECT_NE(a, abba_worker::random_floats(100, 2));
  for (const float value : a) EXPECT_TRUE(value >= -1 && value < 1 && value != 0);
}

}  // namespace
