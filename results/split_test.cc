// SPDX-License-Identifier: MIT
// The benchmarks that programs measure are subjects of their own.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "design/resolve.h"
#include "plan/reading/testing.h"
#include "report/json.h"
#include "report/text.h"
#include "results/document.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

const std::string split = tables +
                          "[design]\nkind = 'full-factorial'\n"
                          "[[measure.output]]\nname = 'time'\ngoogle_benchmark = 'real_time'\n"
                          "[analysis]\nresponse = ['time', 'wall']\n";

// BM_a takes twice as long at the level "slow", of BM_b both take the same.
void with_benchmarks(Trial& trial) {
  const bool slow = trial.levels["mode"] == "slow";
  const double shift = 1 + 0.001 * (slow ? trial.block : trial.block * trial.block);
  const double a = (slow ? 200 : 100) * shift;
  const double b = 50 * (slow ? 2 - shift : shift);
  trial.samples = {
      {.measure = "time", .subject = "BM_a", .unit = "ns", .values = {a, a * 1.1, a * 0.9}},
      {.measure = "time", .subject = "BM_b", .unit = "ns", .values = {b}}};
}

const stats::Effect* effect_of(const stats::Analysis& analysis, const std::string& subject) {
  const auto found = std::ranges::find(analysis.effects, subject, &stats::Effect::subject);
  return found == analysis.effects.end() ? nullptr : &*found;
}

TEST_F(DocumentTest, EachBenchmarkOfAProgramHasAVerdictAndItsSamplesAreNoTrials) {
  begin(split);
  run(with_benchmarks);
  const auto all = document();
  EXPECT_EQ(all.analysis.spec.unit, stats::Unit::nanoseconds);
  ASSERT_EQ(all.analysis.effects.size(), 4U);
  for (const std::string program : {"bubble", "quick"}) {
    const stats::Effect* a = effect_of(all.analysis, program + "/BM_a");
    const stats::Effect* b = effect_of(all.analysis, program + "/BM_b");
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(a->verdict, stats::Verdict::faster);
    EXPECT_NEAR(a->ratio.value(), 0.5, 0.005);
    EXPECT_NE(b->verdict, stats::Verdict::faster);
    for (const stats::Effect* each : {a, b}) {
      EXPECT_EQ(each->unit, "block");
      EXPECT_EQ(each->units, 4U);
    }
  }
  ASSERT_EQ(all.others.size(), 1U);
  EXPECT_NE(effect_of(all.others[0], "bubble"), nullptr);
  EXPECT_EQ(all.others[0].effects.size(), 2U);
  ASSERT_EQ(all.samples.size(), 2U);  // BM_b has one number a trial
  EXPECT_EQ(all.samples[0].samples, 3);
  EXPECT_GT(all.samples[0].share.value(), 0.9);
  EXPECT_TRUE(all.measures.empty());
  EXPECT_THAT(report::text(all, {.full = true}),
              AllOf(HasSubstr("Samples within trials"), HasSubstr("bubble/BM_a")));
  const auto json = nlohmann::json::parse(report::json(all));
  EXPECT_EQ(json["samples"][0]["samples_per_trial"], 3);
}

TEST_F(DocumentTest, BenchmarksOfProgramsCanBeAskedForWhereTheDesignComparesThem) {
  const std::string by_wall = split.substr(0, split.find("[analysis]"));
  begin(by_wall);
  run(with_benchmarks);
  const auto made = make_document(*store_, experiment_, "", {.response = "time"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(effect_of(made->analysis, "quick/BM_a")->verdict, stats::Verdict::faster);
  std::string over_all = by_wall;
  over_all.replace(over_all.find("full-factorial"), 14, "within-subjects");
  begin(over_all);
  run(with_benchmarks);
  const auto refused = make_document(*store_, experiment_, "", {.response = "time"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("in a within-subjects design each benchmark needs trials of its own"));
}

// It says of each what a plan would say that measured only that, a number a trial.
TEST_F(DocumentTest, ABenchmarkOfAProgramIsAnalysedAsOneOfThePlan) {
  begin(split);
  run(with_benchmarks);
  const auto all = document();
  begin(tables +
        "[design]\nkind = 'full-factorial'\n"
        "[[measure.output]]\nname = 'time'\nregex = '(x)'\nunit = 'ns'\n"
        "[analysis]\nresponse = 'time'\n");
  run([](Trial& trial) {
    with_benchmarks(trial);
    const std::vector<double> a = trial.samples[0].values;
    trial.samples.clear();
    trial.readings.push_back(counters::counted("time", "ns", std::cbrt(a[0] * a[1] * a[2])));
  });
  const auto alone = document();
  const stats::Effect* of_program = effect_of(all.analysis, "quick/BM_a");
  const stats::Effect* of_plan = effect_of(alone.analysis, "quick");
  ASSERT_TRUE(of_program != nullptr && of_plan != nullptr);
  EXPECT_NEAR(of_program->low.value(), of_plan->low.value(), 1e-9);
  EXPECT_NEAR(of_program->high.value(), of_plan->high.value(), 1e-9);
  EXPECT_EQ(of_program->units, of_plan->units);
}

TEST_F(DocumentTest, ABenchmarkThatSomeTrialsLackHasNoVerdictAndTheOthersHave) {
  for (const bool late : {false, true}) {
    begin(split);
    run([late](Trial& trial) {
      with_benchmarks(trial);
      // Of one trial at the beginning, or of all but one.
      const bool one = trial.block == 0 && trial.levels["mode"] == "fast";
      if (one != late && trial.benchmark == "quick") trial.samples.erase(trial.samples.begin());
      if (trial.benchmark == "bubble" && one)
        trial.samples[0] = {.measure = "time", .subject = "BM_a", .unit = "ns", .reason = "oh"};
    });
    const auto all = document();
    for (const std::string lacks : {"bubble/BM_a", "quick/BM_a"})
      if (const stats::Effect* effect = effect_of(all.analysis, lacks)) {
        EXPECT_EQ(effect->verdict, stats::Verdict::unsure);
        EXPECT_THAT(effect->reason,
                    HasSubstr(fmt::format("{} of 8 trials of {} have no time above 0",
                                          late && lacks.starts_with("quick") ? 7 : 1, lacks)));
      } else {
        EXPECT_TRUE(late) << lacks;
      }
    EXPECT_TRUE(effect_of(all.analysis, "quick/BM_b")->reason.empty());
    EXPECT_TRUE(effect_of(all.analysis, "bubble/BM_b")->reason.empty());
  }
}

TEST_F(DocumentTest, AProgramThatNamesEverOtherBenchmarksIsBounded) {
  begin(split);
  run([](Trial& trial) {
    for (int i = 0; i < 600; ++i)
      trial.samples.push_back({.measure = "time",
                               .subject = fmt::format("BM_{}_{}", trial.position, i),
                               .unit = "ns",
                               .values = {1, 2}});
  });
  const auto all = document();
  EXPECT_THAT(
      all.analysis.notes,
      Contains(HasSubstr(
          "The programs report more than 1000 benchmarks in total, but the analysis uses only the "
          "first 1000. The last benchmarks of ")));
  EXPECT_LE(all.analysis.means.size(), 2000U);
}

TEST_F(DocumentTest, AProgramWithoutSamplesIsThereAsAWhole) {
  begin(split);
  run([](Trial& trial) {
    if (trial.benchmark == "bubble") with_benchmarks(trial);
  });
  const auto all = document();
  EXPECT_NE(effect_of(all.analysis, "bubble/BM_a"), nullptr);
  EXPECT_EQ(effect_of(all.analysis, "quick/BM_a"), nullptr);
  EXPECT_THAT(all.analysis.notes, Contains(HasSubstr("trials have no time")));
}

TEST_F(DocumentTest, ProgramsThatAreTheSameAreSoInEachOfTheirBenchmarks) {
  begin(plan::with_build +
        "[defaults]\nrepetitions = 3\n"
        "[factor.opt]\nlevels = { O1 = { CFLAGS = '-O1' }, O2 = { CFLAGS = '-O2' } }\n"
        "[[measure.output]]\nname = 'time'\ngoogle_benchmark = 'real_time'\n"
        "[analysis]\nresponse = 'time'\n");
  std::set<std::string> commands;
  for (const plan::Trial& trial : expansion_.trials)
    commands.insert(plan::resolve(plan_, trial).build);
  ASSERT_EQ(commands.size(), 2U);
  for (const std::string& command : commands)
    ASSERT_TRUE(store_->add_build({.experiment = experiment_.id,
                                   .key = command,
                                   .benchmark = "b",
                                   .command = command,
                                   .status = store::BuildStatus::built,
                                   .binary_sha256 = "same"}));
  run(with_benchmarks);
  const auto all = document();
  for (const char* subject : {"b/BM_a", "b/BM_b"}) {
    const stats::Effect* effect = effect_of(all.analysis, subject);
    ASSERT_NE(effect, nullptr) << subject;
    EXPECT_EQ(effect->verdict, stats::Verdict::same);
    EXPECT_THAT(effect->reason, HasSubstr("identical"));
  }
}

}  // namespace
}  // namespace stab::results
