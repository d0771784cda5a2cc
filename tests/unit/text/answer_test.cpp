#include "engine/text/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/prng.h"

namespace abba::text {
namespace {

using testing::ElementsAre;

// Those of the published English checkpoint.
Temperatures english() {
  return {{1.6369030475616455, 1.2514300346374512, 1.983399510383606},
          {{"choice:2", 1.9063563346862793},
           {"choice:3-5", 1.7601518630981445},
           {"choice:6-10", 1.0000158548355103},
           {"choice:11+", 0.10058280825614929},
           {"score:3-5", 1.2514300346374512},
           {"noul:2", 1.983399510383606}}};
}

Question with_options(QuestionType type, std::size_t count) {
  Question question;
  question.id = "q";
  question.type = type;
  for (std::size_t i = 0; i < count; ++i) {
    question.options.push_back("o" + std::to_string(i));
    question.labels.push_back(PyValue::of_string(question.options.back()));
  }
  return question;
}

Answer decode(QuestionType type, const std::vector<float>& logits,
              const std::vector<float>& act = {0, 0}, const Temperatures& t = english()) {
  return decode_answer(with_options(type, logits.size()), logits, act, t);
}

TEST(Answer, GoldensOfTheOriginal) {
  const Answer choice = decode(QuestionType::kChoice, {-1.0F, -0.625F});
  EXPECT_NEAR(choice.probabilities[0], 0.451, 5e-4);
  EXPECT_NEAR(choice.probabilities[1], 0.549, 5e-4);
  EXPECT_EQ(choice.confidence, 0.0069);
  EXPECT_EQ(choice.best, 1U);
  const Answer score = decode(QuestionType::kScore, {0.25F, 1.5F, -0.5F});
  EXPECT_EQ(score.value, 0.8943);
  EXPECT_EQ(score.confidence, 0.1885);
  const Answer noul = decode(QuestionType::kNoul, {0, 0});
  EXPECT_EQ(noul.value, 0.5);
  EXPECT_EQ(noul.confidence, 0.5);
  EXPECT_EQ(noul.answer_confidence, 0.5);
  EXPECT_EQ(decode(QuestionType::kNoul, {0, 0}, {-0.75F, 0.5F}).act_probability, 0.2227);
}

TEST(Answer, GoldenRowsOfPublishedRequests) {
  const Answer t4 = decode(QuestionType::kChoice, {-0.0597606F, 3.2238431F, -0.0625453F});
  const double expected4[] = {0.118235, 0.763717, 0.118048};
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(t4.exact[static_cast<std::size_t>(i)], expected4[i], 6e-7);
  EXPECT_THAT(t4.probabilities, ElementsAre(0.1182, 0.7637, 0.118));
  const Answer t6 = decode(QuestionType::kScore, {1.1605324F, 1.0541849F, 1.8039691F, 2.1948812F});
  const double expected6[] = {0.170180, 0.156315, 0.284580, 0.388925};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(t6.exact[static_cast<std::size_t>(i)], expected6[i], 6e-7);
}

// A wrong temperature must show: the goldens above would not hold without the bucket.
TEST(Answer, CanaryAnotherTemperatureIsSeen) {
  Temperatures wrong = english();
  wrong.by_options.clear();
  EXPECT_NE(decode(QuestionType::kChoice, {-1.0F, -0.625F}, {0, 0}, wrong).confidence, 0.0069);
}

TEST(Answer, TheFirstOfEqualMaximaIsTheAnswer) {
  EXPECT_EQ(decode(QuestionType::kChoice, {2, 2}).best, 0U);
  EXPECT_EQ(decode(QuestionType::kChoice, {1, 2, 2}).best, 1U);
}

TEST(Answer, TemperaturesAreBucketedAndClamped) {
  EXPECT_EQ(temperature_key(QuestionType::kChoice, 1), "choice:2");
  EXPECT_EQ(temperature_key(QuestionType::kChoice, 2), "choice:2");
  EXPECT_EQ(temperature_key(QuestionType::kScore, 3), "score:3-5");
  EXPECT_EQ(temperature_key(QuestionType::kScore, 5), "score:3-5");
  EXPECT_EQ(temperature_key(QuestionType::kNoul, 6), "noul:6-10");
  EXPECT_EQ(temperature_key(QuestionType::kChoice, 10), "choice:6-10");
  EXPECT_EQ(temperature_key(QuestionType::kChoice, 11), "choice:11+");
  EXPECT_EQ(english().of_question(QuestionType::kChoice, 16), 0.5);  // 0.1006 in the file
  EXPECT_EQ(english().of_question(QuestionType::kScore, 2), 1.2514300346374512);
  EXPECT_EQ(clamp_temperature(7), 5.0);
  EXPECT_EQ(clamp_temperature(-3), 0.5);
  EXPECT_EQ(clamp_temperature(std::numeric_limits<double>::quiet_NaN()), 1.0);
  EXPECT_EQ(clamp_temperature(-std::numeric_limits<double>::infinity()), 1.0);
  checkpoint::ModelConfig config;
  config.temperature = {2, 3, 4};
  config.temperature_by_options = {{"noul:2", 1.5}};
  EXPECT_EQ(Temperatures::of(config).of_question(QuestionType::kNoul, 2), 1.5);
  EXPECT_EQ(Temperatures::of(config).of_question(QuestionType::kScore, 4), 3.0);
}

TEST(Answer, ASingleOptionIsCertain) {
  const Answer one = decode(QuestionType::kChoice, {-3.5F});
  EXPECT_THAT(one.probabilities, ElementsAre(1.0));
  EXPECT_EQ(one.confidence, 1.0);
  EXPECT_EQ(one.answer_confidence, 1.0);
  EXPECT_EQ(decode(QuestionType::kScore, {0.5F}).value, 0.0);
}

TEST(Answer, AnImpossibleOptionLeavesNoNaN) {
  const Answer sharp = decode(QuestionType::kChoice, {0, -10000, -10000});
  EXPECT_THAT(sharp.probabilities, ElementsAre(1.0, 0.0, 0.0));
  EXPECT_EQ(sharp.confidence, 1.0);
}

TEST(Answer, RoundingIsThatOfPython) {
  EXPECT_EQ(round4(0.00005), 0.0001);  // the double is above 0.00005
  EXPECT_EQ(round4(0.12345), 0.1235);  // 0.12345000000000000417
  EXPECT_EQ(round4(0.00015), 0.0001);  // 0.00014999999999999998685
  EXPECT_EQ(round4(0.03125), 0.0312);  // exactly half: to even
  EXPECT_EQ(round4(0.09375), 0.0938);  // exactly half: to even
  EXPECT_EQ(round4(2.5), 2.5);
  EXPECT_EQ(round4(0.99995), 1.0);  // 0.99995000000000000551
}

TEST(Answer, SumsOfALargeRowFollowNumpyNotTheOrderOfTheArray) {
  std::vector<float> terms(1000);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = 1.0F / static_cast<float>(i + 1);
  struct Golden {
    std::size_t count;
    float sum;
  };
  // numpy.float32 sums of 1/1 ... 1/n, printed as hexadecimal floats.
  const Golden goldens[] = {
#include "numpy_sums.inc"
  };
  int differs_from_sequential = 0;
  for (const Golden& golden : goldens) {
    const std::span<const float> part(terms.data(), golden.count);
    EXPECT_EQ(numpy_sum(part), golden.sum) << golden.count;
    differs_from_sequential += std::accumulate(part.begin(), part.end(), 0.0F) != golden.sum;
  }
  EXPECT_GE(differs_from_sequential, 3);  // the canary: adding in order would be noticed
}

TEST(Answer, ProbabilitiesOfRandomRowsAddUp) {
  base::Random random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<float> logits(1 + random.below(100));
    for (float& z : logits) z = random.uniform_float(-8, 8);
    const Answer answer = decode(QuestionType::kChoice, logits);
    double sum = 0;
    for (const float p : answer.exact) sum += p;
    ASSERT_NEAR(sum, 1.0, 1e-5);
    ASSERT_EQ(answer.answer_confidence, answer.probabilities[answer.best]);
    ASSERT_GE(answer.confidence, 0.0);
    ASSERT_LE(answer.confidence, 1.0);
  }
}

TEST(Answer, ALogitThatIsNoNumberIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW((void)decode(QuestionType::kNoul, {0, nan}), base::Error);
  EXPECT_THROW((void)decode(QuestionType::kNoul, {0, 0}, {nan, 0}), base::Error);
}

TEST(Answer, ObjectsPrintAsTheOriginalPrintsThem) {
  Question choice = with_options(QuestionType::kChoice, 2);
  choice.labels[0] = PyValue::of_int(7);
  const auto value = [](const Question& q, const std::vector<float>& logits) {
    return python_dumps(
        answer_value(q, decode_answer(q, logits, std::vector<float>{3000, -3000}, english())));
  };
  EXPECT_EQ(value(choice, {2, 2}),
            R"({"type": "choice", "choice": 7, "probabilities": {"7": 0.5, "o1": 0.5}, )"
            R"("confidence": 0.0, "answer_confidence": 0.5, "action": {"act_probability": 1.0}})");
  EXPECT_THAT(
      value(with_options(QuestionType::kScore, 3), {0.25F, 1.5F, -0.5F}),
      testing::StartsWith(
          R"({"type": "score", "score": 0.8943, "legend": {"0": "o0", "1": "o1", "2": "o2")"));
  EXPECT_EQ(value(with_options(QuestionType::kNoul, 2), {0, 0}),
            R"({"type": "noul", "noul": 0.5, "confidence": 0.5, "answer_confidence": 0.5, )"
            R"("action": {"act_probability": 1.0}})");
}

}  // namespace
}  // namespace abba::text
