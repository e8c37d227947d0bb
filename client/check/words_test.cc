// SPDX-License-Identifier: MIT
#include "client/check/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/reading/testing.h"

namespace stab::client {
namespace {

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
  return comparison_lines(plan, families(plan), detectable(plan, variation), "--sd");
}

TEST(CheckWords, SayHowManyComparisonsAreCorrectedTogether) {
  EXPECT_THAT(lines_of(plan_of(30)),
              ElementsAre("comparisons on each benchmark: 2, corrected together; each error term "
                          "has 29 degrees of freedom"));
}

TEST(CheckWords, SayWhichChangeIsFound) {
  EXPECT_THAT(
      lines_of(plan_of(30), {.all_trials = 0.02}),
      ElementsAre(
          "comparisons on each benchmark: 2, corrected together; each error term has 29 degrees of "
          "freedom",
          "  smallest change found with 80 % power after the correction for 2 comparisons, judging "
          "by --sd:",
          "    a                        aslr             1.68 %   (standard deviation 2 %)",
          "    b                        aslr             1.68 %   (standard deviation 2 %)"));
}

TEST(CheckWords, WarnOfFewDegreesOfFreedom) {
  EXPECT_THAT(lines_of(plan_of(10)),
              ElementsAre("comparisons on each benchmark: 2, corrected together; each error term "
                          "has 9 degrees of freedom",
                          "  warning: with 9 degrees of freedom, only large effects on each "
                          "benchmark are found: use more repetitions to find smaller ones"));
  EXPECT_EQ(lines_of(plan_of(11)).size(), 1U);
  EXPECT_EQ(lines_of(plan_of(10), {.all_trials = 0.02}).back(),
            "  warning: with 9 degrees of freedom, only effects larger than 3.27 % on each "
            "benchmark are found: use more repetitions to find smaller ones");
  EXPECT_EQ(lines_of(plan_of(1)).back(),
            "  warning: an error term without degrees of freedom shows nothing about each "
            "benchmark: use more repetitions");
}

TEST(CheckWords, ProgramsLikeTheseNeedMorePrograms) {
  EXPECT_THAT(
      lines_of(plan_of(20, "[design]\nkind = 'within-subjects'\n[analysis]\nprograms = 'these'\n")),
      ElementsAre("comparisons on these 2 benchmarks: 1; its error term has 19 degrees of freedom",
                  "comparisons on benchmarks like these: 1; its error term has 1 degree of freedom",
                  "  warning: with 1 degree of freedom, only large effects on benchmarks like "
                  "these are found: use more benchmarks to find smaller ones",
                  "comparisons on each benchmark: 2, corrected together; each error term has 19 "
                  "degrees of freedom"));
}

TEST(CheckWords, NothingIsSaidWhereNothingIsCompared) {
  const auto plan = plan::good_plan(plan::smallest);
  EXPECT_THAT(lines_of(plan), IsEmpty());
  nlohmann::ordered_json root;
  add_comparisons(plan, {}, {}, root);
  EXPECT_EQ(root["comparisons"], 0);
  EXPECT_TRUE(root["error_df"].is_null());
}

TEST(CheckWords, TheJsonHasTheDecidingFamilyAndAll) {
  const auto plan = plan_of(5);
  nlohmann::ordered_json root;
  add_comparisons(plan, families(plan), {}, root);
  EXPECT_EQ(root["comparisons"], 2);
  EXPECT_EQ(root["error_df"], 4);
  ASSERT_EQ(root["families"].size(), 2U);
  EXPECT_EQ(root["families"][1]["benchmark"], "b");
  EXPECT_EQ(root["warnings"].size(), 1U);
}

}  // namespace
}  // namespace stab::client
