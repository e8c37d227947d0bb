// SPDX-License-Identifier: MIT
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace stab {
namespace {

// The first outputs of SplitMix64 from 1234567, as its authors' reference code prints them.
TEST(Random, AgreesWithTheReferenceSequence) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Random, BelowStaysInBoundsAndReachesAll) {
  Random random(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, BelowIsUnbiasedForBoundsNearTheWholeRange) {
  Random random(2);
  const std::uint64_t bound = (std::uint64_t{3} << 62) + 1;  // modulo would favour the low third
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += random.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10000, 400);
}

TEST(Random, EveryOrderOfThreeIsEquallyLikely) {
  Random random(3);
  std::map<std::vector<int>, int> orders;
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> items{1, 2, 3};
    random.shuffle(std::span(items));
    ++orders[items];
  }
  ASSERT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, DerivedSeedsDifferByEveryArgument) {
  EXPECT_EQ(derive(7, "link_order", {3}), derive(7, "link_order", {3}));
  EXPECT_NE(derive(7, "link_order", {3}), derive(8, "link_order", {3}));
  EXPECT_NE(derive(7, "link_order", {3}), derive(7, "env_bytes", {3}));
  EXPECT_NE(derive(7, "link_order", {3}), derive(7, "link_order", {4}));
  EXPECT_NE(derive(7, "x", {1, 23}), derive(7, "x", {12, 3}));
}

}  // namespace
}  // namespace stab
