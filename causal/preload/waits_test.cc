// SPDX-License-Identifier: MIT
// What threads owe that wait for others.
#include <gtest/gtest.h>

#include "causal/preload/testing.h"

namespace stab::causal::testing {
namespace {

// The whole run is one experiment, in which all but the line stands still.
void stop_all_for_the_line(Session& session) {
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().fixed_speedup = 1000;
}

class Chains : public ::testing::TestWithParam<const char*> {};

// All pauses are the waiter's credit, however slow the machine is.
TEST_P(Chains, WhoWaitsForAnotherPaysNothingTwice) {
  Session session({"hot"});
  stop_all_for_the_line(session);
  EXPECT_EQ(exit_code(session.run(GetParam())), 7);
  ASSERT_EQ(session.head().experiments, 1);
  EXPECT_GT(session.head().owed_ns, 50 * ms);
  // The waiter owes next to nothing: the other one works only while it waits.
  // What a pause took too long is in both.
  const uint64_t handed_on = session.head().handed_on_ns;
  EXPECT_LT(session.head().slept_ns, handed_on + (session.head().owed_ns - handed_on) / 4);
}

INSTANTIATE_TEST_SUITE_P(All, Chains,
                         ::testing::Values("condition", "c11", "semaphore", "barrier", "futex",
                                           "signal", "mutex", "rwlock", "'rwlock by a clock'",
                                           "'reading by a clock'", "thread", "children"));

// Nobody who is of the program ended these waits, so all that accrued is paid.
class Debts : public ::testing::TestWithParam<const char*> {};

TEST_P(Debts, WhatEndsByItsTimeOrFromOutsideIsPaidFor) {
  Session session({"hot"});
  stop_all_for_the_line(session);
  EXPECT_EQ(exit_code(session.run(GetParam())), 7);
  ASSERT_EQ(session.head().experiments, 1);
  EXPECT_GT(session.head().owed_ns, 50 * ms);
  EXPECT_GT(session.head().slept_ns, session.head().owed_ns / 2);
}

INSTANTIATE_TEST_SUITE_P(All, Debts, ::testing::Values("'in vain'", "eventfd"));

// The handler pays what had accrued, so it is no credit any more. Too much of it is a debt of others.
TEST(Waits, AHandlerOnAnAlternateStackAboveLeavesTheRestOfTheCredit) {
  Session session({"hot"});
  stop_all_for_the_line(session);
  EXPECT_EQ(session.run("above").output, "done\n");
  ASSERT_EQ(session.head().experiments, 1);
  EXPECT_GT(session.head().slept_ns, 10 * ms);
  const uint64_t line_ns = session.experiment(0).line_ns;
  EXPECT_GE(session.head().owed_ns, line_ns);
  EXPECT_LE(session.head().owed_ns, line_ns + session.head().handed_on_ns);
}

}  // namespace
}  // namespace stab::causal::testing
