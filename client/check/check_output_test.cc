// SPDX-License-Identifier: MIT
#include "client/check/check_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "machine/observer.h"
#include "plan/plan.h"
#include "plan/reading/testing.h"
#include "report/json.h"
#include "results/prediction.h"

namespace stab::client {
namespace {

using results::prediction::detectable;
using results::prediction::families;
using results::prediction::Variation;
using testing::ElementsAre;
using testing::IsEmpty;

plan::Plan plan_of(int repetitions, const std::string& more = "") {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[defaults]\nrepetitions = " + std::to_string(repetitions) +
      "\n[[benchmark]]\nname = 'a'\nrun = ['/bin/a']\n[[benchmark]]\nname = "
      "'b'\nrun = ['/bin/b']\n[factor.aslr]\nlevels = [false, true]\n" +
      more);
}

std::vector<std::string> lines_of(const plan::Plan& plan, const Variation& variation = {}) {
  return value_lines(comparisons(plan, families(plan), detectable(plan, variation), "--noise"));
}

TEST(CheckWords, SayHowManyComparisonsAreCorrectedTogether) {
  EXPECT_THAT(
      lines_of(plan_of(30)),
      ElementsAre("2 comparisons on each benchmark are corrected together, and each error term "
                  "has 29 degrees of freedom"));
}

TEST(CheckDuration, NodesRunTheirTrialsAtTheSameTime) {
  const std::chrono::nanoseconds taken = std::chrono::minutes(10);
  const Amount ran{.trials = 100, .nodes = 1};
  EXPECT_EQ(scaled_duration(taken, ran, {.trials = 200, .nodes = 1}), 2 * taken);
  EXPECT_EQ(scaled_duration(taken, ran, {.trials = 400, .nodes = 4}), taken);
  EXPECT_EQ(scaled_duration(taken, {.trials = 400, .nodes = 4}, ran), taken);
  // An experiment that ran a twentieth of its 100 trials.
  EXPECT_EQ(scaled_duration(taken, {.trials = 5, .nodes = 1}, ran), 20 * taken);
}

TEST(CheckWords, SayWhichChangeIsFound) {
  EXPECT_THAT(
      lines_of(plan_of(30), {.all_trials = 0.02}),
      ElementsAre(
          "2 comparisons on each benchmark are corrected together, and each error term has 29 "
          "degrees of freedom",
          "  smallest change that can be detected with 80 % power after the correction for 2 "
          "comparisons, judging by --noise:",
          "    a                        aslr             1.68 %   (standard deviation 2 %)",
          "    b                        aslr             1.68 %   (standard deviation 2 %)"));
}

TEST(CheckWords, WarnOfFewDegreesOfFreedom) {
  EXPECT_THAT(
      lines_of(plan_of(10)),
      ElementsAre(
          "2 comparisons on each benchmark are corrected together, and each error term "
          "has 9 degrees of freedom",
          "  warning: an error term has only 9 degrees of freedom, so the experiment can detect "
          "only large effects on each benchmark: use more repetitions to detect smaller effects"));
  EXPECT_EQ(lines_of(plan_of(11)).size(), 1U);
  EXPECT_EQ(
      lines_of(plan_of(10), {.all_trials = 0.02}).back(),
      "  warning: an error term has only 9 degrees of freedom, so the experiment can detect only "
      "effects larger than 3.27 % on each benchmark: use more repetitions to detect smaller "
      "effects");
  EXPECT_EQ(lines_of(plan_of(1)).back(),
            "  warning: an error term has no degrees of freedom, so nothing can be concluded about "
            "each benchmark: use more repetitions");
}

TEST(CheckWords, ProgramsLikeTheseNeedMorePrograms) {
  EXPECT_THAT(
      lines_of(plan_of(20, "[design]\nkind = 'within-subjects'\n[analysis]\nprograms = 'these'\n")),
      ElementsAre(
          "there is one comparison on these 2 benchmarks; its error term has 19 degrees of freedom",
          "there is one comparison on benchmarks like these; its error term has 1 degree of "
          "freedom",
          "  warning: an error term has only 1 degree of freedom, so the experiment can detect "
          "only large effects on benchmarks like these: use more benchmarks to detect smaller "
          "effects",
          "2 comparisons on each benchmark are corrected together, and each error term has 19 "
          "degrees of freedom"));
}

plan::Plan plan_on(const std::string& more) {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'a'\nrun = ['/bin/a']\n[factor.aslr]\n"
      "levels = [false, true]\n" +
      more);
}

std::vector<std::string> node_lines_of(const plan::Plan& plan, const Variation& variation = {}) {
  return value_lines(
      nodes_needed(plan, results::prediction::on_machines(plan, variation), "experiment 7"));
}

TEST(CheckWords, SayHowManyNodesTheQuestionNeeds) {
  const std::string nodes = "[machines]\nengine = 'slurm'\nnodes = ";
  const std::string unknown =
      "  how many nodes find a given change is not known before an experiment of this name has run "
      "on several nodes";
  EXPECT_THAT(node_lines_of(plan_on("")), IsEmpty());
  EXPECT_THAT(node_lines_of(plan_on(nodes + "1\n")),
              ElementsAre("the plan's question is about the node that runs it, so it needs no more "
                          "nodes; an answer about nodes like it needs at least 5 nodes"));
  EXPECT_THAT(
      node_lines_of(plan_on(nodes + "3\n")),
      ElementsAre("the plan's question is about these 3 nodes, so it needs no more nodes; an "
                  "answer about nodes like these needs at least 5 nodes",
                  unknown));
  EXPECT_THAT(
      node_lines_of(plan_on(nodes + "3\nanswer = 'like-these'\n")),
      ElementsAre("an answer about nodes like these needs at least 5 nodes, and the plan has "
                  "3",
                  unknown));
  // Several benchmarks have one answer, which tells no nodes apart.
  EXPECT_THAT(node_lines_of(plan_of(3, nodes + "3\n")), IsEmpty());
}

TEST(CheckWords, SayWhichChangeMoreNodesFind) {
  const plan::Plan plan = plan_on(
      "[analysis]\nmargin = '1%'\n[machines]\nengine = 'slurm'\nnodes = 3\nanswer = "
      "'like-these'\n");
  Variation variation;
  variation.own[{.scope = stats::Scope::like_these, .benchmark = "", .treatment = "aslr"}] = 0.01;
  const auto lines = node_lines_of(plan, variation);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[1].starts_with(
      "  aslr: judging by experiment 7, the change differs between nodes with a standard deviation "
      "of 1 %; the smallest change on nodes like these that can be detected with 80 % power is "))
      << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" % with 16 nodes")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(
      "  aslr: to detect a change of 1 % (analysis.margin) on nodes like these, the experiment "
      "needs "))
      << lines[2];
  const auto root =
      report::value_json(nodes_needed(plan, results::prediction::on_machines(plan, variation), ""));
  EXPECT_EQ(root["question"], "like-these");
  EXPECT_EQ(root["fewest_like_these"], 5);
  EXPECT_EQ(root["treatments"][0]["smallest"].size(), 4U);
  EXPECT_EQ(root["treatments"][0]["margin"], 0.01);
  EXPECT_GT(root["treatments"][0]["needed"], 8);
}

TEST(CheckWords, NothingIsSaidWhereNothingIsCompared) {
  const auto plan = plan::good_plan(plan::smallest);
  EXPECT_THAT(lines_of(plan), IsEmpty());
  EXPECT_EQ(report::row_json(comparisons(plan, {}, {}, "")).dump(),
            R"({"comparisons":0,"error_df":null,"families":[],"warnings":[]})");
}

TEST(CheckWords, TheJsonHasTheDecidingFamilyAndAll) {
  const auto plan = plan_of(5);
  const auto root = report::row_json(
      comparisons(plan, families(plan), detectable(plan, {.all_trials = 0.02}), ""));
  EXPECT_EQ(root["comparisons"], 2);
  EXPECT_EQ(root["error_df"], 4);
  ASSERT_EQ(root["families"].size(), 2U);
  EXPECT_EQ(root["families"][1].dump(),
            R"({"programs":"","benchmark":"b","comparisons":2,"error_df":4})");
  EXPECT_EQ(root["warnings"].size(), 1U);
  EXPECT_EQ(root.size(), 4U) << "the smallest changes are a field of their own";
}

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

plan::Plan plan_with(std::vector<plan::Exclusion> rules, std::uint32_t repeats = 1) {
  plan::Plan plan;
  plan.exclude = std::move(rules);
  plan.exclude_repeats = repeats;
  return plan;
}

std::vector<std::string> lines_of_rules(const plan::Plan& plan,
                                        std::span<const counters::Reading> here) {
  return value_lines(exclusions(plan, here));
}

const plan::Exclusion switches{
    .quantity = "involuntary_switches_per_s", .bound = plan::Bound::above, .limit = 50};
const plan::Exclusion steal{.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01};

TEST(ExclusionWords, ARuleIsExplainedWithTheTimeOfASingleEvent) {
  const std::vector here{counters::counted("context-switches-involuntary", "", 0)};
  EXPECT_THAT(
      lines_of_rules(plan_with({switches}), here),
      ElementsAre("excluded if involuntary_switches_per_s > 50 (how often other processes took "
                  "the program's CPU)",
                  "  in a trial shorter than 20 ms, a single event already exceeds the limit",
                  "excluded trials are repeated at the end of their block, up to 1 time each"));
  EXPECT_EQ(report::value_json(exclusions(plan_with({switches}, 2), here))["repeats"], 2);
}

TEST(ExclusionWords, AMachineThatLacksTheReadingIsAWarning) {
  const std::vector here{counters::absent("steal-ns", "ns", "/proc/stat does not exist")};
  const auto lines = lines_of_rules(plan_with({steal}, 0), here);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2], "  warning: this rule excludes nothing here: /proc/stat does not exist");
  EXPECT_THAT(lines[3], HasSubstr("not repeated"));
  EXPECT_EQ(report::value_json(exclusions(plan_with({steal}), here))["rules"][0]["absent_here"],
            "/proc/stat does not exist");
}

TEST(ExclusionWords, AShareThatIsCountedInTicksSaysWhatOneTickIs) {
  const std::vector here{counters::counted("steal-ns", "ns", 0),
                         counters::counted("memory-pressure-ns", "ns", 0)};
  ASSERT_EQ(sysconf(_SC_CLK_TCK), 100);  // of all Linux that Debian has
  EXPECT_THAT(lines_of_rules(plan_with({steal}), here),
              Contains("  the kernel counts in ticks of 10 ms, so in a trial shorter than 1 s, a "
                       "single tick already exceeds the limit"));
  const plan::Exclusion pressure{
      .quantity = "memory_pressure_share", .bound = plan::Bound::above, .limit = 0.01};
  EXPECT_THAT(lines_of_rules(plan_with({pressure}), here), Not(Contains(HasSubstr("ticks"))));
}

TEST(ExclusionWords, EveryReadingInTicksIsKnown) {
  for (const machine::Source& source : machine::sources()) {
    if (source.meaning.find("tick") == std::string_view::npos) continue;
    for (const plan::Quantity& quantity : plan::quantities()) {
      if (quantity.reading != source.reading) continue;
      const plan::Exclusion rule{
          .quantity = std::string(quantity.name), .bound = plan::Bound::above, .limit = 0.01};
      EXPECT_THAT(lines_of_rules(plan_with({rule}), {}), Contains(HasSubstr("ticks of")))
          << quantity.name;
    }
  }
}

TEST(ExclusionWords, APlanWithoutRulesSaysNothing) {
  EXPECT_THAT(lines_of_rules(plan_with({}), {}), IsEmpty());
  EXPECT_TRUE(report::value_json(exclusions(plan_with({}), {})).is_null());
}

// A reading that nobody looked for would be called absent everywhere.
TEST(ExclusionWords, EveryReadingOfAQuantityIsLookedForHere) {
  const auto here = readings_here();
  for (const plan::Quantity& quantity : plan::quantities())
    for (const std::string_view name : {quantity.reading, quantity.before})
      EXPECT_TRUE(name.empty() || std::ranges::count(here, name, &counters::Reading::name) == 1)
          << name;
}

// The observer's readings are all covered.
TEST(ExclusionWords, EveryReadingOfTheObserverHasAQuantity) {
  std::set<std::string_view> read;
  for (const plan::Quantity& quantity : plan::quantities()) {
    read.insert(quantity.reading);
    if (!quantity.before.empty()) read.insert(quantity.before);
  }
  for (const machine::Source& source : machine::sources())
    EXPECT_TRUE(read.contains(source.reading)) << source.reading;
}

}  // namespace
}  // namespace stab::client
