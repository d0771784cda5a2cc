#include "engine/text/python_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/base/error.h"

namespace abba::text {
namespace {

std::string again(std::string_view text) {
  return python_dumps(parse_python_json(text, "state"));
}

// The expected values are those that CPython prints.
TEST(PythonJson, NumbersPrintAsPythonPrintsThem) {
  EXPECT_EQ(again("[0, -0, 7, -12, 123456789012345678901234567890]"),
            "[0, 0, 7, -12, 123456789012345678901234567890]");
  EXPECT_EQ(again("[1.0, -0.0, 0.1, 1e3, 100.50, 1E2]"), "[1.0, -0.0, 0.1, 1000.0, 100.5, 100.0]");
  EXPECT_EQ(again("[1e15, 1e16, 123456789012345680.0, 9999999999999998.0]"),
            "[1000000000000000.0, 1e+16, 1.2345678901234568e+17, 9999999999999998.0]");
  EXPECT_EQ(again("[0.0001, 0.00001, 1.5e-7, 1e-10, 5e-324, 1.7976931348623157e308, 1e100]"),
            "[0.0001, 1e-05, 1.5e-07, 1e-10, 5e-324, 1.7976931348623157e+308, 1e+100]");
  EXPECT_EQ(again("[1e400, -1e400, 1e-400, -1e-400, 0.0e999999999999]"),
            "[Infinity, -Infinity, 0.0, -0.0, 0.0]");
  EXPECT_EQ(again("[NaN, Infinity, -Infinity]"), "[NaN, Infinity, -Infinity]");
  EXPECT_EQ(again("0.30000000000000004"), "0.30000000000000004");
  EXPECT_EQ(python_repr(2.0 / 3), "0.6666666666666666");
  EXPECT_EQ(again(std::string(4300, '9')), std::string(4300, '9'));
}

TEST(PythonJson, StringsEscapeOnlyWhatPythonEscapes) {
  EXPECT_EQ(again(R"("a\"b\\c\/d\b\f\n\r\t\u0001\u001f\u007f é 漢 \u00e9 \ud83d\ude00")"),
            "\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001f\x7f é 漢 é 😀\"");
  EXPECT_EQ(again(R"("\u0000")"), R"("\u0000")");
}

TEST(PythonJson, ARepeatedKeyKeepsItsFirstPlaceAndItsLastValue) {
  EXPECT_EQ(again(R"({"b":1,"a":2,"b":{"c":null,"c":true}})"), R"({"b": {"c": true}, "a": 2})");
  std::string many = "{";
  std::string expected = "{";
  for (int i = 0; i < 40; ++i) {
    many += "\"k" + std::to_string(i) + "\":0,";
    expected += "\"k" + std::to_string(i) +
                (i == 3    ? "\": 9"
                 : i == 39 ? "\": 8"
                           : "\": 0") +
                (i < 39 ? ", " : "}");
  }
  EXPECT_EQ(again(many + R"("k39":8,"k3":9})"), expected);
}

TEST(PythonJson, SeparatorsAndEmptyContainers) {
  EXPECT_EQ(again(" [ { } , [ ] , { \"a\" : [ 1 , \"x\" ] } , true , false , null ] "),
            R"([{}, [], {"a": [1, "x"]}, true, false, null])");
  EXPECT_EQ(python_dumps(parse_python_json(R"({"a": [1, 2], "b": 0.5})", "x"), true),
            R"({"a":[1,2],"b":0.5})");
}

TEST(PythonJson, ScalarsAsTextAndAsKeys) {
  EXPECT_EQ(python_str({}), "None");
  EXPECT_EQ(python_str(PyValue::of_bool(true)), "True");
  EXPECT_EQ(python_str(PyValue::of_float(1)), "1.0");
  EXPECT_EQ(python_str(PyValue::of_float(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(python_key({}), "null");
  EXPECT_EQ(python_key(PyValue::of_bool(false)), "false");
  EXPECT_EQ(python_key(PyValue::of_int(-3)), "-3");
}

TEST(PythonJson, BaseJsonConverts) {
  const auto json = base::parse_json(R"({"a":[1,18446744073709551615,2.5,"x",true,null]})", "t");
  EXPECT_EQ(python_dumps(from_json(json)),
            R"({"a": [1, 18446744073709551615, 2.5, "x", true, null]})");
}

TEST(PythonJson, WhatIsNoJsonIsRefusedWithTheByte) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "byte 0: it ends too early"},
      {"[1,]", "byte 3: a value is expected here"},
      {"[1 2]", "byte 3: a comma or ] is expected here"},
      {"{\"a\":1,}", "byte 7: a key in quotes is expected here"},
      {"{\"a\" 1}", "byte 5: a colon is expected here"},
      {"{a:1}", "byte 1: a key in quotes is expected here"},
      {"01", "byte 1: there is more after the value"},
      {"1.", "byte 2: a digit is expected here"},
      {"+1", "byte 0: a value is expected here"},
      {"\"a", "byte 2: the string does not end"},
      {"\"a\nb\"", "byte 2: a control character in a string"},
      {"\"\\x\"", "byte 2: an escape that JSON does not have"},
      {"\"\\ud800\"", "byte 7: a surrogate stands alone, which is no text"},
      {"\"\\udc00x\"", "byte 7: a surrogate stands alone, which is no text"},
      {"\"\\u12g4\"", "byte 5: four hexadecimal digits are expected"},
      {"tru", "byte 0: a value is expected here"},
      {"[] []", "byte 3: there is more after the value"},
  };
  for (const auto& [text, message] : cases) {
    try {
      (void)parse_python_json(text, "state");
      ADD_FAILURE() << text << " was taken";
    } catch (const base::Error& error) {
      EXPECT_EQ(std::string(error.what()), std::string("state: is not valid JSON at ") + message);
    }
  }
}

TEST(PythonJson, LimitsHold) {
  EXPECT_THROW((void)parse_python_json(std::string(4301, '1'), "x"), base::Error);
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  EXPECT_THROW((void)parse_python_json(deep, "x"), base::Error);
  EXPECT_NO_THROW((void)parse_python_json(deep.substr(120, 360), "x"));
  EXPECT_THROW((void)parse_python_json("[1,2,3]", "x", {.max_bytes = 4}), base::Error);
  EXPECT_THROW((void)parse_python_json("\"\xff\"", "x"), base::Error);
}

}  // namespace
}  // namespace abba::text
