// SPDX-License-Identifier: MIT
#include "results/document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "report/json.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "results/heap_layer.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(DocumentTest, TheSourceIsThatOfTheExperiment) {
  begin(tables);
  EXPECT_EQ(document().source.commit, "");
  experiment_.source_branch = "main";
  experiment_.source_commit = std::string(40, 'a');
  EXPECT_EQ(document().source.branch, "main");
  EXPECT_EQ(document().source.commit, std::string(40, 'a'));
}

TEST_F(DocumentTest, ACompleteExperimentHasItsCountsAndItsMeans) {
  begin(tables);
  run();
  const auto all = document("/tmp/x.db");
  EXPECT_EQ(all.experiment, "sorting");
  EXPECT_EQ(all.id, experiment_.id);
  EXPECT_EQ(all.question, "Is it faster?");
  EXPECT_THAT(all.analysis.spec.built_in, ElementsAre("env_bytes"));
  EXPECT_EQ(all.state, "done");
  EXPECT_EQ(all.reason, "by itself");
  EXPECT_EQ(all.seed, 11U);
  EXPECT_EQ(all.database, "/tmp/x.db");
  EXPECT_EQ(all.trials.planned, 16U);
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_EQ(all.trials.skipped, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  for (const char* benchmark : {"bubble", "quick"}) {
    EXPECT_EQ(mean_of(all, benchmark, "slow")->n, 4U);
    EXPECT_NEAR(mean_of(all, benchmark, "slow")->mean, 2e6, 1);
    EXPECT_NEAR(mean_of(all, benchmark, "fast")->mean, 1e6, 1);
  }
}

TEST_F(DocumentTest, AnExperimentWithoutTrialsHasADocumentToo) {
  begin(tables);
  const auto none = document();
  EXPECT_EQ(none.trials.planned, 16U);
  EXPECT_EQ(none.trials.ok, 0U);
  EXPECT_EQ(none.duration.count(), 0);
  EXPECT_NE(report::answer(none.analysis), "");
}

TEST_F(DocumentTest, WarmUpTrialsAreNeitherCountedNorAnalysed) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.warmup) trial.wall_ns = 1'000'000'000'000;
    if (trial.warmup && trial.benchmark == "quick") trial.status = TrialStatus::timeout;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
  EXPECT_NEAR(mean_of(all, "bubble", "slow")->mean, 2e6, 1);
}

TEST_F(DocumentTest, OnlyTheAttemptThatStandsIsAnalysed) {
  begin(tables);
  for (const plan::Trial& planned : expansion_.trials) {
    Trial first = trial(planned);
    first.last = false;
    first.wall_ns = 1'000'000'000'000;
    first.status = planned.benchmark == 0 ? TrialStatus::wrong_exit : TrialStatus::ok;
    first.reason = "the first attempt";
    store(first);
    Trial second = trial(planned);
    second.attempt = 1;
    store(second);
  }
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_EQ(mean_of(all, "quick", "fast")->n, 4U);
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 1e6, 1);
}

TEST_F(DocumentTest, AFailedTrialsTimeIsNotAnalysed) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark != "quick" || trial.block != 2) return;
    trial.status = TrialStatus::check_failed;
    trial.wall_ns = 1'000'000'000'000;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 14U);
  EXPECT_EQ(all.trials.failed, 2U);
  EXPECT_EQ(mean_of(all, "quick", "slow")->n, 3U);
  EXPECT_NEAR(mean_of(all, "quick", "slow")->mean, 2e6, 1);
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
}

TEST_F(DocumentTest, ALostTrialBoundsItsMeanAlsoInAPlanWithoutFactors) {
  begin(
      "[experiment]\nname = 'alone'\n[defaults]\nrepetitions = 4\n[[benchmark]]\nname = 'quick'\n"
      "run = ['/bin/true']\n");
  run([](Trial& trial) {
    trial.levels.clear();
    trial.wall_ns = 1'000'000;
    if (trial.block != 2) return;
    trial.status = TrialStatus::timeout;
    trial.wall_ns = 16'000'000;
  });
  const auto all = document();
  ASSERT_EQ(all.analysis.means.size(), 1U);
  EXPECT_NEAR(all.analysis.means[0].mean, 1e6, 1);
  EXPECT_EQ(all.analysis.means[0].lost, 1U);
  EXPECT_NEAR(all.analysis.means[0].loss_low.value_or(0), 2e6, 1) << "the fourth root of 16";
  EXPECT_FALSE(all.analysis.means[0].loss_high);
}

// Twelve blocks of which three lack a trial at one level: what it would have taken decides whether
// "fast is faster" can be said. Times vary by a percent.
class LossTest : public DocumentTest {
 protected:
  stats::Effect fast(TrialStatus status, const std::string& level, std::int64_t wall_ns,
                     const std::string& analysis = "") {
    std::string text = tables + "[analysis]\n" + analysis;
    text.replace(text.find("repetitions = 4"), 15, "repetitions = 12");
    begin(text);
    run([&](Trial& trial) {
      const std::int64_t odd = trial.block % 5 + trial.position % 3;
      trial.wall_ns = *trial.wall_ns + odd * *trial.wall_ns / 400;
      if (trial.benchmark != "quick" || trial.levels["mode"] != level || trial.block % 4 != 1)
        return;
      trial.status = status;
      trial.wall_ns = wall_ns;
    });
    for (const stats::Effect& effect : document().analysis.effects)
      if (effect.subject == "quick") return effect;
    ADD_FAILURE() << "nothing is said of quick";
    return {};
  }
};

TEST_F(LossTest, ATrialThatTimedOutTookAtLeastItsLimit) {
  constexpr std::int64_t minute = 60'000'000'000;
  const stats::Effect slow = fast(TrialStatus::timeout, "slow", minute);
  EXPECT_EQ(slow.verdict, stats::Verdict::faster);
  EXPECT_EQ(slow.loss_bounds, stats::Losses::extremes);
  EXPECT_FALSE(slow.loss_low);
  ASSERT_TRUE(slow.loss_high);
  EXPECT_LT(*slow.loss_high, 1);
  ASSERT_TRUE(slow.loss_p);
}

TEST_F(LossTest, ATimeoutOfTheFasterLevelLeavesNoVerdict) {
  const stats::Effect effect = fast(TrialStatus::timeout, "fast", 60'000'000'000);
  EXPECT_EQ(effect.verdict, stats::Verdict::unsure);
  EXPECT_EQ(effect.reason, "the missing trials may reverse the change");
  EXPECT_LT(*effect.ratio, 0.6);
  EXPECT_FALSE(effect.loss_high);
}

TEST_F(LossTest, AFailureMayHaveTakenAnyTimeUntilItsLimit) {
  const stats::Effect effect = fast(TrialStatus::signalled, "fast", 1000);
  EXPECT_EQ(effect.verdict, stats::Verdict::unsure);
  EXPECT_FALSE(effect.loss_low);  // a time near 0 has no logarithm
  ASSERT_TRUE(effect.loss_high);
  EXPECT_GT(*effect.loss_high, 2);  // of a minute instead of a millisecond, in three of twelve
}

TEST_F(LossTest, ThePlanSaysWhatIsAssumed) {
  const stats::Effect lee = fast(TrialStatus::signalled, "fast", 1000, "losses = \"monotone\"\n");
  EXPECT_EQ(lee.verdict, stats::Verdict::faster);
  EXPECT_EQ(lee.loss_bounds, stats::Losses::monotone);
  EXPECT_LT(*lee.loss_high, 0.6);
}

TEST_F(LossTest, WhatIsTakenAsRandomDecidesNothing) {
  const stats::Effect effect = fast(TrialStatus::signalled, "fast", 1000, "losses = \"random\"\n");
  EXPECT_EQ(effect.verdict, stats::Verdict::faster);
  EXPECT_FALSE(effect.loss_low);
}

TEST_F(LossTest, AnExcludedNumberLiesWithinThoseOfItsCell) {
  const stats::Effect effect = fast(TrialStatus::disturbed, "fast", 1'100'000);
  EXPECT_EQ(effect.verdict, stats::Verdict::faster);
  ASSERT_TRUE(effect.loss_low && effect.loss_high);
  EXPECT_GT(*effect.loss_low, 0.45);
  EXPECT_LT(*effect.loss_high, 0.6);
}

TEST_F(DocumentTest, EqualFailuresAreOneLineWithTheirNumber) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark != "quick") return;
    trial.status = TrialStatus::wrong_exit;
    trial.reason = trial.levels["mode"] == "fast" && trial.block == 0 ? "ended with exit code 9"
                                                                      : "ended with exit code 3";
  });
  const auto all = document();
  EXPECT_EQ(all.trials.failed, 8U);
  EXPECT_THAT(all.failures, ElementsAre("quick mode=fast: ended with exit code 3 (3 trials)",
                                        "quick mode=fast: ended with exit code 9",
                                        "quick mode=slow: ended with exit code 3 (4 trials)"));
}

TEST_F(DocumentTest, AFailureSaysWhatTheFirstTrialSaidOnStderr) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark != "quick" || trial.levels["mode"] == "fast" || trial.warmup) return;
    trial.status = TrialStatus::wrong_exit;
    trial.reason = "ended with exit code 3";
    trial.stderr_tail = "usage: quick\nquick: no input " + std::to_string(trial.block) + "\n";
  });
  EXPECT_THAT(document().failures,
              ElementsAre("quick mode=slow: ended with exit code 3 (4 trials); stderr ends with: "
                          "quick: no input 0"));
}

TEST_F(DocumentTest, AFailedBuildIsBlamedOnTheLevelWhoseBuildItIs) {
  begin(tables);
  ASSERT_TRUE(store_->add_build({.experiment = experiment_.id,
                                 .key = "slow",
                                 .benchmark = "quick",
                                 .command = "cc",
                                 .status = store::BuildStatus::failed,
                                 .output = "q.c:2:1: error: no"}));
  run([&](Trial& trial) {
    if (trial.benchmark != "quick") return;
    trial.build = trial.levels["mode"];
    trial.status = TrialStatus::build_failed;
    trial.reason = store::reason_of_failed_build("q.c:2:1: error: no");
  });
  const auto all = document();
  EXPECT_THAT(all.failures,
              ElementsAre("quick mode=fast: not run, because another build of the benchmark failed "
                          "(4 trials)",
                          "quick mode=slow: the build failed: q.c:2:1: error: no (4 trials)"));
  ASSERT_EQ(all.causes.size(), 1U);
  EXPECT_THAT(all.causes[0].cells, ElementsAre("quick mode=slow"));
  EXPECT_THAT(all.causes[0].why, HasSubstr("the benchmark's other programs did not run either"));
  EXPECT_THAT(all.causes[0].last_lines, ElementsAre("q.c:2:1: error: no"));
}

TEST_F(DocumentTest, EveryKindOfFailureIsCountedAsWhatItIs) {
  for (int i = 1; i <= static_cast<int>(TrialStatus::not_measured); ++i) {
    const auto status = static_cast<TrialStatus>(i);
    begin(tables);
    run([&](Trial& trial) {
      if (trial.position % 3 == 0) trial.status = status;
    });
    std::uint64_t expected = 0;
    for (const plan::Trial& planned : expansion_.trials)
      expected += !planned.warmup && planned.position % 3 == 0 ? 1 : 0;
    const auto counts = document().trials;
    const bool skipped = status == TrialStatus::skipped || status == TrialStatus::build_failed;
    EXPECT_EQ(skipped ? counts.skipped : counts.failed, expected) << store::to_string(status);
    EXPECT_EQ(skipped ? counts.failed : counts.skipped, 0U) << store::to_string(status);
    EXPECT_EQ(counts.ok + expected, counts.planned);
  }
}

TEST_F(DocumentTest, TheResponseIsTheOneThatThePlanNames) {
  const std::vector<std::pair<std::string, double>> responses{
      {"wall", 1e6}, {"user", 300}, {"system", 70}, {"cpu", 370}, {"max_rss", 4096}};
  for (const auto& [name, value] : responses) {
    begin(fmt::format("{}[analysis]\nresponse = '{}'\n", tables, name));
    run();
    const auto all = document();
    EXPECT_EQ(all.analysis.spec.response, name);
    EXPECT_EQ(all.analysis.spec.unit == stats::Unit::bytes, name == "max_rss");
    EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, value, 0.001) << name;
  }
}

TEST_F(DocumentTest, AResponseThatIsNoIntegerIsComparedAsItIs) {
  begin(tables + "[measure]\ncounters = ['cycles']\n[analysis]\nresponse = 'cycles'\n");
  run([](Trial& trial) {
    trial.readings.push_back(
        counters::counted("cycles", "", trial.levels["mode"] == "slow" ? 0.75 : 0.25));
  });
  const auto all = document();
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 0.25, 1e-12);
  for (const stats::Effect& effect : all.analysis.effects)
    EXPECT_NEAR(effect.ratio.value_or(0), 1.0 / 3, 1e-9);
}

TEST_F(DocumentTest, TheRuntimesTimesAreResponsesAndItsLayoutsAreSummedUp) {
  for (const std::string response : {"region", "main_to_exit"}) {
    begin(tables + "[analysis]\nresponse = \"" + response + "\"\n");
    run([](Trial& trial) {
      trial.layout = {.randomized = trial.levels["mode"] == "fast",
                      .kind = trial.levels["mode"] == "fast" ? "code once" : "",
                      .main_to_exit_ns = 5000,
                      .region_ns = 3000};
    });
    const auto all = document();
    const double expected = response == "region" ? 3000 : 5000;
    EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, expected, 1e-6) << response;
    EXPECT_EQ(all.layouts.randomized, 8U);
    EXPECT_EQ(all.layouts.unrandomized, 8U);
    EXPECT_EQ(all.layouts.kinds, "code once");
  }
}

TEST_F(DocumentTest, ATrialWithoutItsResponseIsLeftOutAndIsNotAZero) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark == "quick" && trial.block == 1) trial.wall_ns.reset();
  });
  const auto all = document();
  EXPECT_EQ(mean_of(all, "quick", "fast")->n, 3U);
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 1e6, 1);
}

TEST_F(DocumentTest, TheFirstLevelOfThePlanIsTheBaselineWhateverRanFirst) {
  begin(tables);
  run();
  const auto all = document();
  ASSERT_FALSE(all.analysis.effects.empty());
  for (const stats::Effect& effect : all.analysis.effects) {
    EXPECT_EQ(effect.baseline, "slow");
    EXPECT_EQ(effect.level, "fast");
    EXPECT_NEAR(effect.ratio.value_or(0), 0.5, 1e-9);
  }
}

TEST_F(DocumentTest, TheDesignAndTheLimitsAreThePlans) {
  begin(tables +
        "[design]\nkind = 'within-subjects'\n"
        "[analysis]\nalpha = 0.01\nequivalence = '2%'\n");
  run();
  const auto spec = document().analysis.spec;
  EXPECT_EQ(spec.design, stats::Design::within_subjects);
  EXPECT_EQ(spec.subject, "benchmark");
  EXPECT_THAT(spec.treatments, ElementsAre("mode"));
  EXPECT_EQ(spec.alpha, 0.01);
  EXPECT_EQ(spec.equivalence, 0.02);
}

TEST_F(DocumentTest, ANestedDesignNamesItsRandomFactor) {
  begin(R"([experiment]
name = "nested"
[[benchmark]]
name = "b"
build = "cc ${MODE} -o ${OUT} b.c ${LDFLAGS}"
run = ["${OUT}"]
[design]
kind = "nested"
[factor.mode]
levels = { slow = { MODE = "-O0" }, fast = { MODE = "-O2" } }
[factor.link_order]
random = { seeds = 5, runs = 4 }
)");
  run([](Trial& trial) {
    trial.wall_ns = *trial.wall_ns + std::stoll(trial.levels["link_order"]) % 1000 + trial.block;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.planned, 40U);
  EXPECT_EQ(all.analysis.spec.design, stats::Design::nested);
  EXPECT_EQ(all.analysis.spec.seed, "link_order");
  ASSERT_FALSE(all.analysis.components.empty());
  EXPECT_EQ(all.analysis.components[0].seed, "link_order");
}

TEST_F(DocumentTest, TheTimeIsFromTheFirstTrialToTheEndOfTheLast) {
  begin(tables);
  store(trial(expansion_.trials[0]));
  Trial second = trial(expansion_.trials[1]);
  second.started_ns = 5'000'000'000;
  second.wall_ns = 7;
  store(second);
  EXPECT_EQ(document().duration.count(), 5'000'000'000 + 7 - 1000);
}

TEST_F(DocumentTest, AddressesAreNotRandomIfTheKernelDoesNotRandomizeThem) {
  begin(tables + "[machine]\naslr = true\n");
  for (const char* value : {"0", "1", "2"}) {
    const std::string facts = fmt::format(R"({{"aslr":"{}"}})", value);
    experiment_.machine =
        store_->add_machine({.key = facts, .host = "lab", .facts = facts}).value();
    const report::Document made = document();
    const auto addresses = std::ranges::find(made.drawn, "addresses", &report::Drawn::what);
    ASSERT_NE(addresses, made.drawn.end());
    EXPECT_EQ(addresses->is_random, facts != R"({"aslr":"0"})") << facts;
    EXPECT_EQ(addresses->why, addresses->is_random ? "" : "the machine's randomize_va_space is 0");
  }
}

TEST_F(DocumentTest, TheMachineIsItsSummaryOrItsName) {
  begin(tables);
  EXPECT_EQ(document().machine, "");
  experiment_.machine =
      store_->add_machine({.key = "1", .host = "lab", .facts = R"({"summary":"2 CPUs"})"}).value();
  EXPECT_EQ(document().machine, "2 CPUs");
  EXPECT_EQ(document().hardware, "2 CPUs") << "the facts don't tell";
  for (const char* facts : {"{}", "[]", "", R"({"summary":7})"}) {
    experiment_.machine =
        store_->add_machine({.key = facts, .host = "lab", .facts = facts}).value();
    EXPECT_EQ(document().machine, "lab") << facts;
    EXPECT_EQ(document().hardware, "lab") << facts;
  }
  const char* facts =
      R"({"host":"a","cpu_model":"b","topology":{"cpus":2,"cores":1,"packages":1},"summary":"a, b"})";
  experiment_.machine = store_->add_machine({.key = "2", .host = "lab", .facts = facts}).value();
  EXPECT_EQ(document().machine, "a, b");
  EXPECT_EQ(document().hardware, "a: b, 2 CPUs in 1 core in 1 package");
}

TEST_F(DocumentTest, HowQuietTheMachineWasIsThatOfTheLatestStart) {
  begin(tables);
  EXPECT_EQ(document().quietness.asked, "off");
  EXPECT_EQ(document().versions, "");
  EXPECT_EQ(document().quietness.found, "");
  const auto add = [&](std::string_view kind, const std::string& text) {
    ASSERT_TRUE(store_->add_event(
        {.experiment = experiment_.id, .at_ns = 1, .kind = std::string(kind), .text = text}));
  };
  add(doctor_event, "poor for measurements: governor (powersave)");
  add(quieted_event, "swappiness");
  add(loud_event, "governor: it does not take performance");
  EXPECT_EQ(document().quietness.found, "poor for measurements: governor (powersave)");
  EXPECT_EQ(document().quietness.grade, "") << "the sentence is only for people";
  experiment_.quietness = store::Quietness::poor;
  EXPECT_EQ(document().quietness.grade, "poor");
  EXPECT_EQ(document().quietness.changed, "swappiness");
  EXPECT_EQ(document().quietness.loud, "governor: it does not take performance");
  add(loud_event, "swappiness: somebody else has set it; seen before block 3");
  EXPECT_EQ(document().quietness.loud,
            "governor: it does not take performance; "
            "swappiness: somebody else has set it; seen before block 3");
  add(versions_event, "stabd 0.1.0");
  add(versions_event, "stabd 0.1.0; built by L 1, A 2");
  EXPECT_EQ(document().versions, "stabd 0.1.0; built by L 1, A 2");
  add(doctor_event, "good for measurements");
  add(quieted_event, "governor");
  EXPECT_EQ(document().quietness.found, "good for measurements");
  EXPECT_EQ(document().quietness.changed, "governor");
  EXPECT_EQ(document().quietness.loud, "");
}

TEST_F(DocumentTest, WhatThePlanStatesIsShownWhereItHolds) {
  begin(tables +
        "[stated]\ncompiler = 'clang 19'\nbeside = 'old'\nheap_cost = 'costs 1 %'\n"
        "why_no_heap = 'it would crash'\n"
        "why_no_stack = '--no-stack'\n");
  const auto why = [](const report::Document& of, std::string_view what) {
    return std::ranges::find(of.drawn, what, &report::Drawn::what)->why;
  };
  run([](Trial& trial) {
    trial.layout = {.randomized = true, .random_code = trial.levels["mode"] == "slow"};
  });
  const auto cost = [](const report::Document& of) {
    return std::ranges::find(of.drawn, "heap blocks", &report::Drawn::what)->cost;
  };
  EXPECT_EQ(why(document(), "heap blocks"), "it would crash");
  EXPECT_EQ(cost(document()), "") << "they are not random";
  EXPECT_EQ(why(document(), "stack frames"), "--no-stack");
  EXPECT_EQ(document().compiler, "") << "szc did not build all programs";
  EXPECT_EQ(document().beside, "") << "nothing is relative to it";
  begin(tables + "[stated]\ncompiler = 'clang 19'\n");
  run([](Trial& trial) { trial.layout = {.randomized = true, .random_code = true}; });
  EXPECT_EQ(document().compiler, "szc with clang 19");
  EXPECT_EQ(why(document(), "heap blocks"), "not requested in the plan");
  begin(tables + "[randomize]\nheap = true\n[stated]\nheap_cost = 'costs 1 %'\n");
  run([](Trial& trial) { trial.layout = {.randomized = true, .random_heap = true}; });
  EXPECT_EQ(cost(document()), "costs 1 %");
  EXPECT_EQ(why(document(), "heap blocks"), "");
  EXPECT_THAT(report::text(document(), {.full = true}), HasSubstr("heap blocks (costs 1 %)"));
}

TEST_F(DocumentTest, TestRunsSayWhyHeapBlocksAreNotRandomOrWhatTheyCost) {
  const auto decide = [&](const std::vector<report::HeapLayer>& layers) {
    experiment_.heap_layer = heap_column(layers);
  };
  const auto blocks = [](const report::Document& of) { return of.drawn.back(); };
  const std::string by_default = "[by_default]\nheap = \"layer\"\n";
  begin(tables + by_default);
  run([](Trial& trial) {
    trial.layout = {.randomized = true, .random_heap = trial.benchmark == "bubble"};
  });
  EXPECT_EQ(blocks(document()).what, "heap blocks");
  EXPECT_EQ(blocks(document()).why, "there were no test runs with random heap blocks");
  decide({{.benchmark = "bubble", .drawn = true, .cost = report::HeapCost{.change = 0.01}},
          {.benchmark = "quick", .why_not = "quick crashes"}});
  EXPECT_FALSE(blocks(document()).is_random);
  EXPECT_EQ(blocks(document()).why, "random in 1 of 2 benchmarks; quick: quick crashes");
  EXPECT_THAT(document().settings, Contains("by default: random heap blocks in bubble"));
  ASSERT_EQ(document().heap.size(), 2U);
  EXPECT_THAT(report::json(document()),
              AllOf(HasSubstr("\"why_not\": \"quick crashes\""), HasSubstr("\"change\": 0.01")));

  begin(tables + by_default);
  decide({{.benchmark = "bubble", .drawn = true, .cost = report::HeapCost{.change = 0.01}},
          {.benchmark = "quick", .drawn = true, .cost = report::HeapCost{.change = -0.002}}});
  run([](Trial& trial) { trial.layout = {.randomized = true, .random_heap = true}; });
  EXPECT_TRUE(blocks(document()).is_random);
  EXPECT_EQ(blocks(document()).cost,
            "costs -0.2 to +1.0 % of CPU time, depending on the benchmark");

  begin(tables + by_default);
  const std::string few = "the plan has too few trials for test runs";
  decide({{.benchmark = "bubble", .why_not = few}, {.benchmark = "quick", .why_not = few}});
  run([](Trial& trial) { trial.layout = {.randomized = true, .random_heap = false}; });
  EXPECT_EQ(blocks(document()).why, few);
  experiment_.heap_layer = "[{}]";
  EXPECT_EQ(blocks(document()).why,
            "not known: the column 'heap_layer' of table experiment has no decisions of test runs");

  begin(tables + "[machines]\nengine = 'slurm'\n");
  run([](Trial& trial) { trial.layout = {.randomized = true, .random_heap = false}; });
  EXPECT_EQ(blocks(document()).why,
            "not requested in the plan, and not random by default on a cluster");
}

TEST_F(DocumentTest, ProgramsWithoutPadsHaveNoRandomFramesAndTheReportSaysWhy) {
  begin(tables + "[by_default]\nstack = true\n");
  run([](Trial& trial) {
    const bool has_pads = trial.levels["mode"] == "slow";
    trial.layout = {.randomized = true,
                    .note = has_pads ? "" : "no stack frame has a pad",
                    .random_code = true,
                    .random_stack = has_pads};
  });
  const report::Document made = document();
  const auto frames = std::ranges::find(made.drawn, "stack frames", &report::Drawn::what);
  EXPECT_FALSE(frames->is_random);
  EXPECT_THAT(frames->why, HasSubstr("not in all of the "));
  EXPECT_THAT(frames->why, HasSubstr(" trials: no stack frame has a pad"));
  EXPECT_THAT(made.analysis.notes, ::testing::Contains(HasSubstr(
                                       "randomized trials, the runtime reported: no stack frame "
                                       "has a pad.")));
}

TEST_F(DocumentTest, TheCommandBesideTrialsHasAName) {
  std::string with = tables;
  for (const char* program : {"run = [\"/bin/bubble\"", "run = [\"/bin/quick\""})
    with.insert(with.find(program), "beside = [\"/bin/old\", \"7\"]\n");
  begin(with);
  EXPECT_EQ(document().beside, "'/bin/old 7'");
  begin(with + "[stated]\nbeside = 'old'\n");
  EXPECT_EQ(document().beside, "old");
}

TEST_F(DocumentTest, APlanThatIsNoLongerValidIsAnErrorThatSaysSo) {
  begin(tables);
  experiment_.plan = "[experiment]\nname = 7\n";
  const auto refused = make_document(*store_, experiment_, "");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("does not accept the experiment's plan"));
  EXPECT_THAT(refused.error().message, HasSubstr("plan:2:1"));
}

TEST_F(DocumentTest, ATrialThatLacksALevelOfThePlanIsAnError) {
  begin(tables);
  Trial strange = trial(expansion_.trials[expansion_.trials.size() - 1]);
  strange.levels.erase("mode");
  store(strange);
  EXPECT_FALSE(make_document(*store_, experiment_, ""));
}

TEST_F(DocumentTest, ADamagedRowIsAnErrorAndNotASmallerSample) {
  begin(tables);
  run();
  store::cheat(directory_ / "stab.db", "UPDATE trial SET wall_ns = 1 WHERE position = 9");
  EXPECT_FALSE(make_document(*store_, experiment_, ""));
}

// Each block ran on one machine.
const std::string on_three = R"([experiment]
name = "nodes"
[defaults]
repetitions = 6
[[benchmark]]
name = "quick"
run = ["/bin/quick", "${MODE}"]
[factor.mode]
levels = { slow = { MODE = "s" }, fast = { MODE = "f" } }
[machines]
engine = "slurm"
nodes = 3
)";

void place(Trial& trial) {
  trial.node = "n" + std::to_string(trial.block % 3 + 1);
  trial.wall_ns = *trial.wall_ns * (1000 + 7 * trial.block % 11) / 1000;
}

std::vector<const stats::Effect*> deciding_in(const report::Document& document) {
  return stats::deciding_effects(document.analysis);
}

TEST_F(DocumentTest, SeveralMachinesAreToldApart) {
  begin(on_three);
  run(place);
  const auto all = document();
  EXPECT_EQ(all.analysis.suite, 3U);
  ASSERT_EQ(deciding_in(all).size(), 1U);
  EXPECT_EQ(deciding_in(all)[0]->scope, stats::Scope::these);
  EXPECT_EQ(deciding_in(all)[0]->verdict, stats::Verdict::faster);
  ASSERT_EQ(all.analysis.machine_changes.size(), 1U);
  EXPECT_THAT(all.analysis.machine_changes[0].machines, ElementsAre("n1", "n2", "n3"));

  begin(on_three + "answer = 'like-these'\n");
  run(place);
  ASSERT_EQ(deciding_in(document()).size(), 1U);
  EXPECT_EQ(deciding_in(document())[0]->scope, stats::Scope::like_these);
}

// The level 'again' runs the same command as 'slow', and what it differs by is no change.
TEST_F(DocumentTest, SeveralMachinesHaveAControl) {
  for (const double control : {1.0, 5.0}) {
    begin(R"([experiment]
name = "controlled"
[defaults]
repetitions = 6
[[benchmark]]
name = "quick"
run = ["/bin/quick", "${MODE}"]
[factor.mode]
levels = { slow = { MODE = "s" }, again = { MODE = "s2" }, fast = { MODE = "f" } }
[design]
kind = "one-way"
[analysis]
control = "again"
[machines]
engine = "slurm"
nodes = 3
)");
    run([&](Trial& trial) {
      place(trial);
      if (trial.levels["mode"] == "again")
        trial.wall_ns =
            static_cast<std::int64_t>(2 * static_cast<double>(*trial.wall_ns) * control);
    });
    const auto all = document();
    ASSERT_EQ(deciding_in(all).size(), 1U);
    const stats::Effect& effect = *deciding_in(all)[0];
    EXPECT_EQ(effect.level, "fast");
    EXPECT_EQ(effect.scope, stats::Scope::these);
    ASSERT_TRUE(effect.reach);
    EXPECT_EQ(effect.verdict, control > 1 ? stats::Verdict::unsure : stats::Verdict::faster);
    EXPECT_EQ(effect.held_back.has_value(), control > 1);
  }
}

TEST_F(DocumentTest, MachinesAsOneHaveTheBenchmarksMeans) {
  begin(on_three);
  const auto machine = store_->add_machine(
      {.key = "k",
       .host = "n2",
       .facts = R"({"host":"n2","summary":"n2: a CPU, Linux 6.1","cpu_model":"a CPU",)"
                R"("topology":{"cpus":2,"cores":2,"packages":1}})"});
  ASSERT_TRUE(machine);
  experiment_.machine = *machine;
  run(place);
  const auto as_one = make_document(*store_, experiment_, "", {.machines_as_one = true});
  ASSERT_TRUE(as_one) << as_one.error().message;
  EXPECT_FALSE(as_one->analysis.spec.machines);
  const stats::CellMean* mean = mean_of(*as_one, "quick", "fast");
  ASSERT_NE(mean, nullptr);
  EXPECT_EQ(mean->n, 18U);  // six blocks on each of three machines
  EXPECT_EQ(as_one->hardware, "n1, n2, n3: a CPU, 2 CPUs in 2 cores in 1 package");
  EXPECT_EQ(as_one->machine, "n1, n2, n3: a CPU, Linux 6.1 (the details are those of one node)");
  EXPECT_EQ(document().hardware, as_one->hardware);
  EXPECT_THAT(as_one->nodes, ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(as_one->pool, "") << "the nodes' hardware is not known";
  for (const char* name : {"n1", "n2", "n3"})
    experiment_.nodes.push_back({.name = name, .hardware = "a CPU"});
  EXPECT_EQ(document().pool, "a CPU");
  experiment_.nodes.back().hardware = "another CPU";
  EXPECT_EQ(document().pool, "");
}

TEST_F(DocumentTest, TheOnlyNodeOfAClusterIsNamedWithItsHardware) {
  begin(tables + "[machines]\nengine = 'slurm'\n");
  const auto machine =
      store_->add_machine({.key = "k",
                           .host = "n2",
                           .facts = R"({"host":"n2","cpu_model":"a CPU",)"
                                    R"("topology":{"cpus":2,"cores":2,"packages":1}})"});
  ASSERT_TRUE(machine);
  experiment_.machine = *machine;
  run();
  EXPECT_THAT(document().nodes, ElementsAre("n2"));
  EXPECT_EQ(document().pool, "a CPU, 2 CPUs in 2 cores in 1 package");
  begin(tables);
  experiment_.machine = *machine;
  run();
  EXPECT_THAT(document().nodes, IsEmpty());
}

TEST_F(DocumentTest, AnEndedExperimentKeepsItsSlowNodes) {
  begin(on_three);
  run(place);
  const auto judge = [this](double n1, double n2, double n3) {
    experiment_.nodes = {
        {.name = "n1", .times = n1}, {.name = "n2", .times = n2}, {.name = "n3", .times = n3}};
  };
  const auto slow = [this] {
    std::vector<std::string> names;
    for (const stats::SlowMachine& each : document().analysis.slow_machines)
      names.push_back(each.name);
    return names;
  };
  EXPECT_THAT(slow(), IsEmpty());
  judge(1, 2.04, 1);
  EXPECT_THAT(slow(), ElementsAre("n2"));
  EXPECT_EQ(document().analysis.suite, 2U);
  EXPECT_EQ(document().analysis.slow_machines.at(0).times, 2.04);
  // Its means of all nodes together are those of the others, too.
  const auto as_one = make_document(*store_, experiment_, "", {.machines_as_one = true});
  ASSERT_TRUE(as_one) << as_one.error().message;
  EXPECT_EQ(mean_of(*as_one, "quick", "fast")->n, 12U);
  // After a retry, the rule decides again.
  experiment_.state = "analysing";
  EXPECT_THAT(slow(), IsEmpty());
  experiment_.state = "done";
  judge(1, 1, 3);
  EXPECT_THAT(slow(), ElementsAre("n3"));
  // An archive may say anything.
  judge(3, 3, 3);
  EXPECT_THAT(slow(), IsEmpty());
}

// A node is compared with nodes of the same hardware only.
TEST_F(DocumentTest, ASlowNodeIsLeftOutIfOthersHaveTheSameHardware) {
  for (const char* kind : {"a CPU", "another CPU", ""}) {
    begin(on_three);
    experiment_.nodes = {{.name = "n1", .hardware = "a CPU"},
                         {.name = "n2", .hardware = "a CPU"},
                         {.name = "n3", .hardware = kind}};
    run([](Trial& trial) {
      place(trial);
      if (trial.node == "n3") *trial.wall_ns *= 3;
    });
    EXPECT_EQ(document().analysis.slow_machines.size(), std::string_view(kind) == "a CPU" ? 1U : 0U)
        << kind;
  }
}

TEST_F(DocumentTest, AMachineThatLostItsTrialsTakesTheVerdictBack) {
  for (const char* level : {"", "fast"}) {
    begin(on_three);
    run([&](Trial& trial) {
      place(trial);
      if (trial.node != "n3" || (*level != 0 && trial.levels["mode"] != level)) return;
      trial.status = TrialStatus::wrong_exit;
      trial.wall_ns.reset();
    });
    const auto all = document();
    ASSERT_EQ(deciding_in(all).size(), 1U);
    EXPECT_EQ(deciding_in(all)[0]->verdict, stats::Verdict::unsure) << level;
    EXPECT_THAT(deciding_in(all)[0]->reason, HasSubstr("n3")) << level;
  }
}

// One machine is no answer about two, so its own change gets no verdict.
TEST_F(DocumentTest, TheChangeOnTheOnlyMachineLeftIsNoAnswer) {
  for (const bool has_row : {true, false}) {
    begin(on_three);
    if (!has_row) experiment_.state = "running";
    for (const plan::Trial& planned : expansion_.trials) {
      Trial done = trial(planned);
      place(done);
      if (done.node != "n1") {
        if (!has_row) continue;
        done.status = TrialStatus::wrong_exit;
        done.wall_ns.reset();
      }
      store(done);
    }
    const auto all = document();
    for (const stats::Effect& effect : all.analysis.effects)
      EXPECT_EQ(effect.verdict, stats::Verdict::unsure) << has_row << effect.reason;
  }
}

TEST_F(DocumentTest, SeveralBenchmarksOnSeveralMachinesHaveOneAnswerAndANote) {
  begin(tables + "[machines]\nengine = 'slurm'\nnodes = 3\n");
  run(place);
  const auto all = document();
  EXPECT_FALSE(all.analysis.spec.machines);
  EXPECT_THAT(all.analysis.notes,
              ::testing::Contains(
                  HasSubstr("not reported separately, because the plan has several benchmarks")));
}

}  // namespace
}  // namespace stab::results
