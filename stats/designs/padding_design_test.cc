// SPDX-License-Identifier: MIT
// Padding studies as a design of an experiment: from rows to verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/tests/estimate.h"
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
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("in only one arm. Number of these seeds: 1.")));
}

// One run of the seed's arm (1 is the later arm) loses its number, which lies between the limits.
void lose(Study& study, std::uint32_t seed, std::uint32_t arm, double at_least, double at_most) {
  const Column& arms = study.data.columns[1];
  const Column& seeds = study.data.columns[2];
  for (std::size_t row = 0; row < study.data.response.size(); ++row) {
    if (seeds.codes[row] != seed || arms.codes[row] != arm) continue;
    study.data.lost.push_back({.codes = {0, arm, seed}, .at_least = at_least, .at_most = at_most});
    study.data.response.erase(study.data.response.begin() + static_cast<std::ptrdiff_t>(row));
    for (Column& column : study.data.columns)
      column.codes.erase(column.codes.begin() + static_cast<std::ptrdiff_t>(row));
    study.data.lists_lost = true;
    return;
  }
}

// The bounds are those of two studies that have the lost run, once as fast and once as slow as it may
// have been; the interval reaches beyond them by their error.
TEST(PaddingDesign, LostRunsBoundTheChange) {
  Study study = simulate(6, 12, 3, -0.30);
  const double lost = study.trials[2].after[0];
  lose(study, 2, 1, 0.5e6, 1.5e6);
  const Effect effect = analyse(study.data, spec_of()).effects.at(0);
  ASSERT_TRUE(effect.loss_low && effect.loss_high);
  EXPECT_EQ(effect.loss_bounds, Losses::extremes);
  std::vector<SeedTrials> low = study.trials;
  low[2].after[0] = 0.5e6;
  std::vector<SeedTrials> high = study.trials;
  high[2].after[0] = 1.5e6;
  const auto least = padding_study(low, 0.05);
  const auto most = padding_study(high, 0.05);
  EXPECT_LT(*effect.loss_low, 1 + least->mean / 100);
  EXPECT_GE(*effect.loss_low, 1 + least->interval.low / 100);
  EXPECT_GT(*effect.loss_high, 1 + most->mean / 100);
  EXPECT_LE(*effect.loss_high, 1 + most->interval.high / 100);
  EXPECT_LT(lost, 1.5e6);
  EXPECT_EQ(effect.verdict, Verdict::faster);
  EXPECT_TRUE(effect.loss_p);
}

TEST(PaddingDesign, ATimeoutThatMayReverseTheChangeTakesTheVerdictBack) {
  Study study = simulate(7, 12, 1, -0.02);
  EXPECT_EQ(analyse(study.data, spec_of()).effects.at(0).verdict, Verdict::faster);
  lose(study, 2, 1, 10e6, std::numeric_limits<double>::infinity());
  const Analysis analysis = analyse(study.data, spec_of());
  const Effect& effect = analysis.effects.at(0);
  EXPECT_FALSE(effect.loss_high);
  EXPECT_EQ(effect.verdict, Verdict::unsure);
  EXPECT_EQ(effect.reason, "the missing trials may reverse the change");
  // A timeout at the baseline only makes the change larger.
  Study other = simulate(7, 12, 1, -0.02);
  lose(other, 2, 0, 1.2e6, std::numeric_limits<double>::infinity());
  const Effect kept = analyse(other.data, spec_of()).effects.at(0);
  EXPECT_EQ(kept.verdict, Verdict::faster);
  EXPECT_FALSE(kept.loss_low);
}

TEST(PaddingDesign, ASeedWithOneArmHasLostTheOther) {
  Study study = simulate(8, 12, 1, 0.02);
  study.data.response[3] = std::nan("");
  Spec spec = spec_of();
  EXPECT_EQ(analyse(study.data, spec).effects.at(0).verdict, Verdict::unsure);
  spec.losses = Losses::random;
  EXPECT_EQ(analyse(study.data, spec).effects.at(0).verdict, Verdict::slower);
  // Also where its row is missing altogether.
  lose(study, 1, 1, 0, 0);
  study.data.lost.clear();
  study.data.lists_lost = false;
  const Analysis without = analyse(study.data, spec_of());
  EXPECT_EQ(without.effects.at(0).verdict, Verdict::unsure);
  EXPECT_EQ(without.effects.at(0).reason, "the missing trials may reverse the change");
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
