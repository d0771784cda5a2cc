#include "engine/text/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/error.h"

namespace abba::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Question question(std::string_view json) {
  return parse_question("q", parse_python_json(json, "definition"));
}

std::string refusal(std::string_view json) {
  try {
    (void)question(json);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_EQ(error.where(), "question \"q\"");
    return error.message();
  }
  return "was taken";
}

TEST(Question, ChoiceDescriptionsAreOptionalAndRendered) {
  const Question q = question(
      R"({"type":"choice","instructions":"Which?","criteria":{"a":"first","b":null,"c":"","d":0,)"
      R"("e":false,"f":{"x":[1,"é"]},"g":1.0}})");
  EXPECT_THAT(q.options, ElementsAre("a: first", "b", "c", "d: 0", "e: false",
                                     "f: {\"x\": [1, \"é\"]}", "g: 1.0"));
  EXPECT_EQ(q.instructions, "Which?");
  EXPECT_EQ(q.labels[1].text, "b");
}

TEST(Question, ListedLabelsAreDistinctKeysOfADict) {
  const Question q =
      question(R"({"type":"choice","instructions":"?","criteria":["x",1,"1",2.5,0,""]})");
  EXPECT_THAT(q.options, ElementsAre("x", "1", "1", "2.5", "0", ""));
  EXPECT_EQ(python_dumps(q.labels[1]), "1");
  EXPECT_EQ(python_dumps(q.labels[2]), "\"1\"");
}

TEST(Question, ScoreLevelsAreNumbered) {
  const Question q =
      question(R"({"type":"score","instructions":{"ask":"übel?"},"criteria":["calm","",{"a":1}]})");
  EXPECT_THAT(q.options, ElementsAre("level 0: calm", "level 1: ", "level 2: {\"a\": 1}"));
  EXPECT_EQ(q.instructions, "{\"ask\": \"übel?\"}");
}

TEST(Question, NoulDefaultsKeysAndLabels) {
  EXPECT_THAT(
      question(R"({"type":"noul","instructions":"?"})").options,
      ElementsAre("false: no, the statement does not hold", "true: yes, the statement holds"));
  EXPECT_THAT(
      question(R"({"type":"noul","instructions":"?","criteria":{"TRUE":"it does","False":""}})")
          .options,
      ElementsAre("false: no, the statement does not hold", "true: it does"));
  EXPECT_THAT(question(R"({"type":"noul","instructions":"?","criteria":{"true":0},"labels":)"
                       R"({"false":" no\u3000","true":"yes"}})")
                  .options,
              ElementsAre("no: no, the statement does not hold", "yes: 0"));
  EXPECT_THAT(
      question(R"({"type":"noul","instructions":"?","criteria":null,"labels":null})").options,
      ElementsAre("false: no, the statement does not hold", "true: yes, the statement holds"));
}

TEST(Question, InstructionsMayBeAnythingButEmpty) {
  EXPECT_EQ(question(R"({"type":"noul","instructions":false})").instructions, "false");
  EXPECT_EQ(question(R"({"type":"noul","instructions":0})").instructions, "0");
  EXPECT_EQ(question(R"({"type":"noul","instructions":[1,2.50]})").instructions, "[1, 2.5]");
}

TEST(Question, WhatTheOriginalRefusesIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "must be an object, not an array"},
      {R"({"instructions":"?"})", "\"type\" must be one of"},
      {R"({"type":"Choice","instructions":"?"})", "\"type\" must be one of"},
      {R"({"type":["choice"],"instructions":"?"})", "\"type\" must be one of"},
      {R"({"type":"noul"})", "has no \"instructions\""},
      {R"({"type":"noul","instructions":null})", "\"instructions\" are empty"},
      {R"({"type":"noul","instructions":" \u2003\n"})", "\"instructions\" are empty"},
      {R"({"type":"noul","instructions":[]})", "\"instructions\" are empty"},
      {R"({"type":"noul","instructions":{}})", "\"instructions\" are empty"},
      {R"({"type":"choice","instructions":"?","criteria":["a",null]})", "label 1 is null"},
      {R"({"type":"choice","instructions":"?","criteria":["a","b","a"]})", "label 2 repeats"},
      {R"({"type":"choice","instructions":"?","criteria":[true,1.0]})", "label 1 repeats"},
      {R"({"type":"choice","instructions":"?","criteria":["a","b"],"option_order":[1,0]})",
       "\"option_order\""},
      {R"({"type":"choice","instructions":"?"})", "a choice takes"},
      {R"({"type":"choice","instructions":"?","criteria":"a"})", "a choice takes"},
      {R"({"type":"choice","instructions":"?","criteria":[]})", "at least one label"},
      {R"({"type":"choice","instructions":"?","criteria":{}})", "at least one label"},
      {R"({"type":"choice","instructions":"?","criteria":["a",["b"]]})", "label 1 is an array"},
      {R"({"type":"choice","instructions":"?","criteria":["a"],"labels":null})",
       "noul questions only"},
      {R"({"type":"score","instructions":"?","criteria":{"0":"a"}})", "a score takes"},
      {R"({"type":"score","instructions":"?","criteria":[]})", "at least one level"},
      {R"({"type":"score","instructions":"?","criteria":["a",null]})", "level 1 is null"},
      {R"({"type":"noul","instructions":"?","criteria":["a","b"]})", "a noul takes"},
      {R"({"type":"noul","instructions":"?","criteria":{"yes":"x"}})", "has the key \"yes\""},
      {R"({"type":"noul","instructions":"?","labels":{"false":"a"}})", "two distinct names"},
      {R"({"type":"noul","instructions":"?","labels":{"false":"a","true":" a "}})",
       "two distinct names"},
      {R"({"type":"noul","instructions":"?","labels":{"false":" ","true":"b"}})",
       "two distinct names"},
      {R"({"type":"noul","instructions":"?","labels":{"false":1,"true":"b"}})",
       "two distinct names"},
      {R"({"type":"noul","instructions":"?","labels":{"false":"a","true":"b","x":"c"}})",
       "two distinct"},
      {R"({"type":"noul","instructions":"?","labels":["a","b"]})", "two distinct names"},
  };
  for (const auto& [json, message] : cases) {
    EXPECT_THAT(refusal(json), HasSubstr(message)) << json;
  }
}

TEST(Question, SeveralKeepTheirOrder) {
  const auto all = parse_questions(parse_python_json(
      R"({"z":{"type":"noul","instructions":"1"},"a":{"type":"noul","instructions":"2"}})", "t"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "z");
  EXPECT_EQ(all[1].instructions, "2");
  EXPECT_TRUE(parse_questions(PyValue::dict()).empty());
  EXPECT_THROW((void)parse_questions(PyValue::list()), base::Error);
}

}  // namespace
}  // namespace abba::text
