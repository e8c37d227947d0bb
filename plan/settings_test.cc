// SPDX-License-Identifier: MIT
#include "plan/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
