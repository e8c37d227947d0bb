// SPDX-License-Identifier: MIT
#include "client/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::client {
namespace {

using ::testing::HasSubstr;

Ending ending(bool trials, bool regressed, bool unsure) {
  return {.complete = true,
          .trials_failed = trials,
          .findings = {.regressed = regressed, .unsure = unsure}};
}

int code(const Ending& ending, const std::string& fail_on = "trials,regressed,unsure") {
  return exit_code(ending, read_fail_on(fail_on).value());
}

TEST(ExitCode, TheFirstOfTrialsRegressedAndUnsure) {
  EXPECT_EQ(code(ending(false, false, false)), 0);
  EXPECT_EQ(code(ending(false, false, true)), 3);
  EXPECT_EQ(code(ending(false, true, false)), 2);
  EXPECT_EQ(code(ending(false, true, true)), 2);
  EXPECT_EQ(code(ending(true, true, true)), 5);
  EXPECT_EQ(code(ending(true, false, false)), 5);
}

TEST(ExitCode, WhatIsNoFailureIsPassedOver) {
  const Ending all = ending(true, true, true);
  EXPECT_EQ(code(all, "regressed"), 2);
  EXPECT_EQ(code(all, "unsure"), 3);
  EXPECT_EQ(code(all, "unsure,regressed"), 2);
  EXPECT_EQ(code(all, "none"), 0);
  EXPECT_EQ(code(ending(true, false, true), "regressed"), 0);
}

TEST(ExitCode, AnExperimentThatDidNotEndWellIsAFailureWhateverIsAsked) {
  Ending cancelled = ending(false, true, false);
  cancelled.complete = false;
  EXPECT_EQ(code(cancelled, "none"), 5);
}

TEST(ExitCode, AnUnknownWordIsNamed) {
  EXPECT_THAT(read_fail_on("regressed,slow").error().message, HasSubstr("'slow' is not valid"));
  EXPECT_THAT(read_fail_on("").error().message, HasSubstr("'none'"));
}

// A daemon that does not say how it ended is not taken for a success.
TEST(ExitCode, TheDaemonsAnswerIsRead) {
  const Ending read =
      ending_of({.complete = true, .failed = 2, .regressed = true, .unsure = false});
  EXPECT_TRUE(read.complete && read.trials_failed && read.findings.regressed);
  EXPECT_FALSE(read.findings.unsure);
  EXPECT_EQ(exit_code(ending_of({}), {}), 5);
}

}  // namespace
}  // namespace stab::client
