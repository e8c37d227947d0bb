// SPDX-License-Identifier: MIT
#include "results/sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace stab::results {
namespace {

using counters::Reading;
using counters::Status;

plan::Plan plan_with(std::vector<std::vector<std::string>> counters) {
  plan::Plan plan;
  plan.counters = std::move(counters);
  return plan;
}

TEST(CounterCounter, TellsWhatWasCountedFromWhatWasNot) {
  CounterCounter counter(plan::counter_names(plan_with({{"cycles", "instructions"}, {"cs"}})),
                         Missing::absent);
  counter.add({counters::counted("cycles", "", 10), counters::counted("cs", "", 7),
               counters::counted("instructions", "", 1)});
  counter.add({{.name = "cycles", .status = Status::scaled, .value = 30.4, .coverage = 0.6},
               counters::absent("cs", "", "none was free")});
  // Too short a time to be compared.
  counter.add({{.name = "cycles", .status = Status::scaled, .value = 1e6, .coverage = 0.4},
               counters::absent("cs", "", "another reason")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0].name, "cycles");
  EXPECT_EQ(result[0].counted, 1U);
  EXPECT_EQ(result[0].scaled, 2U);
  EXPECT_EQ(result[0].left_out, 1U);
  EXPECT_EQ(result[0].least_coverage, 0.4);
  EXPECT_DOUBLE_EQ(result[0].median.value(), 20.2);
  EXPECT_EQ(result[1].name, "instructions");
  EXPECT_EQ(result[1].absent, 2U);
  EXPECT_EQ(result[1].reason, "the reading was not recorded");
  EXPECT_EQ(result[2].absent, 2U);
  EXPECT_EQ(result[2].reason, "none was free");
  EXPECT_EQ(result[2].median, 7);
}

TEST(CounterCounter, APlanThatCountsNothingHasNone) {
  CounterCounter counter(plan::counter_names(plan_with({})), Missing::absent);
  counter.add({counters::counted("cycles", "", 10)});
  EXPECT_TRUE(counter.result().empty());
}

TEST(CounterCounter, AMeasureOfOtherBenchmarksIsNotMissing) {
  plan::Plan plan;
  plan.outputs = {{.name = "ops", .unit = "1/s"}};
  plan.derived = {{.name = "cost", .formula = "wall / ops"}};
  CounterCounter counter(measure_names(plan), Missing::not_meant);
  counter.add({counters::counted("ops", "1/s", 2.5), counters::counted("cost", "", 4.0)});
  counter.add({});
  counter.add({counters::absent("ops", "1/s", "stdout: nothing matches"),
               counters::absent("cost", "", "ops is absent: stdout: nothing matches")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].unit, "1/s");
  EXPECT_EQ(result[0].counted, 1U);
  EXPECT_EQ(result[0].absent, 1U);
  EXPECT_EQ(result[0].median, 2.5);
  EXPECT_EQ(result[1].name, "cost");
  EXPECT_EQ(result[1].reason, "ops is absent: stdout: nothing matches");
}

TEST(CounterCounter, RegionsCountFromTheTrialThatHasThemOn) {
  CounterCounter counter({"ops"}, Missing::not_meant);
  const auto add = [&](const std::vector<Reading>& readings) {
    counter.look_for_regions(readings);
    counter.add(readings);
  };
  add({counters::counted("ops", "", 1), counters::counted("steal-ns", "ns", 1)});
  add({counters::counted("region-parse-ns", "ns", 10)});
  add({counters::counted("region-parse-ns", "ns", 30),
       counters::absent("region-emit-ns", "ns", "it was not entered")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[1].name, "region-parse-ns");
  EXPECT_EQ(result[1].unit, "ns");
  EXPECT_EQ(result[1].counted, 2U);
  EXPECT_EQ(result[1].median, 20);
  EXPECT_EQ(result[2].absent, 1U);

  CounterCounter hostile({}, Missing::not_meant);
  for (int trial = 0; trial < 1000; ++trial)
    hostile.look_for_regions(
        {counters::counted("region-a" + std::to_string(trial) + "-ns", "ns", 1)});
  EXPECT_EQ(hostile.result().size(), 128U);
}

constexpr std::int64_t ms = 1'000'000;

counters::Reading reading(const std::string& name, std::int64_t value) {
  return counters::counted(name, "", value);
}

store::Trial trial(std::int64_t wall_ms, std::int64_t cpu_ms, std::int64_t switches = 1) {
  store::Trial made;
  made.wall_ns = wall_ms * ms;
  made.user_ns = cpu_ms * ms;
  made.system_ns = 0;
  made.readings = {reading("context-switches-voluntary", switches)};
  return made;
}

TEST(LoadCounter, OfNothingNothingIsKnown) {
  const report::Load load = LoadCounter().result();
  EXPECT_EQ(load.known, 0U);
  EXPECT_FALSE(load.others);
  EXPECT_FALSE(load.stolen);
}

TEST(LoadCounter, SharesAreOfTheTimeOfTheTrialsThatKnowThem) {
  LoadCounter counter;
  store::Trial first = trial(100, 100);
  first.readings.push_back(reading("other-cpus-busy-ns", 50 * ms));
  first.readings.push_back(reading("steal-ns", 10 * ms));
  store::Trial second = trial(300, 300);
  second.readings.push_back(reading("other-cpus-busy-ns", 150 * ms));
  second.readings.push_back(
      {.name = "steal-ns", .unit = "ns", .status = counters::Status::absent, .reason = "none"});
  counter.add(first);
  counter.add(second);
  EXPECT_DOUBLE_EQ(*counter.result().others, 0.5);
  EXPECT_DOUBLE_EQ(*counter.result().stolen, 0.1);
}

// One other CPU that is busy all the time, and trials that are shorter than the kernel's ticks.
TEST(LoadCounter, ShortTrialsDoNotSeeMoreCpusThanThereAre) {
  LoadCounter counter;
  for (int i = 0; i < 100; ++i) {
    store::Trial each = trial(1, 1);
    each.readings.push_back(reading("other-cpus-busy-ns", i % 2 == 0 ? 10 * ms : 0));
    counter.add(each);
  }
  EXPECT_LE(*counter.result().others, 1);
  EXPECT_GE(*counter.result().others, 0.25);  // which is a busy machine
}

TEST(LoadCounter, ATrialThatGotLessThanItsCpuWasKeptWaiting) {
  LoadCounter counter;
  counter.add(trial(100, 99));
  counter.add(trial(100, 80));
  EXPECT_EQ(counter.result().known, 2U);
  EXPECT_EQ(counter.result().kept_waiting, 1U);
}

TEST(LoadCounter, OneThatSleepsOrHasThreadsOrIsVeryShortWasNot) {
  LoadCounter counter;
  counter.add(trial(100, 10, 50));
  EXPECT_EQ(counter.result().known, 0U);
  counter.add(trial(100, 180));
  counter.add(trial(2, 1));
  // The command beside it had its CPU for half of the time.
  store::Trial in_turns = trial(100, 50);
  in_turns.readings.push_back(reading("beside-cpu-ns", 50 * ms));
  counter.add(in_turns);
  EXPECT_EQ(counter.result().known, 2U);
  EXPECT_EQ(counter.result().kept_waiting, 0U);
}

TEST(LoadCounter, WithoutATimeNothingIsKnown) {
  LoadCounter counter;
  store::Trial simulated = trial(0, 0);
  simulated.wall_ns.reset();
  counter.add(simulated);
  EXPECT_EQ(counter.result().known, 0U);
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

plan::Plan plan_with_factors(std::vector<std::string> factors) {
  plan::Plan plan;
  for (std::string& name : factors)
    plan.factors.push_back({.name = std::move(name), .levels = plan::FixedLevels()});
  return plan;
}

using Printed = std::function<std::string(const std::string& opt, const std::string& order)>;

// Three blocks of two levels of opt; each block has a link order of its own.
std::vector<report::Outputs> of(const plan::Plan& plan, const Printed& printed) {
  OutputCounter counter(plan);
  for (const char* order : {"1", "2", "3"})
    for (const char* opt : {"O1", "O2"}) {
      store::Trial trial;
      trial.benchmark = "sort";
      trial.levels = {{"opt", opt}, {"link_order", order}};
      trial.stdout_sha256 = printed(opt, order);
      counter.add(trial, std::string("sort opt=") + opt);
    }
  return counter.result();
}
std::vector<report::Outputs> of(const Printed& printed) {
  return of(plan_with_factors({"opt", "link_order"}), printed);
}

TEST(OutputCounter, SaysNothingWhereAllAgreeOrNothingWasKept) {
  EXPECT_THAT(of([](auto&, auto&) { return "a"; }), IsEmpty());
  EXPECT_THAT(of([](auto&, auto&) { return ""; }), IsEmpty());
}

TEST(OutputCounter, NamesTheTreatmentWhoseLevelsPrintDifferentThings) {
  const auto found = of([](auto& opt, auto&) { return opt; });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].benchmark, "sort");
  EXPECT_THAT(found[0].factors, ElementsAre("opt"));
  EXPECT_EQ(found[0].trials, 6U);
  EXPECT_EQ(found[0].different, 2U);
  EXPECT_EQ(found[0].cells, 2U);
  EXPECT_EQ(found[0].varying_cells, 0U);
}

TEST(OutputCounter, NamesTheLayoutFactorThatChangesWhatIsPrinted) {
  const auto found = of([](auto&, auto& order) { return order == "2" ? "b" : "a"; });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].factors, ElementsAre("link_order"));
  EXPECT_EQ(found[0].varying_cells, 2U);
}

TEST(OutputCounter, CountsCellsWhoseTrialsDifferAmongThemselves) {
  int n = 0;
  const auto found = of([&](auto&, auto&) { return std::to_string(n++); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].factors, IsEmpty());
  EXPECT_EQ(found[0].different, 6U);
  EXPECT_EQ(found[0].varying_cells, 2U);
  const auto one =
      of([&](auto& opt, auto&) { return opt == "O1" ? std::to_string(n++) : "the same"; });
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].varying_cells, 1U);
}

// Of a factor each of whose levels has one trial nothing can be said.
TEST(OutputCounter, AFactorWithOneTrialALevelIsNotBlamed) {
  OutputCounter counter(plan_with_factors({"link_order"}));
  for (const char* order : {"1", "2", "3"}) {
    store::Trial trial;
    trial.benchmark = "sort";
    trial.levels = {{"link_order", order}};
    trial.stdout_sha256 = order;
    counter.add(trial, "sort");
  }
  ASSERT_THAT(counter.result(), SizeIs(1));
  EXPECT_THAT(counter.result()[0].factors, IsEmpty());
  EXPECT_EQ(counter.result()[0].varying_cells, 1U);
}

TEST(OutputCounter, WhatIsMeasuredMayVaryButNotByLevel) {
  plan::Plan plan = plan_with_factors({"opt", "link_order"});
  plan.outputs.push_back({.name = "time"});
  int n = 0;
  EXPECT_THAT(of(plan, [&](auto&, auto&) { return std::to_string(n++); }), IsEmpty());
  EXPECT_THAT(of(plan, [](auto& opt, auto&) { return opt; }), SizeIs(1));
}

using store::Layout;

Layout moved(std::int64_t bytes, std::int64_t epochs = 1, bool repeated = false) {
  return {.randomized = true,
          .kind = repeated ? "code repeated" : "code once",
          .epochs = epochs,
          .text_bytes = 1000,
          .moved_bytes = bytes,
          .random_code = true,
          .random_stack = false,
          .random_heap = false,
          .repeated = repeated};
}

report::Layouts sum(const std::vector<Layout>& layouts) {
  LayoutCounter counter;
  for (const Layout& layout : layouts) counter.add(layout);
  return counter.result();
}

TEST(Layouts, OfNoTrialsAreNone) {
  const report::Layouts none = sum({});
  EXPECT_EQ(none.randomized + none.unrandomized + none.without_runtime, 0U);
  EXPECT_FALSE(none.median_share);
  EXPECT_FALSE(none.median_epochs);
}

TEST(Layouts, AreCountedByWhatTheProgramsDid) {
  const report::Layouts all = sum({moved(900), Layout{.randomized = false}, Layout(), moved(1000)});
  EXPECT_EQ(all.randomized, 2U);
  EXPECT_EQ(all.unrandomized, 1U);
  EXPECT_EQ(all.without_runtime, 1U);
  EXPECT_EQ(all.kinds, "code once");
  EXPECT_DOUBLE_EQ(all.median_share.value(), 0.95);
  EXPECT_DOUBLE_EQ(all.least_share.value(), 0.9);
  EXPECT_EQ(all.few_epochs, 0U);
}

TEST(Layouts, WhatWasRandomIsAFactAndNotAWordOfTheDescription) {
  const report::Layouts all = sum(
      {moved(1), Layout{.randomized = true, .random_stack = true, .random_heap = true},
       Layout{.randomized = true, .kind = "code stack heap shuffled repeated 5ms", .epochs = 2}});
  EXPECT_EQ(all.random_code, 1U);
  EXPECT_EQ(all.random_stack, 1U);
  EXPECT_EQ(all.random_heap, 1U);
  EXPECT_EQ(all.few_epochs, 0U);
}

TEST(Layouts, ProgramsWhoseFilesRuleARuntimeOutAreCountedWithTheReasons) {
  const Layout fixed{.note = "the program is linked statically"};
  const report::Layouts all = sum({moved(900), Layout(), fixed, fixed, Layout{.note = "b"}});
  EXPECT_EQ(all.without_runtime, 4U);
  EXPECT_EQ(all.in_place, 3U);
  EXPECT_EQ(all.why_in_place, "b; the program is linked statically");
  EXPECT_EQ(sum({moved(1)}).why_in_place, "");
}

TEST(Layouts, NotesOfRandomizedTrialsAreCountedAndTellWhyThereAreNoPads) {
  const auto noted = [](const std::string& note, bool stack) {
    return Layout{.randomized = true,
                  .kind = "code once",
                  .note = note,
                  .random_code = true,
                  .random_stack = stack};
  };
  const std::string none = "no stack frame has a pad, because of b";
  const report::Layouts all =
      sum({noted("a", true), noted(none + "; a", false), noted(none, false), noted(none, false),
           noted("c", true), noted("", false), Layout{.note = "the program is static"}});
  ASSERT_EQ(all.notes.size(), 3U);
  EXPECT_EQ(all.notes[0].text, none);
  EXPECT_EQ(all.notes[0].trials, 3U);
  EXPECT_EQ(all.notes[1].text, "a");
  EXPECT_EQ(all.notes[1].trials, 2U);
  EXPECT_EQ(all.notes[2].text, "c");
  EXPECT_EQ(all.why_no_pads, none);
}

TEST(Layouts, NotesThatDifferOnlyInNumbersAreOneAndStabdsOwnAreNone) {
  const auto noted = [](const std::string& note) {
    return Layout{.randomized = true, .kind = "code once", .note = note};
  };
  const report::Layouts all =
      sum({noted("the stacks of 12 threads were small; stabd: 2 processes taken together"),
           noted("the stacks of 7 threads were small; the stacks of 8 threads were small"),
           noted("stabd: 3 processes taken together"),
           noted("stabd: the region a was still open when the program ended"),
           noted("stabd: process 7 reported its exit but not its start"),
           noted("stabd: a line of the runtime's report is damaged: x")});
  ASSERT_EQ(all.notes.size(), 1U);
  EXPECT_EQ(all.notes[0].text, "the stacks of 12 threads were small");
  EXPECT_EQ(all.notes[0].trials, 2U);
}

TEST(Layouts, FewOnesMatterOnlyWhereTheyRepeat) {
  const report::Layouts all =
      sum({moved(1, 1), moved(1, 29, true), moved(1, 30, true), moved(1, 50, true)});
  EXPECT_EQ(all.few_epochs, 1U);
  EXPECT_DOUBLE_EQ(all.median_epochs.value(), 29.5);
  EXPECT_EQ(all.kinds, "code once, code repeated");
}

TEST(Layouts, HeapsOfWhichMostIsFixedAreCounted) {
  const auto heap = [](std::int64_t fixed) {
    return Layout{.randomized = true,
                  .kind = "heap shuffled once",
                  .heap_operations = 9,
                  .heap_bytes = 1000,
                  .heap_fixed_bytes = fixed};
  };
  const report::Layouts all = sum({heap(500), heap(501), heap(1000), moved(1)});
  EXPECT_EQ(all.fixed_heaps, 2U);
  EXPECT_DOUBLE_EQ(all.median_fixed.value(), 0.501);
  EXPECT_FALSE(sum({moved(1)}).median_fixed);
}

TEST(Layouts, ATrialWithoutNumbersHasNoShare) {
  EXPECT_FALSE(sum({Layout{.randomized = true, .kind = "code once"}}).median_share);
  EXPECT_FALSE(sum({Layout{.randomized = true, .text_bytes = 0, .moved_bytes = 0}}).median_share);
}

plan::Plan plan_on(bool log_scale) {
  plan::Plan plan;
  plan.analysis.response = "time";
  plan.analysis.log_scale = log_scale;
  plan.analysis.alpha = 0.05;
  return plan;
}

store::Trial trial_with(std::vector<double> values) {
  store::Trial trial;
  trial.benchmark = "sort";
  trial.samples = {{.measure = "time", .subject = "BM_a", .values = std::move(values)},
                   {.measure = "other", .values = {1, 100}},
                   {.measure = "time", .subject = "BM_absent", .reason = "no keys"}};
  return trial;
}

// By hand: means 10, 12, 11 and, in the other cell, 20, 23. With two samples each, whose sums of
// squares are 2, the mean square within is 2 and that between trials is 2 (2 + 4.5) / 3.
TEST(SampleSums, TellsTheVarianceWithinTrialsFromThatBetweenThem) {
  SampleSums sums(plan_on(false));
  for (const double mean : {10, 12, 11}) sums.add(trial_with({mean - 1, mean + 1}), "sort a=1");
  for (const double mean : {20, 23}) sums.add(trial_with({mean - 1, mean + 1}), "sort a=2");
  const auto result = sums.result();
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0].subject, "sort/BM_a");
  EXPECT_EQ(result[0].samples, 2);
  EXPECT_NEAR(result[0].within, 2, 1e-12);
  const double between = (2 * 6.5 / 3 - 2) / 2;
  EXPECT_NEAR(result[0].between, between, 1e-9);
  EXPECT_NEAR(result[0].share.value(), 1 / (1 + between), 1e-9);
  EXPECT_LT(result[0].between_low, between);
  EXPECT_GT(result[0].between_high, between);
  EXPECT_LT(result[0].within_low, 2);
  EXPECT_GT(result[0].within_high, 2);
}

TEST(SampleSums, IsOnTheScaleOfTheComparison) {
  SampleSums raw(plan_on(false));
  SampleSums logs(plan_on(true));
  for (const std::vector<double>& values :
       {std::vector<double>{1, 2}, std::vector<double>{3, 5}, std::vector<double>{2, 2}}) {
    raw.add(trial_with(values), "c");
    std::vector<double> powers;
    for (const double value : values) powers.push_back(std::exp(value));
    logs.add(trial_with(powers), "c");
  }
  EXPECT_NEAR(raw.result().at(0).within, logs.result().at(0).within, 1e-12);
  EXPECT_NEAR(raw.result().at(0).between, logs.result().at(0).between, 1e-9);
  logs.add(trial_with({-1, 2}), "c");  // it has no logarithm
  EXPECT_NEAR(raw.result().at(0).within, logs.result().at(0).within, 1e-12);
}

TEST(SampleSums, NeedsTwoTrialsAndTwoSamples) {
  SampleSums sums(plan_on(false));
  EXPECT_TRUE(sums.result().empty());
  sums.add(trial_with({1, 2}), "a");
  sums.add(trial_with({3, 4}), "b");
  EXPECT_TRUE(sums.result().empty());
  SampleSums single(plan_on(false));
  for (const double value : {1, 2, 3}) single.add(trial_with({value}), "a");
  EXPECT_TRUE(single.result().empty());
}

}  // namespace
}  // namespace stab::results
