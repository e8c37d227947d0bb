// SPDX-License-Identifier: MIT
// The paper's procedure on data of its shape: 18 programs, 2 levels, 30 runs. Expected values:
// make.R.
#include "stats/analyse/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/analyse/analyse.h"
#include "stats/numbers/distribution.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

Dataset suite() {
  return oracle::programs(5, {.subjects = 18, .opt = 2, .aslr = 1, .blocks = 30});
}

Spec spec_of(std::string block, std::string treatment = "opt") {
  Spec spec;
  spec.subject = "bench";
  spec.treatments = {std::move(treatment)};
  spec.block = std::move(block);
  return paper_spec(spec);
}

TEST(Paper, TheSuitesTableIsThatOfRsAov) {
  const Analysis analysis = analyse(suite(), spec_of("block"));
  ASSERT_EQ(analysis.tables.size(), 2U);
  EXPECT_EQ(analysis.tables[0].formula, "wall ~ opt + Error(bench/opt)");
  oracle::expect_table(analysis.tables[0], {{"bench", "Residuals", 17, 7.33438591007157e+19},
                                            {"bench:opt", "opt", 1, 8.66187407897247e+16,
                                             35.0870186873177, 1.66814449198082e-05},
                                            {"bench:opt", "Residuals", 17, 4.19676178973156e+16},
                                            {"Within", "Residuals", 1044, 2.1198316928649e+16}});
}

TEST(Paper, ThePublishedFsHaveThePublishedPs) {
  EXPECT_NEAR(*f_tail(3.235, 1, 17), 0.0898, 1e-4);
  EXPECT_NEAR(*f_tail(1.335, 1, 17), 0.264, 5e-4);
}

TEST(Paper, EachProgramAtEachLevelIsTestedForNormality) {
  const Analysis analysis = analyse(suite(), spec_of("block"));
  ASSERT_EQ(analysis.assumptions.size(), 36U);
  EXPECT_EQ(analysis.assumptions[0].test, "Shapiro-Wilk");
  EXPECT_EQ(analysis.assumptions[0].of, "trials at opt O1");
  expect_close(analysis.assumptions[0].p, 0.0882366279426919, 1e-6);
  expect_close(analysis.assumptions[1].p, 0.224271227422598, 1e-6);
}

TEST(Paper, NormalProgramsAreComparedByStudentsTest) {
  const Effect effect = analyse(suite(), spec_of("block")).effects.at(1);
  EXPECT_EQ(effect.method, "Student's t");
  expect_close(effect.p, 9.89782123113088e-18, 1e-6);
}

// The tenth fails Shapiro-Wilk at O1.
TEST(Paper, OthersAreComparedByWilcoxonsTest) {
  const Effect paired = analyse(suite(), spec_of("block")).effects.at(9);
  EXPECT_EQ(paired.method, "Wilcoxon signed-rank");
  expect_close(paired.p, 1.86264514923096e-09, 1e-6);
  const Effect unpaired = analyse(suite(), spec_of("")).effects.at(9);
  EXPECT_EQ(unpaired.method, "Wilcoxon rank-sum");
  expect_close(unpaired.p, 3.38224677842896e-17, 1e-6);
}

TEST(Paper, OnceAndRepeatedRandomizationAreComparedInTheirVariance) {
  Dataset data = suite();
  data.columns[1].name = "rerandomize";
  const Analysis analysis = analyse(data, spec_of("block", "rerandomize"));
  int tests = 0;
  for (const Assumption& a : analysis.assumptions) tests += a.test == "Brown-Forsythe" ? 1 : 0;
  EXPECT_EQ(tests, 18);
  EXPECT_EQ(analysis.assumptions[2].of, "trials by rerandomize");
}

TEST(Paper, OtherTreatmentsVariancesAreNotCompared) {
  for (const Assumption& a : analyse(suite(), spec_of("block")).assumptions)
    EXPECT_EQ(a.property, Property::normality);
}

}  // namespace
}  // namespace stab::stats
