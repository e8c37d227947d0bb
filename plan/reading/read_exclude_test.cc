// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/plan.h"
#include "plan/reading/key_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::HasSubstr;

std::string with_rule(const std::string& when, const std::string& response = "wall") {
  return smallest + (response == "relative_cpu" ? "beside = ['b']\n" : "") +
         fmt::format("[[exclude]]\nwhen = \"{}\"\n[analysis]\nresponse = \"{}\"\n", when, response);
}

Exclusion rule(const std::string& when) {
  const Plan plan = good_plan(with_rule(when));
  EXPECT_EQ(plan.exclude.size(), 1U) << when;
  return plan.exclude.empty() ? Exclusion{} : plan.exclude.front();
}

TEST(ReadPlanExclude, ARuleIsAQuantityABoundAndANumber) {
  const Exclusion read = rule("involuntary_switches_per_s > 50");
  EXPECT_EQ(read.quantity, "involuntary_switches_per_s");
  EXPECT_EQ(read.bound, Bound::above);
  EXPECT_DOUBLE_EQ(read.limit, 50);
  EXPECT_EQ(describe(read), "involuntary_switches_per_s > 50");
  EXPECT_EQ(rule("temperature_before_c<=-2.5").bound, Bound::at_most);
  EXPECT_DOUBLE_EQ(rule("temperature_before_c<=-2.5").limit, -2.5);
  EXPECT_EQ(rule("frequency_after_khz < 1e6").bound, Bound::below);
  EXPECT_EQ(rule("steal_share >= 0.02").bound, Bound::at_least);
  EXPECT_DOUBLE_EQ(rule("steal_share > 2%").limit, 0.02);
}

TEST(ReadPlanExclude, APlanHasNoRulesAndOneRepeatUnlessItSaysSo) {
  const Plan plan = good_plan(smallest);
  EXPECT_TRUE(plan.exclude.empty());
  EXPECT_EQ(plan.exclude_repeats, 1U);
  EXPECT_EQ(good_plan(smallest + "[defaults]\nexclude_repeats = 2\n").exclude_repeats, 2U);
}

TEST(ReadPlanExclude, NoRuleLooksAtAResponse) {
  for (const std::string_view response : words::responses)
    for (const char* form : {"{} > 1", "{}_ns > 1", "{}_per_s > 1"}) {
      const std::string when = fmt::format(fmt::runtime(form), response);
      EXPECT_THAT(problems_of(with_rule(when)),
                  HasSubstr(fmt::format("must not use the response {}. ", response)))
          << when;
    }
}

// Whatever the plan's response is, rules have the same quantities: none of them is a response.
TEST(ReadPlanExclude, EveryQuantityMayBeInARuleWhateverTheResponse) {
  std::set<std::string_view> names;
  for (const Quantity& quantity : quantities()) {
    EXPECT_TRUE(names.insert(quantity.name).second) << quantity.name;
    for (const std::string_view response : words::responses) {
      if (response == "relative_cpu" && quantity.name == "involuntary_switches_per_s") continue;
      EXPECT_EQ(problems_of(with_rule(std::string(quantity.name) + " > 1", std::string(response))),
                "");
    }
    EXPECT_EQ(quantity.take == Take::per_second, quantity.name.ends_with("_per_s"));
    EXPECT_EQ(quantity.take == Take::share, quantity.name.ends_with("_share"));
    if (quantity.take == Take::share) EXPECT_TRUE(quantity.reading.ends_with("-ns"));
  }
}

TEST(ReadPlanExclude, ACountOfAWholeTrialIsRefusedWithItsRate) {
  EXPECT_THAT(problems_of(with_rule("interrupts > 9")), HasSubstr("write 'interrupts_per_s'"));
  EXPECT_THAT(problems_of(with_rule("context-switches-involuntary > 9")),
              HasSubstr("write 'involuntary_switches_per_s'"));
  EXPECT_THAT(problems_of(with_rule("steal-ns > 9")), HasSubstr("write 'steal_share'"));
}

TEST(ReadPlanExclude, AMisspeltNameGetsTheNearest) {
  EXPECT_THAT(problems_of(with_rule("involuntary_switchs_per_s > 50")),
              HasSubstr("p:7:8: 'exclude.when' uses 'involuntary_switchs_per_s', which is not a "
                        "quantity, did you mean 'involuntary_switches_per_s'?"));
  EXPECT_THAT(problems_of(with_rule("nothing_like_it > 50")), HasSubstr("stabctl keys"));
}

TEST(ReadPlanExclude, WhatIsNoRuleIsRefused) {
  for (const char* when : {"steal_share", "> 1", "steal_share >", "steal_share = 1", " "})
    EXPECT_THAT(problems_of(with_rule(when)), HasSubstr("a quantity, then one of > >= < <="))
        << when;
  for (const char* limit : {"x", "1x", "nan", "inf", "1e999", "= 1", "1 %%", "0x1"})
    EXPECT_THAT(problems_of(with_rule(std::string("steal_share > ") + limit)),
                HasSubstr("with a number or a percentage"))
        << limit;
  EXPECT_THAT(problems_of(with_rule("interrupts_per_s > 5%")), HasSubstr("with a number, not"));
}

TEST(ReadPlanExclude, ARuleThatCatchesEveryOrNoTrialIsRefused) {
  EXPECT_THAT(problems_of(with_rule("steal_share >= 0")), HasSubstr("matches every trial"));
  EXPECT_THAT(problems_of(with_rule("steal_share > -1")), HasSubstr("matches every trial"));
  EXPECT_THAT(problems_of(with_rule("steal_share < 0")), HasSubstr("matches no trial"));
  EXPECT_EQ(problems_of(with_rule("clocksource_changes > 0")), "");
  EXPECT_EQ(problems_of(with_rule("temperature_change_c > -1")), "");
}

TEST(ReadPlanExclude, ARuleThatIsAboutTheTrialsTimeIsRefused) {
  for (const char* quantity : {"interrupts_per_s", "steal_share"}) {
    for (const char* bound : {"< 5", "<= 5"})
      EXPECT_THAT(problems_of(with_rule(std::string(quantity) + " " + bound)),
                  HasSubstr("use > or >="));
    EXPECT_THAT(problems_of(with_rule(std::string(quantity) + " > 0")),
                HasSubstr("set a bound above 0"));
  }
  EXPECT_EQ(find_quantity("minor_faults_per_s"), nullptr);
}

TEST(ReadPlanExclude, NoRuleCountsWhatACounterThatIsTheResponseCounts) {
  const auto problems = [](const std::string& response, const std::string& quantity) {
    return problems_of(smallest + "[[exclude]]\nwhen = '" + quantity +
                       " > 5'\n[measure]\ncounters = ['" + response +
                       "']\n[analysis]\nresponse = '" + response + "'\n");
  };
  for (const char* response : {"major-faults", "page-faults:u", "perf::FAULTS"})
    EXPECT_THAT(problems(response, "major_faults_per_s"), HasSubstr("both count the same"));
  for (const char* response : {"cs", "perf::cs:u", "context-switches", "sched:sched_switch"})
    EXPECT_THAT(problems(response, "involuntary_switches_per_s"), HasSubstr("both count the same"));
  EXPECT_THAT(problems("migrations", "migrations_per_s"), HasSubstr("both count the same"));
  EXPECT_EQ(problems("cycles", "involuntary_switches_per_s"), "");
}

TEST(ReadPlanExclude, WhatIsNoListOfTablesIsRefused) {
  EXPECT_THAT(problems_of("exclude = 3\n" + smallest), HasSubstr("written as [[exclude]]"));
  EXPECT_THAT(problems_of("exclude = [3]\n" + smallest), HasSubstr("written as [[exclude]]"));
  EXPECT_THAT(problems_of(smallest + "[[exclude]]\n"), HasSubstr("'exclude.when' is missing"));
  EXPECT_THAT(problems_of(smallest + "[[exclude]]\nwhen = 3\n"), HasSubstr("'exclude.when'"));
  EXPECT_THAT(problems_of(smallest + "[[exclude]]\nwhere = '1'\n"), HasSubstr("unknown key"));
  std::string many = smallest;
  for (int i = 0; i < 21; ++i) many += "[[exclude]]\nwhen = 'steal_share > 1%'\n";
  EXPECT_THAT(problems_of(many), HasSubstr("at most 20 rules, but this one has 21"));
}

}  // namespace
}  // namespace stab::plan
