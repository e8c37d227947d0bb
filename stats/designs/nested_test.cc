// SPDX-License-Identifier: MIT
// Expected values: make.R.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using oracle::expect_table;
using testing::Contains;
using testing::HasSubstr;

Analysis nested(const Dataset& data) {
  Spec spec;
  spec.design = Design::nested;
  spec.treatments = {"opt"};
  spec.seed = "seed";
  spec.one_after_other = true;  // one level's rows come before the other's
  return analyse(data, spec);
}

TEST(Nested, TheTreatmentIsTestedAgainstTheVariationBetweenSeeds) {
  const Dataset data = oracle::seeds(3, 2, 6, 3);
  ASSERT_EQ(oracle::sum(data.response), 14229034699);
  const Analysis analysis = nested(data);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].formula, "log(wall) ~ opt + Error(opt:seed)");
  expect_table(analysis.tables[0],
               {{"opt:seed", "opt", 1, 0.00191925991360452, 2.12072664542653, 0.175985926263883},
                {"opt:seed", "Residuals", 10, 0.009050010842951},
                {"Within", "Residuals", 24, 0.000194370132675504}});
  ASSERT_EQ(analysis.effects.size(), 1U);
  EXPECT_GT(*analysis.effects[0].p, 0.17598);  // Welch's, of equally many seeds
  EXPECT_LT(*analysis.effects[0].p, 0.19);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::unsure);
  EXPECT_THAT(analysis.notes, testing::IsEmpty());
}

TEST(Nested, VarianceComponentsAreThoseOfTheMeanSquares) {
  const Analysis analysis = nested(oracle::seeds(3, 2, 6, 3));
  ASSERT_EQ(analysis.components.size(), 1U);
  expect_close(analysis.components[0].between, 0.000298967442922318);
  expect_close(analysis.components[0].within, 8.09875552814599e-06);
  expect_close(analysis.components[0].p, 1.25617605754925e-17, 1e-7);
}

TEST(Nested, LostRunsGiveTheComponentsOfUnequalNumbers) {
  const Analysis analysis = nested(oracle::without_rows(oracle::seeds(3, 2, 6, 3), {1, 2, 14, 30}));
  ASSERT_EQ(analysis.components.size(), 1U);
  expect_close(analysis.components[0].between, 0.000293053201532303);
  expect_close(analysis.components[0].within, 7.44003664566461e-06);
  expect_close(analysis.components[0].p, 5.78571857310711e-15, 1e-7);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("unequal numbers of runs")));
}

TEST(Nested, SeedsThatDoNotMatterHaveNoNegativeVariance) {
  Dataset data;
  data.columns = {oracle::column("opt", 2, "O"), oracle::column("seed", 2, "s")};
  for (std::uint32_t i = 0; i < 16; ++i) {  // all of the variation is between the runs of a seed
    data.response.push_back(100 + 10 * (i % 2) + (i < 8 ? 0 : 1));
    data.columns[0].codes.push_back(i / 8);
    data.columns[1].codes.push_back(i / 4 % 2);
  }
  const Analysis analysis = nested(data);
  ASSERT_EQ(analysis.components.size(), 1U);
  EXPECT_EQ(analysis.components[0].between, 0);
  EXPECT_GT(*analysis.components[0].within, 0);
}

TEST(Nested, OneRunOfEachSeedHasNoWithinAndSaysSo) {
  const Analysis analysis = nested(oracle::seeds(3, 2, 6, 1));
  ASSERT_EQ(analysis.components.size(), 1U);
  EXPECT_FALSE(analysis.components[0].between);
  EXPECT_FALSE(analysis.components[0].within);
  EXPECT_TRUE(analysis.tables.at(0).rows.at(0).p);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("was run once")));
}

TEST(Nested, OneSeedACellTestsNothingAndSaysSo) {
  const Analysis analysis = nested(oracle::seeds(3, 2, 1, 5));
  EXPECT_FALSE(analysis.tables.at(0).rows.at(0).p);
  ASSERT_EQ(analysis.effects.size(), 1U);
  EXPECT_TRUE(analysis.effects[0].ratio);
  EXPECT_FALSE(analysis.effects[0].low);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("treatments can't be tested")));
}

}  // namespace
}  // namespace stab::stats
