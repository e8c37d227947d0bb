// SPDX-License-Identifier: MIT
#include "results/sums/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace stab::results {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

plan::Plan plan_of(std::vector<std::string> factors) {
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
  return of(plan_of({"opt", "link_order"}), printed);
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
  OutputCounter counter(plan_of({"link_order"}));
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
  plan::Plan plan = plan_of({"opt", "link_order"});
  plan.outputs.push_back({.name = "time"});
  int n = 0;
  EXPECT_THAT(of(plan, [&](auto&, auto&) { return std::to_string(n++); }), IsEmpty());
  EXPECT_THAT(of(plan, [](auto& opt, auto&) { return opt; }), SizeIs(1));
}

}  // namespace
}  // namespace stab::results
