// SPDX-License-Identifier: MIT
// Expected values: make.R. And that the tests keep their level in the designs that they are for.
#include "stats/designs/assumptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "stats/analyse/analyse.h"
#include "stats/designs/effects.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Dataset two_by_two() {
  return oracle::programs(41, {.subjects = 1, .opt = 2, .aslr = 2, .blocks = 20});
}

Spec blocked(std::vector<std::string> treatments = {"opt", "aslr"}) {
  Spec spec;
  spec.treatments = std::move(treatments);
  spec.block = "block";
  return spec;
}

const Assumption* find(const Analysis& analysis, const std::string& test,
                       const std::string& subject = "") {
  for (const Assumption& a : analysis.assumptions)
    if (a.test == test && a.subject == subject) return &a;
  ADD_FAILURE() << "no " << test;
  return nullptr;
}

const Alternative* find(const Effect& effect, const std::string& method) {
  for (const Alternative& other : effect.alternatives)
    if (other.method == method) return &other;
  ADD_FAILURE() << "no " << method;
  return nullptr;
}

TEST(Assumptions, TestsOfABlockedFactorialAgreeWithR) {
  ASSERT_EQ(oracle::sum(two_by_two().response), 16013218557);
  Spec spec = blocked();
  spec.error = Error::pooled;
  const Analysis analysis = analyse(two_by_two(), spec);
  expect_close(find(analysis, "Shapiro-Wilk")->p, 0.173529517929484, 1e-6);
  expect_close(find(analysis, "Brown-Forsythe")->statistic, 0.299354383128336);
  expect_close(find(analysis, "Brown-Forsythe")->p, 0.825757327830592, 1e-8);
  const Assumption* lag = find(analysis, "lag-1 autocorrelation");
  EXPECT_EQ(lag->n, 60U);
  expect_close(lag->statistic, -0.0869356370775944, 1e-8);
  expect_close(lag->p, 0.756680988558704, 1e-8);
}

TEST(Assumptions, TheSignedRankTestStandsBesideABlockedEffect) {
  Spec spec = blocked();
  spec.independent_blocks = true;  // as R's paired t-test has it
  const Effect effect = analyse(two_by_two(), spec).effects.at(0);
  expect_close(effect.ratio, 0.953612762606241);
  expect_close(effect.p, 3.97693744434839e-22, 1e-6);
  expect_close(find(effect, "signed-rank")->p, 1.9073486328125e-06, 1e-6);
}

// The first change varies ten times as much from block to block as the second.
TEST(Assumptions, APooledErrorOfTreatmentsThatActDifferentlyFromBlockToBlockIsRejected) {
  Dataset data = oracle::programs(3, {.subjects = 1, .opt = 3, .aslr = 1, .blocks = 40});
  oracle::Generator random(9);
  for (std::size_t i = 0; i < data.response.size(); ++i)
    data.response[i] = 1e8 * (1 + (data.columns[1].codes[i] == 1 ? 0.1 : 0.01) * random.noise());
  Spec spec = blocked({"opt"});
  spec.error = Error::pooled;
  const Analysis analysis = analyse(data, spec);
  const auto pooled =
      std::ranges::find(analysis.assumptions, "contrasts within blocks", &Assumption::of);
  ASSERT_NE(pooled, analysis.assumptions.end());
  EXPECT_FALSE(pooled->holds);
  EXPECT_FALSE(pooled->is_allowed_for);
  EXPECT_THAT(pooled->instead, HasSubstr("own"));
}

TEST(Assumptions, RankAndPermutationTestsStandBesideAnUnblockedEffect) {
  Spec spec = blocked({"opt"});
  spec.block.clear();
  spec.subject = "bench";
  const Dataset data = oracle::programs(5, {.subjects = 18, .opt = 2, .aslr = 1, .blocks = 30});
  const Effect effect = analyse(data, spec).effects.at(1);
  expect_close(find(effect, "rank-sum")->p, 1.54737790113125e-14, 1e-6);
  expect_close(find(effect, "permutation")->p, 1e-4);
}

TEST(Assumptions, InteractionsOfThePooledModelAgreeWithR) {
  Spec spec = blocked();
  spec.error = Error::pooled;
  const Analysis analysis = analyse(two_by_two(), spec);
  const Interaction& both = analysis.interactions.at(0);
  EXPECT_EQ(both.term, "opt:aslr");
  expect_close(both.ratio, 0.970783554260342);
  expect_close(both.low, 0.966501300730787);
  expect_close(both.high, 0.975084781065233);
  expect_close(both.p, 2.63756673207884e-19, 1e-6);
  ASSERT_TRUE(both.spread);
  EXPECT_LT(both.spread->low, both.spread->ratio);
  EXPECT_GT(both.spread->high, both.spread->ratio);
}

TEST(Assumptions, SharesOfTheSuiteAgreeWithR) {
  Spec spec = blocked({"opt"});
  spec.design = Design::within_subjects;
  spec.subject = "bench";
  spec.block.clear();
  const Analysis analysis =
      analyse(oracle::programs(11, {.subjects = 6, .opt = 2, .aslr = 1, .blocks = 5}), spec);
  const AnovaRow& row = analysis.tables.at(0).rows.at(1);
  expect_close(row.eta2, 0.840878189819984, 1e-8);
  expect_close(row.omega2, 0.784100334855003, 1e-8);
  expect_close(row.eta2_low, 0.348509875281089, 1e-6);
  expect_close(row.eta2_high, 0.903211674439006, 1e-6);
}

TEST(Assumptions, SkewedResidualsAreFoundAndTheReportSaysWhatHolds) {
  Dataset data = oracle::programs(3, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 40});
  oracle::Generator random(9);
  for (double& x : data.response) x = 1e8 * (1 + std::pow(-std::log(random.uniform()), 3));
  Spec spec = blocked({"opt"});
  spec.log_scale = false;
  const Analysis analysis = analyse(data, spec);
  EXPECT_FALSE(find(analysis, "Shapiro-Wilk")->holds);
  EXPECT_EQ(find(analysis, "Shapiro-Wilk")->instead, "the signed-rank test is still valid");
  EXPECT_TRUE(find(analysis.effects.at(0), "log scale") != nullptr);
}

// Verdicts need no normal distribution if the randomization test must agree.
TEST(Assumptions, NormalityIsAllowedForUnlessBlocksAreTooFewForTheRandomizationTest) {
  const auto skewed = [](std::uint32_t blocks, bool order_drawn, double change) {
    Dataset data = oracle::programs(3, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = blocks});
    for (std::size_t i = 0; i < data.response.size(); ++i) {
      const std::uint32_t block = data.columns[3].codes[i];
      const bool is_level = data.columns[1].codes[i] == 1;
      // The last block's change is far from the others.
      data.response[i] = 1e8 + block + (is_level ? change + block % 3 : 0) +
                         (is_level && block + 1 == blocks ? 2000 : 0);
    }
    Spec spec = blocked({"opt"});
    spec.log_scale = false;
    spec.order_drawn = order_drawn;
    return analyse(data, spec);
  };
  const Analysis many = skewed(40, true, 1e6);
  const Assumption* normality = find(many, "Shapiro-Wilk");
  ASSERT_EQ(many.effects.at(0).verdict, Verdict::slower);
  EXPECT_FALSE(normality->holds);
  EXPECT_TRUE(normality->is_allowed_for);
  EXPECT_THAT(normality->instead, HasSubstr("they also need the randomization test"));
  const Analysis not_drawn = skewed(40, false, 1e6);
  EXPECT_FALSE(find(not_drawn, "Shapiro-Wilk")->is_allowed_for);
  EXPECT_EQ(find(not_drawn, "Shapiro-Wilk")->instead, "the signed-rank test is still valid");
  // Five blocks have 32 orders.
  const Analysis few = skewed(5, true, 1e6);
  ASSERT_EQ(few.effects.at(0).verdict, Verdict::slower);
  ASSERT_FALSE(find(few, "Shapiro-Wilk")->holds);
  EXPECT_FALSE(find(few, "Shapiro-Wilk")->is_allowed_for);
  // Without a verdict there is only the interval, which assumes a normal distribution.
  const Analysis open = skewed(40, true, 0);
  ASSERT_EQ(open.effects.at(0).verdict, Verdict::unsure);
  EXPECT_FALSE(find(open, "Shapiro-Wilk")->is_allowed_for);
  EXPECT_EQ(find(open, "Shapiro-Wilk")->instead, "the signed-rank test is still valid");
}

// Machines that share no block have no randomization test of their mean.
TEST(Assumptions, NormalityIsNotAllowedForIfAVerdictOverAllHasNoRandomizationTest) {
  constexpr std::uint32_t blocks = 40;
  for (const bool disjoint : {false, true}) {
    Dataset data = oracle::programs(3, {.subjects = 2, .opt = 2, .aslr = 1, .blocks = blocks});
    for (std::size_t i = 0; i < data.response.size(); ++i) {
      const std::uint32_t block = data.columns[3].codes[i];
      const bool is_level = data.columns[1].codes[i] == 1;
      data.response[i] = 1e8 + block + (is_level ? 1e6 + block % 3 : 0) +
                         (is_level && block + 1 == blocks ? 2000 : 0);
      if (disjoint) data.columns[3].codes[i] += blocks * data.columns[0].codes[i];
    }
    if (disjoint)
      data.columns[3] = {.name = "block",
                         .levels = oracle::column("block", 2 * blocks, "").levels,
                         .codes = data.columns[3].codes};
    Spec spec = blocked({"opt"});
    spec.design = Design::within_subjects;
    spec.subject = "bench";
    spec.programs = Programs::these;
    spec.log_scale = false;
    spec.order_drawn = true;
    const Analysis analysis = analyse(data, spec);
    const auto all = std::ranges::find(analysis.effects, Scope::these, &Effect::scope);
    ASSERT_NE(all, analysis.effects.end());
    ASSERT_EQ(all->verdict, Verdict::slower);
    EXPECT_EQ(all->randomization.has_value(), !disjoint);
    const Assumption* normality = find(analysis, "Shapiro-Wilk", "b1");
    ASSERT_NE(normality, nullptr);
    ASSERT_FALSE(normality->holds);
    EXPECT_EQ(normality->is_allowed_for, !disjoint);
  }
}

TEST(Assumptions, UnequalVariancesOfCellsAreNotAllowedForIfTheErrorIsPooled) {
  Dataset data = oracle::programs(3, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 40});
  oracle::Generator random(9);
  for (std::size_t i = 0; i < data.response.size(); ++i)
    data.response[i] = 1e8 * (1 + (data.columns[1].codes[i] == 0 ? 0.01 : 0.1) * random.noise());
  Spec spec = blocked({"opt"});
  spec.error = Error::pooled;
  const Analysis analysis = analyse(data, spec);
  std::size_t rejected = 0;
  for (const Assumption& each : analysis.assumptions) {
    if (each.property != Property::equal_variances || each.holds) continue;
    ++rejected;
    EXPECT_FALSE(each.is_allowed_for) << each.of;
    EXPECT_THAT(each.instead, HasSubstr("use error = \"own\"")) << each.of;
  }
  EXPECT_GT(rejected, 0U);
}

TEST(Assumptions, UnequalVariancesAreFound) {
  Dataset data = oracle::programs(3, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 40});
  oracle::Generator random(9);
  for (std::size_t i = 0; i < data.response.size(); ++i)
    data.response[i] = 1e8 * (1 + (data.columns[1].codes[i] == 0 ? 0.01 : 0.1) * random.noise());
  Spec spec = blocked({"opt"});
  spec.block.clear();
  const Analysis analysis = analyse(data, spec);
  EXPECT_FALSE(find(analysis, "Brown-Forsythe")->holds);
  EXPECT_THAT(find(analysis, "Brown-Forsythe")->instead, HasSubstr("do not pool variances"));
  EXPECT_TRUE(find(analysis, "Brown-Forsythe")->is_allowed_for);
  EXPECT_LT(analysis.effects.at(0).spread->p, 1e-6);
  EXPECT_GT(analysis.effects.at(0).spread->low, 10);
}

TEST(Assumptions, TrialsThatFollowEachOtherAreFound) {
  Dataset data = oracle::programs(3, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 60});
  oracle::Generator random(9);
  double drift = 0;
  for (double& x : data.response) {
    drift = 0.9 * drift + 0.01 * random.noise();
    x = 1e8 * std::exp(drift);
  }
  Spec spec = blocked({"opt"});
  spec.block.clear();
  const Analysis analysis = analyse(data, spec);
  EXPECT_FALSE(find(analysis, "lag-1 autocorrelation")->holds);
  EXPECT_FALSE(find(analysis, "runs")->holds);
  EXPECT_FALSE(find(analysis, "runs")->is_allowed_for) << "trials without blocks";
}

// Rows of a file whose order is not that of time would nearly always fail.
TEST(Assumptions, IndependenceIsTestedOnlyInTheOrderOfTime) {
  for (const bool blocks : {true, false}) {
    Spec spec = blocked();
    if (!blocks) spec.block.clear();
    spec.in_order = false;
    const Analysis analysis = analyse(two_by_two(), spec);
    for (const Assumption& a : analysis.assumptions) EXPECT_NE(a.property, Property::independence);
    EXPECT_THAT(analysis.notes, Contains(HasSubstr("ndependence is not tested")));
  }
}

// Few seeds with many alike runs each: taken for independent, the runs would reject nearly always.
TEST(Assumptions, NestedDesignsCompareTheVariancesOfSeeds) {
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Spec spec;
    spec.design = Design::nested;
    spec.treatments = {"opt"};
    spec.seed = "seed";
    const Analysis analysis = analyse(oracle::seeds(seed, 2, 6, 20), spec);
    const Assumption* test = find(analysis, "Brown-Forsythe");
    EXPECT_EQ(test->n, 12U);
    rejected += test->holds ? 0 : 1;
  }
  EXPECT_LE(rejected, 20);  // 10 are right; Brown-Forsythe is careful with six numbers
}

TEST(Assumptions, TheyCanBeLeftOut) {
  Spec spec = blocked();
  spec.assumptions = false;
  const Analysis analysis = analyse(two_by_two(), spec);
  EXPECT_THAT(analysis.assumptions, IsEmpty());
  EXPECT_TRUE(analysis.interactions.at(0).p);
  EXPECT_FALSE(analysis.interactions.at(0).spread);
  EXPECT_THAT(analysis.effects.at(0).alternatives, IsEmpty());
  EXPECT_TRUE(analysis.effects.at(0).p);
}

double gaussian(Random& random) {
  const auto uniform = [&] {
    return (static_cast<double>(random.next() >> 11) + 0.5) / 9007199254740992.0;
  };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

// Blocks tie residuals together: with two cells they are each other's negatives. None of the tests
// may take that for a failure: of 1000 experiments each rejects about 50, give or take 7.
class Level : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Level, TrueAssumptionsAreRejectedAsOftenAsAlpha) {
  constexpr int rounds = 1000;
  Random random(11);
  std::map<std::string, int> rejected;
  for (int round = 0; round < rounds; ++round) {
    Dataset data = oracle::programs(1, {.subjects = 1, .opt = GetParam(), .aslr = 1, .blocks = 20});
    double speed = 0;
    for (std::size_t i = 0; i < data.response.size(); ++i) {
      if (data.columns[1].codes[i] == 0) speed = 0.01 * gaussian(random);
      data.response[i] = 1e8 * std::exp(speed + 0.01 * gaussian(random));
    }
    for (const Assumption& a : analyse(data, blocked({"opt"})).assumptions)
      rejected[a.test] += a.holds ? 0 : 1;
  }
  EXPECT_EQ(rejected.size(), 3U);
  for (const auto& [test, count] : rejected) {
    // The two tests of independence share alpha: each rejects about 25, give or take 5.
    const bool shares = test == "runs" || test == "lag-1 autocorrelation";
    EXPECT_LE(count, shares ? 40 : 71) << test;
    // Contrasts have the spread that was divided out of them; the runs test is discrete.
    EXPECT_GE(count, test == "runs" ? 2 : shares ? 8 : 20) << test;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, Level, ::testing::Values(2, 3, 6));

}  // namespace
}  // namespace stab::stats
