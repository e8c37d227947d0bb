// SPDX-License-Identifier: MIT
#include "counters/readings.h"

#include <gtest/gtest.h>

#include <limits>

namespace stab::counters {
namespace {

Reading scaled(double value, double coverage) {
  return {.name = "cycles", .status = Status::scaled, .value = value, .coverage = coverage};
}

TEST(Reading, WhatIsComparedWasCountedForHalfOfTheTimeAndStaysAsItIs) {
  EXPECT_EQ(comparable(counted("cycles", "", (std::int64_t{1} << 62) + 1)),
            Number((std::int64_t{1} << 62) + 1));
  EXPECT_EQ(comparable(scaled(7.6, 0.5)), Number(7.6));
  EXPECT_EQ(comparable(scaled(1e300, 1)), Number(1e300));
  EXPECT_EQ(comparable(scaled(7.6, 0.49)), std::nullopt);
  EXPECT_EQ(comparable(absent("cycles", "", "none is free")), std::nullopt);
}

TEST(Reading, WhatIsInfiniteOrNoNumberIsNotCompared) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()})
    EXPECT_EQ(comparable(scaled(value, 1)), std::nullopt) << value;
}

}  // namespace
}  // namespace stab::counters
