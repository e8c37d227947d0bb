// SPDX-License-Identifier: MIT
#include "results/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "report/text.h"
#include "results/export.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two programs with two levels each, with so many blocks, and plain trials in a fifth of them.
std::string with_cost(int blocks, const std::string& more = "") {
  std::string text = tables;
  text.replace(text.find("repetitions = 4"), 15, "repetitions = " + std::to_string(blocks));
  return text + "[analysis]\ncost = true\n" + more;
}

store::Layout moved() {
  return {.randomized = true, .random_code = true, .random_stack = true, .random_heap = false};
}

// About 1 %, which differs from trial to trial.
double noise_of(const Trial& trial) {
  return 0.01 * std::sin(static_cast<double>(trial.position) * 12.9898);
}

class CostTest : public DocumentTest {
 protected:
  // Random layouts cost `share` of the time of trials.
  void measure(double share) {
    run([&](Trial& trial) {
      double time = static_cast<double>(*trial.wall_ns) * std::exp(noise_of(trial));
      if (!is_plain(trial)) {
        trial.layout = moved();
        time *= 1 + share;
      }
      trial.wall_ns = std::llround(time);
    });
  }
};

TEST_F(CostTest, IsTheChangeFromPlainTrialsToTheirCell) {
  begin(with_cost(40));
  measure(0.2);
  const report::Document made = document();
  ASSERT_TRUE(made.cost);
  EXPECT_EQ(made.cost->response, "wall");
  EXPECT_THAT(made.cost->off, ElementsAre("functions", "stack frames"));
  EXPECT_EQ(made.cost->all.benchmark, "");
  EXPECT_EQ(made.cost->all.blocks, 8U);
  EXPECT_NEAR(made.cost->all.ratio.value_or(0), 1.2, 0.02);
  EXPECT_LT(made.cost->all.low.value_or(2), *made.cost->all.ratio);
  EXPECT_GT(made.cost->all.high.value_or(0), *made.cost->all.ratio);
  EXPECT_TRUE(made.cost->is_large());
  ASSERT_EQ(made.cost->benchmarks.size(), 2U);
  EXPECT_EQ(made.cost->benchmarks[1].benchmark, "quick");
  EXPECT_EQ(made.cost->benchmarks[1].blocks, 8U);
  EXPECT_NEAR(made.cost->benchmarks[1].ratio.value_or(0), 1.2, 0.02);
  // They are trials of the experiment, but of no cell.
  EXPECT_EQ(made.trials.ok, 2U * 2 * 40 + 2 * 8);
  EXPECT_EQ(made.trials.planned, made.trials.ok);
  EXPECT_EQ(made.layouts.randomized, 2U * 2 * 40);
  EXPECT_EQ(made.layouts.unrandomized + made.layouts.without_runtime, 0U);
  for (const stats::CellMean& mean : made.analysis.means) EXPECT_EQ(mean.n, 40U);
  EXPECT_THAT(report::text(made), HasSubstr("random layouts themselves cost +"));
}

TEST_F(CostTest, PlainTrialsChangeNoComparison) {
  begin(with_cost(20));
  run([](Trial& trial) {
    trial.wall_ns = std::llround(static_cast<double>(*trial.wall_ns) * std::exp(noise_of(trial)));
    trial.layout = moved();
    if (is_plain(trial)) trial.wall_ns = 1'000'000'000'000;
  });
  const report::Document made = document();
  ASSERT_EQ(made.analysis.effects.size(), 2U);
  for (const stats::Effect& effect : made.analysis.effects) {
    EXPECT_NEAR(effect.ratio.value_or(0), 0.5, 0.01);
    EXPECT_EQ(effect.verdict, stats::Verdict::faster);
  }
}

TEST_F(CostTest, WithFewerThanFourBlocksThereIsNoInterval) {
  begin(with_cost(15));
  measure(0.02);
  const report::Document made = document();
  ASSERT_TRUE(made.cost);
  EXPECT_EQ(made.cost->all.blocks, 3U);
  EXPECT_TRUE(made.cost->all.ratio);
  EXPECT_FALSE(made.cost->all.low || made.cost->all.high);
  EXPECT_FALSE(made.cost->is_large());
  begin(with_cost(20));
  measure(0.02);
  EXPECT_TRUE(document().cost->all.low) << "four blocks are enough";
}

TEST_F(CostTest, WithoutPlainTrialsOrWithoutAnythingRandomThereIsNone) {
  begin(tables);
  measure(0.02);
  EXPECT_FALSE(document().cost);
  begin(with_cost(20));
  run([](Trial& trial) { trial.layout = {.randomized = false}; });
  EXPECT_FALSE(document().cost) << "szc built the programs, but told them to place nothing";
  begin(with_cost(20));
  const report::Document early = document();
  ASSERT_TRUE(early.cost) << "nobody knows yet";
  EXPECT_FALSE(early.cost->all.ratio);
}

TEST_F(CostTest, APlainTrialThatFailedIsAFailureAndComparesNothing) {
  begin(with_cost(40));
  int failed = 0;
  run([&](Trial& trial) {
    trial.layout = moved();
    trial.wall_ns = std::llround(static_cast<double>(*trial.wall_ns) * std::exp(noise_of(trial)));
    if (!is_plain(trial) || trial.benchmark != "quick" || failed == 5) return;
    ++failed;
    trial.status = TrialStatus::timeout;
    trial.reason = "it took too long";
  });
  const report::Document made = document();
  EXPECT_EQ(made.trials.failed, 5U);
  EXPECT_THAT(made.failures, ElementsAre(HasSubstr("quick random-layouts=off")));
  ASSERT_TRUE(made.cost);
  EXPECT_EQ(made.cost->benchmarks[0].blocks, 8U);
  EXPECT_EQ(made.cost->benchmarks[1].blocks, 3U);
  EXPECT_FALSE(made.cost->benchmarks[1].low);
  for (const stats::CellMean& mean : made.analysis.means) EXPECT_EQ(mean.lost, 0U);
  for (const stats::Effect& effect : made.analysis.effects)
    EXPECT_EQ(effect.verdict, stats::Verdict::faster);
}

TEST_F(CostTest, AnotherResponseThanATimeLeavesItCpuTime) {
  begin(with_cost(20, "response = 'max_rss'\n"));
  run([](Trial& trial) {
    trial.layout = {.randomized = true, .random_heap = true};
    trial.user_ns = std::llround(1e6 * (is_plain(trial) ? 1 : 1.5) * std::exp(noise_of(trial)));
  });
  const report::Document made = document();
  ASSERT_TRUE(made.cost);
  EXPECT_EQ(made.cost->response, "cpu");
  EXPECT_THAT(made.cost->off, ElementsAre("heap blocks"));
  EXPECT_NEAR(made.cost->all.ratio.value_or(0), 1.5, 0.02);
}

TEST_F(CostTest, ExportsOfCellsLeavePlainTrialsOutAndTablesNameThem) {
  begin(with_cost(5));
  measure(0.02);
  const auto exported = [&](const std::string& format) {
    std::string text;
    const auto done = write_export(*store_, experiment_, {.format = format},
                                   [&](std::string_view piece) -> Result<void> {
                                     text += piece;
                                     return {};
                                   });
    EXPECT_TRUE(done) << done.error().message;
    return text;
  };
  const std::string csv = exported("csv");
  EXPECT_THAT(csv.substr(0, csv.find('\n')), HasSubstr(",env_bytes,mode,random-layouts,"));
  EXPECT_THAT(csv, HasSubstr(",,off,")) << "it has no level of a treatment";
  for (const char* format : {"hyperfine", "benchstat"})
    EXPECT_THAT(exported(format), Not(HasSubstr("random-layouts")));
  EXPECT_THAT(exported("json"), HasSubstr("\"random-layouts\":\"off\""));
}

// The interval of few blocks has the share of right answers that it claims.
TEST(Cost, ItsIntervalHasTheTruthAsOftenAsItSays) {
  constexpr std::size_t experiments = 500;
  constexpr double truth = 1.03;
  for (const std::size_t programs : {1U, 2U})
    for (const int blocks : {20, 60}) {
      std::string text = with_cost(blocks);
      if (programs == 1) {
        const std::size_t from = text.rfind("[[benchmark]]");
        text.erase(from, text.find("[factor.mode]") - from);
      }
      std::size_t right = 0;
      for (std::size_t i = 0; i < experiments; ++i) {
        std::mt19937_64 engine(1000 * i + programs);
        std::normal_distribution<double> normal(0, 0.02);
        std::string own = text;
        own.replace(own.find("seed = 11"), 9, "seed = " + std::to_string(i));
        const plan::Plan plan = plan::good_plan(own);
        CostSums sums(plan);
        double block_noise = 0;
        std::uint32_t block = 0;
        for (const plan::Trial& planned : plan::expand(plan).trials) {
          if (planned.warmup) continue;
          if (std::exchange(block, planned.block) != planned.block) block_noise = normal(engine);
          const double time = 1e9 * std::exp(block_noise + normal(engine));
          sums.add({.block = planned.block,
                    .benchmark = plan.benchmarks[planned.benchmark].name,
                    .levels = stored_levels(plan, planned),
                    .wall_ns = std::llround(planned.plain ? time : truth * time),
                    .layout = moved()});
        }
        const auto cost = sums.result();
        ASSERT_TRUE(cost && cost->all.low && cost->all.high);
        right += *cost->all.low <= truth && *cost->all.high >= truth ? 1U : 0U;
      }
      // Four standard deviations of a share of 95 %. With ten blocks or more, intervals allow for
      // blocks that resemble each other, so they are wider than needed here.
      EXPECT_GE(right, 455U) << programs << " programs, " << blocks << " blocks";
      if (blocks == 20) EXPECT_LE(right, 495U) << programs << " programs, " << blocks << " blocks";
    }
}

}  // namespace
}  // namespace stab::results
