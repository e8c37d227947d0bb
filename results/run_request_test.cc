// SPDX-License-Identifier: MIT
#include "results/run_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "plan/reading/testing.h"

namespace stab::results {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Why trials with this timeout do not fit into a turn of an hour; "" if they do.
std::string too_long(const std::string& timeout, const std::string& more) {
  const auto fits =
      fits_a_turn(plan::good_plan(plan::smallest + "timeout = '" + timeout + "'\n" + more), 1h);
  return fits ? "" : fits.error().message;
}

// The worker gives them a hundred times the timeout.
TEST(FitsATurn, SimulatedTrialsMayTakeLongerThanThePlansTimeout) {
  const std::string simulated =
      "[measure]\nsimulate = true\n[analysis]\nresponse = 'simulated-instructions'\n";
  EXPECT_EQ(too_long("1h", ""), "");
  EXPECT_EQ(too_long("36s", simulated), "");
  EXPECT_THAT(too_long("1min", simulated),
              AllOf(HasSubstr("a trial of 'b' may take 100min (its timeout; a simulated trial gets "
                              "100 times the timeout that the plan sets), but limits.turn is 1h"),
                    HasSubstr("set the benchmark's timeout to at most 36s")));
  EXPECT_THAT(too_long("30s", "prepare = 'true'\n" + simulated),
              AllOf(HasSubstr("may take 100min (2 commands with a timeout of 50min each; "),
                    HasSubstr("to at most 18s")));
  EXPECT_EQ(too_long("18s", "prepare = 'true'\n" + simulated), "");
  const auto waiting = plan::good_plan(plan::smallest + "timeout = '1h'\n" + simulated);
  EXPECT_TRUE(fits_a_turn(waiting, 1h, false)) << "it was accepted by an early version";
  EXPECT_FALSE(fits_a_turn(waiting, 59min, false));
}

}  // namespace
}  // namespace stab::results
