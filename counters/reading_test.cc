// SPDX-License-Identifier: MIT
#include "counters/reading.h"

#include <gtest/gtest.h>

#include <limits>

namespace stab::counters {
namespace {

Reading scaled(double value, double coverage) {
  return {.name = "cycles", .status = Status::scaled, .value = value, .coverage = coverage};
}

TEST(Reading, WhatIsComparedIsAWholeNumberThatWasCountedForHalfOfTheTime) {
  EXPECT_EQ(comparable(counted("cycles", "", std::int64_t{1} << 62)), std::int64_t{1} << 62);
  EXPECT_EQ(comparable(scaled(7.6, 0.5)), 8);
  EXPECT_EQ(comparable(scaled(7.6, 0.49)), std::nullopt);
  EXPECT_EQ(comparable(absent("cycles", "", "none is free")), std::nullopt);
}

TEST(Reading, WhatIsNoWholeNumberIsNone) {
  for (const double value : {1e300, -1e300, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), 0x1p63})
    EXPECT_EQ(comparable(scaled(value, 1)), std::nullopt) << value;
}

}  // namespace
}  // namespace stab::counters
