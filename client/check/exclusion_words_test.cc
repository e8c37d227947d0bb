// SPDX-License-Identifier: MIT
#include "client/check/exclusion_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "machine/quality/observer.h"
#include "plan/quantities.h"

namespace stab::client {
namespace {

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

const plan::Exclusion switches{
    .quantity = "involuntary_switches_per_s", .bound = plan::Bound::above, .limit = 50};
const plan::Exclusion steal{.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01};

TEST(ExclusionWords, ARuleIsExplainedWithTheTimeOfASingleEvent) {
  const std::vector here{counters::counted("context-switches-involuntary", "", 0)};
  EXPECT_THAT(
      exclusion_lines(plan_with({switches}), here),
      ElementsAre("excluded where involuntary_switches_per_s > 50 (how often other processes took "
                  "the program's CPU)",
                  "  one event alone exceeds the limit in a trial of 20 ms",
                  "excluded trials are repeated at the end of their block, up to 1 time each"));
  EXPECT_EQ(exclusion_json(plan_with({switches}, 2), here)["repeats"], 2);
}

TEST(ExclusionWords, AMachineThatLacksTheReadingIsAWarning) {
  const std::vector here{counters::absent("steal-ns", "ns", "/proc/stat does not exist")};
  const auto lines = exclusion_lines(plan_with({steal}, 0), here);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2], "  warning: this rule excludes nothing here: /proc/stat does not exist");
  EXPECT_THAT(lines[3], HasSubstr("not repeated"));
  EXPECT_EQ(exclusion_json(plan_with({steal}), here)["rules"][0]["absent_here"],
            "/proc/stat does not exist");
}

TEST(ExclusionWords, AShareThatIsCountedInTicksSaysWhatOneTickIs) {
  const std::vector here{counters::counted("steal-ns", "ns", 0),
                         counters::counted("memory-pressure-ns", "ns", 0)};
  ASSERT_EQ(sysconf(_SC_CLK_TCK), 100);  // of all Linux that Debian has
  EXPECT_THAT(exclusion_lines(plan_with({steal}), here),
              Contains("  the kernel counts in ticks of 10 ms: one tick alone exceeds the limit in "
                       "a trial of 1 s"));
  const plan::Exclusion pressure{
      .quantity = "memory_pressure_share", .bound = plan::Bound::above, .limit = 0.01};
  EXPECT_THAT(exclusion_lines(plan_with({pressure}), here), Not(Contains(HasSubstr("ticks"))));
}

TEST(ExclusionWords, EveryReadingInTicksIsKnown) {
  for (const machine::Source& source : machine::sources()) {
    if (source.meaning.find("tick") == std::string_view::npos) continue;
    for (const plan::Quantity& quantity : plan::quantities()) {
      if (quantity.reading != source.reading) continue;
      const plan::Exclusion rule{
          .quantity = std::string(quantity.name), .bound = plan::Bound::above, .limit = 0.01};
      EXPECT_THAT(exclusion_lines(plan_with({rule}), {}), Contains(HasSubstr("ticks of")))
          << quantity.name;
    }
  }
}

TEST(ExclusionWords, APlanWithoutRulesSaysNothing) {
  EXPECT_THAT(exclusion_lines(plan_with({}), {}), IsEmpty());
  EXPECT_TRUE(exclusion_json(plan_with({}), {}).is_null());
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
