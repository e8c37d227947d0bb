// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

Factor factor_of(std::vector<Level> levels) {
  return {.name = "opt", .levels = FixedLevels{std::move(levels)}};
}

TEST(Settings, SayVariablesAndWhatEachLevelSets) {
  Plan plan;
  EXPECT_THAT(settings_of(plan), IsEmpty());
  plan.variables = {{"CC", "clang-19"}, {"CXX", "clang++-19"}, {"LDFLAGS", ""}, {"LIBS", "-lm"}};
  plan.benchmarks.emplace_back().build = "${CC} a.c ${LDFLAGS} ${LIBS}";
  plan.factors = {factor_of({{.name = "O1", .variables = {{"CFLAGS", "-O1"}, {"N", ""}}},
                             {.name = "fast", .variables = {{"CFLAGS", "-O2"}, {"N", "a\nb"}}}}),
                  {.name = "heap", .kind = FactorKind::option, .levels = FixedLevels{}}};
  EXPECT_THAT(settings_of(plan),
              ElementsAre("CC = clang-19, LIBS = -lm",
                          "opt: O1 sets CFLAGS = -O1, N = \"\"; fast sets CFLAGS = -O2, N = a b"));
}

TEST(Settings, SayWhichBenchmarksHaveTheHeapLayerByDefault) {
  Plan plan;
  for (const char* name : {"a", "b"}) plan.benchmarks.emplace_back().name = name;
  plan.benchmarks[1].has_layer = true;
  EXPECT_THAT(settings_of(plan), IsEmpty()) << "the plan of an earlier version";
  plan.layer_by_default = true;
  EXPECT_THAT(settings_of(plan), ElementsAre("by default: random heap blocks in b"));
  plan.benchmarks[0].has_layer = true;
  EXPECT_THAT(settings_of(plan),
              ElementsAre("by default: random heap blocks in programs built by szc"));
  for (Benchmark& each : plan.benchmarks) each.has_layer = false;
  EXPECT_THAT(settings_of(plan), ElementsAre("by default: no benchmark has random heap blocks"));
}

TEST(Settings, VariablesOfOurOwnAreNotShown) {
  Plan plan;
  plan.factors = {
      factor_of({{.name = "old", .variables = {{"STABD_NUMBER", "001"}, {"VERSION", "./old"}}},
                 {.name = "new", .variables = {{"STABD_NUMBER", "002"}, {"VERSION", "./new"}}}})};
  EXPECT_THAT(settings_of(plan),
              ElementsAre("opt: old sets VERSION = ./old; new sets VERSION = ./new"));
}

TEST(Settings, TheQuestionNamesATreatmentByItsNameItsValuesOrItsLevels) {
  const auto asked = [](const std::string& question) {
    Plan plan;
    plan.question = question;
    Factor stack = factor_of({{.name = "off", .variables = {}}, {.name = "on", .variables = {}}});
    stack.name = "stack";
    Factor order = factor_of({{.name = "1", .variables = {}}, {.name = "2", .variables = {}}});
    order.name = "link_order";
    Factor opt = factor_of({{.name = "two", .variables = {{"CFLAGS", "-O2"}}},
                            {.name = "three", .variables = {{"CFLAGS", "-O3 -g"}}}});
    plan.factors = {stack, order, opt};
    return treatments_asked(plan);
  };
  EXPECT_THAT(asked("Is -O2 enough, whatever the stack is?"), ElementsAre("stack", "opt"));
  EXPECT_THAT(asked("Is -O3 -g worth it?"), ElementsAre("opt"));
  EXPECT_THAT(asked("Is three better?"), ElementsAre("opt"));
  EXPECT_THAT(asked("Do link orders matter?"), ElementsAre("link_order"));
  EXPECT_THAT(asked("Is it on or off, 1 or 2, and is it an option?"), IsEmpty());
  EXPECT_THAT(asked(""), IsEmpty());
}

TEST(Settings, LongListsAndTextsAreCutAndSaySo) {
  Plan plan;
  std::vector<Level> levels;
  for (int i = 0; i < 20; ++i)
    levels.push_back({.name = std::to_string(i), .variables = {{"V", std::string(1000, 'x')}}});
  plan.factors = {factor_of(levels)};
  const std::vector<std::string> lines = settings_of(plan);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 1500U);
  EXPECT_THAT(lines[0], EndsWith("...; and 12 more"));
}

}  // namespace
}  // namespace stab::plan
