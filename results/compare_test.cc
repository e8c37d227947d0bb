// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "report/words/answer.h"
#include "results/answers.h"
#include "store/test_support.h"

namespace stab::results {
namespace {

using store::Trial;
using store::TrialStatus;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plan_of(const std::string& levels, const std::string& more = "") {
  return "[experiment]\nname = 'sorting'\n[defaults]\nrepetitions = 8\n[[benchmark]]\n"
         "name = 'sort'\nrun = ['/bin/sort', '${MODE}']\n[factor.mode]\nlevels = " +
         levels + "\n" + more;
}
const std::string both = "{ slow = { MODE = 's' }, fast = { MODE = 'f' } }";

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() : store_(store::open_or_fail(directory_ / "stab.db")) {}

  // Runs a plan with 1 ms a trial, times `factor`, and a pattern that is no trend.
  store::Experiment run(
      const std::string& text, double factor,
      const std::function<void(Trial&)>& change = [](Trial&) {}) {
    const plan::Plan plan = plan::good_plan(text);
    store::Experiment experiment{.name = plan.name,
                                 .plan = text,
                                 .state = "done",
                                 .reason = "",
                                 .trials = plan::count_trials(plan),
                                 .machine = 0};
    experiment.id = store_->add_experiment(experiment).value();
    for (const plan::Trial& planned : plan::expand(plan).trials) {
      Trial trial{.experiment = experiment.id,
                  .position = planned.position,
                  .block = planned.block,
                  .warmup = planned.warmup,
                  .benchmark = plan.benchmarks[planned.benchmark].name,
                  .seed = planned.seed,
                  .status = TrialStatus::ok,
                  .exit_code = 0,
                  .started_ns = 1000};
      for (std::size_t i = 0; i < plan.factors.size(); ++i)
        trial.levels[plan.factors[i].name] = planned.levels[i].name;
      trial.wall_ns =
          static_cast<std::int64_t>(1e6 * factor) + 1000 * ((planned.block * 7 + 3) % 5);
      change(trial);
      EXPECT_TRUE(store_->add_trial(trial));
    }
    return experiment;
  }
  Comparison compared(const std::vector<store::Experiment>& experiments) {
    const auto result = compare(*store_, experiments);
    if (result) return *result;
    ADD_FAILURE() << result.error().message;
    return {};
  }
  std::string refusal(const std::vector<store::Experiment>& experiments) {
    const auto result = compare(*store_, experiments);
    return result ? "" : result.error().message;
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(CompareTest, OneExperimentShowsItsOwnVerdicts) {
  const auto slower = [](Trial& trial) {
    if (trial.levels["mode"] == "fast") *trial.wall_ns += 50'000;
  };
  const Comparison comparison = compared({run(plan_of(both), 1, slower)});
  EXPECT_EQ(comparison.title, "sorting (experiment 1, done)");
  ASSERT_EQ(comparison.analysis.effects.size(), 1U);
  EXPECT_TRUE(comparison.findings.regressed);
  EXPECT_FALSE(comparison.findings.unsure);
}

TEST_F(CompareTest, TwoExperimentsAreComparedCellByCell) {
  const auto first = run(plan_of(both), 1);
  const auto second = run(plan_of(both), 1.1);
  const Comparison comparison = compared({first, second});
  EXPECT_EQ(comparison.title, "sorting (experiment 2) against sorting (experiment 1)");
  ASSERT_EQ(comparison.analysis.effects.size(), 2U);
  for (const stats::Effect& effect : comparison.analysis.effects) {
    EXPECT_EQ(effect.baseline, "1");
    EXPECT_EQ(effect.level, "2");
    EXPECT_EQ(effect.method, "within sessions: Welch");
    EXPECT_NEAR(*effect.ratio, 1.1, 0.001);
  }
  EXPECT_EQ(comparison.analysis.effects[0].subject.substr(0, 10), "sort mode=");
  EXPECT_THAT(comparison.analysis.notes, Contains(HasSubstr("ran one after the other")));
}

TEST_F(CompareTest, OneSessionAnArmGivesNoVerdictHoweverLargeTheChange) {
  const Comparison comparison =
      compared({run(plan_of(both, "[analysis]\nequivalence = '50%'\n"), 1),
                run(plan_of(both, "[analysis]\nequivalence = '50%'\n"), 1.1)});
  ASSERT_EQ(comparison.analysis.effects.size(), 2U);
  for (const stats::Effect& effect : comparison.analysis.effects) {
    EXPECT_EQ(effect.verdict, stats::Verdict::unsure);
    EXPECT_THAT(effect.reason, HasSubstr("each experiment was one session"));
    EXPECT_TRUE(effect.p && effect.low && effect.high);
    EXPECT_LT(*effect.p, 1e-6);
    EXPECT_FALSE(effect.p_adjusted || effect.low_adjusted || effect.detectable);
  }
  EXPECT_FALSE(comparison.findings.regressed);
  EXPECT_TRUE(comparison.findings.unsure);
  EXPECT_THAT(report::answer(comparison.analysis),
              HasSubstr("no verdict: each experiment was one session"));
  EXPECT_THAT(report::answer(comparison.analysis), Not(HasSubstr("the same")));
  EXPECT_THAT(comparison.analysis.notes, Contains(HasSubstr("within each experiment")));
}

TEST_F(CompareTest, WhatOneOfThemLacksIsLeftOutWithANote) {
  const auto first = run(plan_of(both), 1);
  const auto second = run(plan_of("{ slow = { MODE = 's' }, other = { MODE = 'o' } }"), 1);
  const Comparison comparison = compared({first, second});
  ASSERT_EQ(comparison.analysis.effects.size(), 1U);
  EXPECT_EQ(comparison.analysis.effects[0].subject, "sort mode=slow");
  EXPECT_THAT(comparison.analysis.notes,
              Contains("sort mode=fast is left out because only experiment 1 has it."));
}

TEST_F(CompareTest, FailedTrialsAndExperimentsAreFindings) {
  const auto first = run(plan_of(both), 1);
  auto second = run(plan_of(both), 1, [](Trial& trial) {
    if (trial.position < 3) trial.status = TrialStatus::timeout;
  });
  second.state = "cancelled";
  const Comparison comparison = compared({first, second});
  EXPECT_EQ(comparison.failed, 3U);
  EXPECT_FALSE(comparison.complete);
}

TEST_F(CompareTest, LostTrialsBoundTheChange) {
  const auto slow_ones_time_out = [](Trial& trial) {
    if (trial.levels["mode"] != "fast" || trial.block % 4 != 1) return;
    trial.status = TrialStatus::timeout;
    trial.wall_ns = 3'000'000;
  };
  const Comparison comparison =
      compared({run(plan_of(both), 1), run(plan_of(both), 1, slow_ones_time_out)});
  ASSERT_EQ(comparison.analysis.effects.size(), 2U);
  for (const stats::Effect& effect : comparison.analysis.effects) {
    if (effect.subject != "sort mode=fast") {
      EXPECT_FALSE(effect.loss_bounds || effect.loss_p);
      continue;
    }
    EXPECT_EQ(effect.loss_bounds, stats::Losses::extremes);
    EXPECT_TRUE(effect.loss_p);
    EXPECT_FALSE(effect.loss_high) << "a timeout may have lasted for ever";
    // On the log scale, two of eight took three times as long or longer; their spread widens this.
    ASSERT_TRUE(effect.loss_low);
    EXPECT_LT(*effect.loss_low, std::pow(3.0, 0.25));
    EXPECT_GT(*effect.loss_low, 0.8);
  }
  EXPECT_THAT(comparison.analysis.notes, Contains(HasSubstr("2 lacks 2 of 8 trials")));
  const std::string at_random = plan_of(both) + "[analysis]\nlosses = \"random\"\n";
  const Comparison believed = compared({run(at_random, 1), run(at_random, 1, slow_ones_time_out)});
  EXPECT_EQ(believed.analysis.spec.losses, stats::Losses::random);
  const auto disturbed = [](Trial& trial) {
    if (trial.levels["mode"] == "fast" && trial.block == 2) trial.status = TrialStatus::disturbed;
  };
  const Comparison calmer = compared({run(plan_of(both), 1), run(plan_of(both), 1, disturbed)});
  for (const stats::Effect& effect : calmer.analysis.effects)
    EXPECT_EQ(effect.loss_low && effect.loss_high, effect.subject == "sort mode=fast");
}

TEST_F(CompareTest, LostTrialsBoundTheChangeAlsoInPlansWithoutFactors) {
  const std::string plan =
      "[experiment]\nname = 'sorting'\n[defaults]\nrepetitions = 8\n[[benchmark]]\n"
      "name = 'sort'\nrun = ['/bin/sort']\n";
  const Comparison comparison = compared({run(plan, 1), run(plan, 1, [](Trial& trial) {
                                            if (trial.block != 2) return;
                                            trial.status = TrialStatus::timeout;
                                            trial.wall_ns = 3'000'000;
                                          })});
  ASSERT_EQ(comparison.analysis.effects.size(), 1U);
  EXPECT_TRUE(comparison.analysis.effects[0].loss_low);
  EXPECT_FALSE(comparison.analysis.effects[0].loss_high);
}

TEST_F(CompareTest, WhatTakesTurnsIsComparedInItsBlocks) {
  const std::string turns =
      plan_of(both, "[measure]\nrotate = [['rare'], ['other']]\n[analysis]\nresponse = 'rare'\n");
  const plan::Plan plan = plan::good_plan(turns);
  const auto count = [&](std::int64_t number) {
    return [&plan, number](Trial& trial) {
      const std::string& name = plan.rotated[plan::set_of(plan, trial.block, false)].front();
      trial.readings = {counters::counted(name, "", number + trial.block % 3)};
    };
  };
  const auto first = run(turns, 1, count(1000));
  const auto second = run(turns, 1, count(1100));
  const Comparison comparison = compared({first, second});
  ASSERT_EQ(comparison.analysis.effects.size(), 2U);
  for (const stats::CellMean& mean : comparison.analysis.means) EXPECT_EQ(mean.n, 4U);
  EXPECT_NEAR(*comparison.analysis.effects[0].ratio, 1.1, 0.005);
  EXPECT_THAT(comparison.analysis.notes, Each(Not(HasSubstr("are left out"))));
}

TEST_F(CompareTest, TwoExperimentsAreComparedByTheNumberThatIsAskedFor) {
  const auto count = [](std::int64_t number) {
    return [number](Trial& trial) {
      trial.readings = {counters::counted("spawn-ns", "ns", number + trial.block % 3)};
    };
  };
  const auto first = run(plan_of(both), 1, count(1000));
  const auto second = run(plan_of(both, "[analysis]\nresponse = 'cpu'\n"), 1, count(1200));
  EXPECT_THAT(refusal({first, second}), HasSubstr("nothing can be compared"));
  const auto found = compare(*store_, std::vector{first, second}, {.response = "spawn-ns"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->analysis.spec.response, "spawn-ns");
  EXPECT_NEAR(*found->analysis.effects[0].ratio, 1.2, 0.005);
  EXPECT_FALSE(compare(*store_, std::vector{first, second}, {.response = "spawn"}));
}

TEST_F(CompareTest, DisturbedTrialsOfEachSideAreCounted) {
  const auto first = run(plan_of(both), 1);
  const auto second = run(plan_of(both), 1, [](Trial& trial) {
    if (trial.position < 3) trial.status = TrialStatus::disturbed;
  });
  const auto notes = compared({first, second}).analysis.notes;
  const auto trials = first.trials;
  EXPECT_THAT(notes, Contains(fmt::format("Disturbed trials are left out: 0 of {} trials of "
                                          "experiment 1, and 3 of {} trials of experiment 2.",
                                          trials, trials)));
  EXPECT_THAT(compared({first, run(plan_of(both), 1)}).analysis.notes,
              Not(Contains(HasSubstr("isturbed"))));
}

TEST_F(CompareTest, NestedExperimentsCompareTheMeansOfSeeds) {
  const std::string text =
      "[experiment]\nname = 'n'\n[[benchmark]]\nname = 'b'\nrun = ['/bin/b']\n"
      "[factor.env_bytes]\nrandom = { seeds = 4, runs = 5 }\n[design]\nkind = 'nested'\n";
  const auto by_seed = [](Trial& trial) {
    *trial.wall_ns += 1000 * (std::stoll(trial.levels["env_bytes"]) % 7);
  };
  const auto first = run(text, 1, by_seed);
  const auto second = run(text, 1.2, by_seed);
  const Comparison comparison = compared({first, second});
  ASSERT_EQ(comparison.analysis.effects.size(), 1U);
  EXPECT_GE(comparison.analysis.effects[0].df, 3);  // Satterthwaite's, of 2 x 4 seeds
  EXPECT_LE(comparison.analysis.effects[0].df, 6);
  EXPECT_EQ(comparison.analysis.spec.design, stats::Design::nested);
}

TEST_F(CompareTest, WhatCannotBeComparedIsRefusedWithTheReason) {
  const auto first = run(plan_of(both), 1);
  EXPECT_THAT(refusal({first, first}), HasSubstr("cannot be compared with itself"));
  const auto memory = run(plan_of(both, "[analysis]\nresponse = 'max_rss'\n"), 1);
  EXPECT_EQ(refusal({first, memory}),
            "the response of experiment 1 is wall, but the response of experiment 2 is max_rss: "
            "nothing can be compared");
  const auto derived = [this](const std::string& formula) {
    return run(plan_of(both, "[measure.derived]\nt = '" + formula +
                                 "'\n[analysis]\nresponse = 't'\nbetter = 'higher'\n"),
               1);
  };
  EXPECT_EQ(refusal({derived("1 / wall"), derived("2 / wall")}),
            "experiments 3 and 4 define t differently, so they have no response in common");
  const auto other = run(plan_of("{ x = { MODE = 'x' }, y = { MODE = 'y' } }"), 1);
  EXPECT_THAT(refusal({first, other}),
              HasSubstr("no benchmark has successful trials at the same levels"));
  EXPECT_THAT(refusal({first, first, first}), HasSubstr("one or two experiments"));
}

}  // namespace
}  // namespace stab::results
