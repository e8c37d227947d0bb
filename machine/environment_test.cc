// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "machine/program.h"

namespace stab::machine {
namespace {

std::size_t bytes(const std::vector<std::string>& environment) {
  std::size_t total = 0;
  for (const std::string& entry : environment) total += entry.size() + 1;
  return total;
}

TEST(Environment, ItsSizeDoesNotDependOnItsContent) {
  EXPECT_EQ(bytes(make_environment({}, 0)), environment_unit);
  EXPECT_EQ(bytes(make_environment({{"A", "short"}}, 0)), environment_unit);
  EXPECT_EQ(bytes(make_environment({{"A", std::string(3000, 'y')}}, 0)), environment_unit);
}

TEST(Environment, AskedBytesAreAddedExactly) {
  EXPECT_EQ(bytes(make_environment({{"A", "1"}}, 1)), environment_unit + 1);
  EXPECT_EQ(bytes(make_environment({{"A", "1"}}, 100'000)), environment_unit + 100'000);
}

TEST(Environment, NoStringIsLongerThanTheKernelTakes) {
  const auto environment = make_environment({{"A", "1"}}, 1 << 20);
  EXPECT_EQ(bytes(environment), environment_unit + (1 << 20));
  for (const std::string& entry : environment) EXPECT_LT(entry.size(), 128U * 1024);
}

TEST(Environment, LargeContentTakesMoreWholeUnits) {
  EXPECT_EQ(bytes(make_environment({{"A", std::string(5000, 'y')}}, 7)), 2 * environment_unit + 7);
}

TEST(Environment, VariablesArePassedOnInTheOrderOfNames) {
  const auto environment = make_environment({{"B", "2"}, {"A", "1"}}, 0);
  ASSERT_EQ(environment.size(), 3U);
  EXPECT_EQ(environment[0], "A=1");
  EXPECT_EQ(environment[1], "B=2");
  EXPECT_TRUE(std::is_sorted(environment.begin(), environment.end()));
}

TEST(Environment, TheBaseHasWhatProgramsExpect) {
  const auto variables = base_variables(0);
  EXPECT_EQ(variables.at("HOME"), "/root");
  EXPECT_EQ(variables.at("USER"), "root");
  EXPECT_TRUE(variables.contains("PATH"));
}

}  // namespace
}  // namespace stab::machine
