// The JSON value: what is accepted, what is refused and how, and that printing and parsing agree.
#include "engine/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/prng.h"

namespace abba::base {
namespace {

std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    (void)parse_json(text, "f.json", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "f.json");
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Json, TextOrEmptyAsksForNoMoreThanThereIs) {
  const Json json = parse_json(R"({"a": "text", "b": 1})", "x");
  EXPECT_EQ(json.text_or_empty("a"), "text");
  EXPECT_EQ(json.text_or_empty("b"), "");
  EXPECT_EQ(json.text_or_empty("c"), "");
  EXPECT_EQ(Json("no object").text_or_empty("a"), "");
}

TEST(Json, KeepsOrderAndExactIntegers) {
  const Json json = parse_json(
      R"({"b": 1, "a": [true, null, -9223372036854775808, 18446744073709551615, 0.5, "x\u00e9"]})",
      "");
  EXPECT_EQ(json.dump(),
            R"({"b":1,"a":[true,null,-9223372036854775808,18446744073709551615,0.5,"xé"]})");
  const Json::Array& items = json.find("a")->as_array();
  EXPECT_TRUE(items[2].is_int());
  EXPECT_FALSE(items[3].is_int());
  EXPECT_EQ(items[3].as_uint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json.canonical().find("\"a\""), 1U);
}

TEST(Json, CanonicalFormIgnoresOrderAndSpelling) {
  const Json a = parse_json(R"({"x": 1.0, "y": [1e2, "é"]})", "");
  const Json b = parse_json(R"({ "y":[100,"\u00e9"], "x":1 })", "");
  EXPECT_EQ(a.canonical(), b.canonical());
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == parse_json(R"({"x": 1.5, "y": [100, "é"]})", ""));  // canary
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":1,}", "nul", "01", "1 2", "{'a':1}", "[1] x", "\"\x01\"",
        "\"\xff\"", "NaN", "[Infinity]", "{\"a\" 1}", "\"\\x\"", "// c\n1"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
}

TEST(Json, SaysLineAndColumn) {
  const std::string message = refusal("{\n  \"a\": 1,\n  \"b\": ?\n}");
  EXPECT_NE(message.find("line 3"), std::string::npos) << message;
}

TEST(Json, RefusesDuplicateKeysDepthAndSize) {
  EXPECT_NE(refusal(R"({"a": 1, "a": 2})").find("a"), std::string::npos);
  EXPECT_EQ(refusal(std::string(8, '[') + std::string(8, ']'), {.max_depth = 8}), "");
  EXPECT_NE(refusal(std::string(9, '[') + std::string(9, ']'), {.max_depth = 8}), "");
  EXPECT_NE(refusal(std::string(1000000, '[')), "");
  EXPECT_EQ(refusal("[1,2,3]", {.max_bytes = 7}), "");
  EXPECT_NE(refusal("[1,2,3]", {.max_bytes = 6}), "");
}

TEST(Json, CommentsOnlyWhereAllowed) {
  EXPECT_EQ(parse_json("/* a */ [1, // b\n 2]", "", {.allow_comments = true}).dump(), "[1,2]");
  EXPECT_NE(refusal("[1, /* b */ 2]"), "");
}

TEST(Json, ReadersSayWhatTheyFound) {
  const Json json = parse_json(R"({"n": 1.5, "s": "x", "b": true})", "");
  EXPECT_DOUBLE_EQ(json.get_double("n", "w"), 1.5);
  EXPECT_EQ(json.get_string("s", "w"), "x");
  EXPECT_TRUE(json.get_bool("b", "w"));
  for (const auto& read : {+[](const Json& j) { (void)j.get_int("n", "w"); },
                           +[](const Json& j) { (void)j.get_string("b", "w"); },
                           +[](const Json& j) { (void)j.get_array("s", "w"); },
                           +[](const Json& j) { (void)j.get_bool("missing", "w"); },
                           +[](const Json& j) { (void)j.at("missing", "w"); }}) {
    try {
      read(json);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), "w");
    }
  }
}

TEST(Json, SetReplacesAndEraseRemoves) {
  Json json;
  json.set("a", 1);
  json.set("b", 2);
  json.set("a", "x");
  EXPECT_EQ(json.dump(), R"({"a":"x","b":2})");
  EXPECT_TRUE(json.erase("a"));
  EXPECT_FALSE(json.erase("a"));
  EXPECT_EQ(json.dump(), R"({"b":2})");
}

// Any value the generator makes is printed and read back unchanged, by all three printers.
Json random_value(Random& random, int depth) {
  const std::uint64_t kind = random.below(depth > 0 ? 7 : 5);
  if (kind == 0) return Json(random.below(2) == 0);
  if (kind == 1) return Json(static_cast<std::int64_t>(random.next_u64()));
  if (kind == 2)
    return Json(random.normal() * std::pow(10.0, static_cast<double>(random.below(40)) - 20));
  if (kind == 3) return Json(nullptr);
  if (kind == 4) {
    std::string text;
    for (std::uint64_t i = random.below(8); i > 0; --i) {
      text +=
          random.below(4) == 0 ? "é\"\\" : std::string(1, static_cast<char>(1 + random.below(126)));
    }
    return Json(text);
  }
  Json json = kind == 5 ? Json::array() : Json::object();
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    Json inner = random_value(random, depth - 1);
    if (kind == 5) {
      json.push_back(std::move(inner));
    } else {
      json.set("k" + std::to_string(random.below(100)), std::move(inner));
    }
  }
  return json;
}

TEST(Json, EveryPrinterIsReadBack) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const Json json = random_value(random, 4);
    EXPECT_EQ(parse_json(json.dump(), "").dump(), json.dump());
    EXPECT_EQ(parse_json(json.dump_pretty(), "").dump(), json.dump());
    EXPECT_EQ(parse_json(json.canonical(), "").canonical(), json.canonical());
    EXPECT_EQ(json.dump().find('\n'), std::string::npos);
  }
}

}  // namespace
// A worker's standard error holds any bytes; what is written must be readable again.
TEST(Json, WritesReplacementCharactersForBytesThatAreNotUtf8) {
  const std::string text = "caf\xE9 \xC3\xA9 \xED\xA0\x80 \xF0\x9F\x98\x80 \xF0\x9F";
  const std::string expected =
      "caf\xEF\xBF\xBD \xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xF0\x9F\x98\x80 "
      "\xEF\xBF\xBD\xEF\xBF\xBD";
  EXPECT_EQ(parse_json(Json(text).dump(), "test").as_string(), expected);
}

}  // namespace abba::base
