// Numbers from SciPy 1.17.1 (scipy.stats.t.ppf, t.sf) and from counting by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/stats/distributions.h"

namespace abba::stats {
namespace {

TEST(Distributions, student_quantiles_are_scipys) {
  EXPECT_NEAR(student_quantile(0.975, 5), 2.5705818356363146, 1e-12);
  EXPECT_NEAR(student_quantile(0.9875, 11), 2.593092682539364, 1e-12);
  EXPECT_NEAR(student_quantile(0.95, 1), 6.313751514675037, 1e-11);
  EXPECT_NEAR(student_quantile(0.9995, 3), 12.923978636687961, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 1e6), 1.959966356814107, 1e-11);
}

TEST(Distributions, student_tails_are_scipys) {
  EXPECT_NEAR(student_two_sided_p(2.5, 5), 0.05449009934237626, 1e-14);
  EXPECT_NEAR(student_two_sided_p(-10, 2), 0.00985245702332569, 1e-14);
  EXPECT_DOUBLE_EQ(student_two_sided_p(0, 7), 1);
  EXPECT_DOUBLE_EQ(student_two_sided_p(INFINITY, 7), 0);
  EXPECT_DOUBLE_EQ(student_upper_p(-INFINITY, 7), 1);
}

TEST(Distributions, signed_rank_law_of_three_ranks_is_counted_by_hand) {
  // Subsets of {1,2,3} by sum: 0,1,2,3(two),4,5,6; the argument is doubled.
  const auto law = signed_rank_law({2, 4, 6});
  ASSERT_EQ(law.size(), 13U);
  const double each = 1.0 / 8;
  for (const int sum : {0, 1, 2, 4, 5, 6}) {
    EXPECT_DOUBLE_EQ(law[static_cast<std::size_t>(2 * sum)], each) << sum;
  }
  EXPECT_DOUBLE_EQ(law[6], 2 * each);
  EXPECT_DOUBLE_EQ(law[1], 0);
}

TEST(Distributions, signed_rank_law_sums_to_one) {
  std::vector<int> ranks;
  for (int i = 1; i <= 60; ++i) {
    ranks.push_back(2 * i);
  }
  double sum = 0;
  for (const double p : signed_rank_law(ranks)) {
    sum += p;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace abba::stats
