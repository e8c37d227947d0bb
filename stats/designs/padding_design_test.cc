// SPDX-License-Identifier: MIT
// Padding studies as a design of an experiment: from rows to verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "stats/analyse/analyse.h"
#include "stats/oracle/simulate.h"
#include "stats/tests/padding_study.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Spec spec_of() {
  Spec spec;
  spec.design = Design::padding_study;
  spec.subject = "benchmark";
  spec.treatments = {"opt"};
  spec.seed = "link_padding";
  spec.log_scale = false;
  return spec;
}

struct Study {
  Dataset data{};
  std::vector<SeedTrials> trials{};
};

// A seed's luck is the same in both arms; runs differ by little.
Study simulate(std::uint64_t number, std::size_t seeds, std::size_t runs, double effect) {
  oracle::Normal normal(number);
  Study study;
  study.data.centre = 1e6;
  study.data.columns = {
      {"benchmark", {"b"}, {}}, {"opt", {"O2", "O3"}, {}}, {"link_padding", {}, {}}};
  study.trials.resize(seeds);
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    study.data.columns[2].levels.push_back("s" + std::to_string(seed));
    const double luck = std::exp(0.05 * normal.next());
    const double own = effect + 0.01 * normal.next();
    for (std::uint32_t arm = 0; arm < 2; ++arm)
      for (std::size_t run = 0; run < runs; ++run) {
        const double time = 1e6 * luck * (1 + own * arm) * std::exp(0.001 * normal.next());
        (arm == 0 ? study.trials[seed].before : study.trials[seed].after).push_back(time);
        study.data.response.push_back(time - study.data.centre);
        study.data.columns[0].codes.push_back(0);
        study.data.columns[1].codes.push_back(arm);
        study.data.columns[2].codes.push_back(seed);
      }
  }
  return study;
}

TEST(PaddingDesign, GivesWhatTheFunctionOfPlainSamplesGives) {
  const Study study = simulate(1, 12, 5, 0.03);
  const auto plain = padding_study(study.trials, 0.05);
  const Analysis analysis = analyse(study.data, spec_of());
  ASSERT_EQ(analysis.effects.size(), 1U);
  const Effect& effect = analysis.effects.front();
  EXPECT_NEAR(*effect.ratio, 1 + plain->mean / 100, 1e-12);
  EXPECT_NEAR(*effect.low, 1 + plain->interval.low / 100, 1e-12);
  EXPECT_NEAR(*effect.high, 1 + plain->interval.high / 100, 1e-12);
  EXPECT_NEAR(*effect.p / plain->p, 1, 1e-9);
  EXPECT_EQ(effect.df, 11);
  EXPECT_EQ(effect.verdict, Verdict::slower);
  ASSERT_EQ(analysis.padding.size(), 1U);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(analysis.padding[0].percent[i], plain->percent[i], 1e-10);
  EXPECT_EQ(analysis.padding[0].seeds[3], "s3");
}

TEST(PaddingDesign, ItsTableIsTheTTestOfTheSeeds) {
  const Study study = simulate(2, 8, 3, 0.02);
  const Analysis analysis = analyse(study.data, spec_of());
  ASSERT_EQ(analysis.tables.size(), 1U);
  const AnovaTable& table = analysis.tables.front();
  EXPECT_EQ(table.formula, "100 * (mean(wall[O3]) / mean(wall[O2]) - 1) ~ 1");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].stratum, "link_padding:opt");
  EXPECT_EQ(table.rows[1].df, 7);
  EXPECT_NEAR(*table.rows[0].p / *analysis.effects[0].p, 1, 1e-9);
}

TEST(PaddingDesign, EqualWithinTheMarginIsTheSame) {
  Spec spec = spec_of();
  spec.equivalence = 0.05;
  const Analysis same = analyse(simulate(3, 20, 3, 0).data, spec);
  EXPECT_EQ(same.effects[0].verdict, Verdict::same);
  EXPECT_GT(*same.effects[0].tost_low, *same.effects[0].low);
  spec.equivalence = 0.0001;
  EXPECT_NE(analyse(simulate(3, 20, 3, 0).data, spec).effects[0].verdict, Verdict::same);
}

// 1000 studies without an effect, 200 more at exactly the margin of equivalence.
TEST(PaddingDesign, IsWrongAsRarelyAsItSays) {
  int rejected = 0;
  for (std::uint64_t i = 0; i < 1000; ++i)
    rejected += *analyse(simulate(1000 + i, 6, 1, 0).data, spec_of()).effects[0].p < 0.05 ? 1 : 0;
  EXPECT_NEAR(rejected, 50, 21);  // three standard deviations
  int same = 0;
  Spec spec = spec_of();
  spec.equivalence = 0.03;
  for (std::uint64_t i = 0; i < 1000; ++i)
    same += *analyse(simulate(5000 + i, 6, 1, 0.03).data, spec).effects[0].p_same < 0.05 ? 1 : 0;
  EXPECT_LE(same, 71);
}

TEST(PaddingDesign, ASeedThatOneArmLostIsLeftOut) {
  Study study = simulate(4, 6, 1, 0.02);
  study.data.response[3] = std::nan("");  // the second seed's later arm
  const Analysis analysis = analyse(study.data, spec_of());
  EXPECT_EQ(analysis.padding[0].seeds.size(), 5U);
  EXPECT_THAT(analysis.padding[0].seeds, ElementsAre("s0", "s2", "s3", "s4", "s5"));
  EXPECT_THAT(analysis.notes,
              Contains(HasSubstr("that have trials in only one arm are left out: 1.")));
}

TEST(PaddingDesign, OneSeedIsNoStudyAndSaysSo) {
  const Analysis analysis = analyse(simulate(5, 1, 4, 0.02).data, spec_of());
  ASSERT_EQ(analysis.effects.size(), 1U);
  EXPECT_FALSE(analysis.effects[0].p);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::unsure);
  EXPECT_THAT(analysis.notes, Contains("b: a padding study needs at least two seeds."));
}

}  // namespace
}  // namespace stab::stats
