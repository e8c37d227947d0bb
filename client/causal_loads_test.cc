// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "client/causal.h"

namespace stab::client::causal {
namespace {

using stab::causal::Arrivals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t ms = 1'000'000;

std::string refused(double load, const std::vector<Arrivals>& arrivals) {
  const auto made = speedup_for(load, arrivals);
  EXPECT_FALSE(made);
  return made ? "" : made.error().message;
}

TEST(Loads, AreReadAscending) {
  EXPECT_THAT(read_loads("1.25x").value(), ElementsAre(1.25));
  EXPECT_THAT(read_loads("2x,1x,1.5x").value(), ElementsAre(1, 1.5, 2));
}

TEST(Loads, WhatIsNoneIsRefused) {
  for (const char* wrong : {"0x", "-1x", "x", "1.25", "25%", "nanx", "infx", "1x,", "1x 2x"})
    EXPECT_THAT(read_loads(wrong).error().message, HasSubstr("needs loads, for example 1.25x"))
        << wrong;
  EXPECT_THAT(read_loads("0.5x").error().message, HasSubstr("the lowest load is 1x"));
  EXPECT_THAT(read_loads("2x,1x,2x").error().message, HasSubstr("twice"));
}

TEST(Loads, AreReachedByWhatEachVisitGains) {
  EXPECT_EQ(speedup_for(1.25, std::vector<Arrivals>{{100, 400 * ms}}), 800'000U);
  EXPECT_EQ(speedup_for(1, std::vector<Arrivals>{{100, 400 * ms}}), 0U);
  EXPECT_EQ(speedup_for(2, std::vector<Arrivals>{{100, 400 * ms}, {200, 800 * ms}}), 2 * ms);
}

TEST(Loads, OfThreadsThatDifferAreThoseOfAllTogether) {
  // 100 + 20 visits in as much time; at 0.6 ms they are 100 / 0.4 and 20 / 4.4 as many: 250 + 22.7.
  const std::vector<Arrivals> threads{{100, 100 * ms}, {20, 100 * ms}};
  const auto made = speedup_for((250 + 20 * 5 / 4.4) / 120, threads);
  ASSERT_TRUE(made);
  EXPECT_NEAR(static_cast<double>(*made), 600'000, 1);
}

TEST(Loads, WhatCannotBeReachedIsSaid) {
  EXPECT_THAT(
      refused(21, {{100, 400 * ms}}),
      ::testing::AllOf(HasSubstr("the highest possible load is 20.00x"), HasSubstr("4 ms")));
  EXPECT_THAT(refused(5, {{20, 20 * ms}, {10'000, 100'000 * ms}}), HasSubstr("is too high"));
  EXPECT_THAT(refused(1.5, {}), HasSubstr("no arrival point was visited"));
  EXPECT_THAT(refused(1.5, {{9, 9 * ms}}), HasSubstr("more than 10 visits"));
  // Each thread visits the point once.
  EXPECT_THAT(speedup_for(1.5, {}, true).error().message, HasSubstr("more than 10 visits"));
}

TEST(Loads, AreToBlameOnlyIfArrivalsAreFaster) {
  EXPECT_THAT(timeless_words(7, true),
              ::testing::AllOf(HasSubstr("7 experiments"), HasSubstr("use a smaller --load")));
  EXPECT_THAT(timeless_words(7, false), ::testing::AllOf(HasSubstr("they consisted of pauses only"),
                                                         ::testing::Not(HasSubstr("--load"))));
}

TEST(Loads, TheMeanGapIsOfAllThreads) {
  EXPECT_EQ(mean_gap(std::vector<Arrivals>{{30, 20 * ms}, {10, 20 * ms}}).count(), ms);
  EXPECT_EQ(mean_gap({}).count(), 0);
}

}  // namespace
}  // namespace stab::client::causal
