// SPDX-License-Identifier: MIT
#include "store/records.h"

#include <gtest/gtest.h>

namespace stab::store {
namespace {

TEST(Statuses, ReadBackAsTheyWereWritten) {
  for (int i = 0; i <= static_cast<int>(TrialStatus::not_measured); ++i) {
    const auto status = static_cast<TrialStatus>(i);
    EXPECT_EQ(trial_status(to_string(status)), status);
  }
  for (int i = 0; i <= static_cast<int>(BuildStatus::failed); ++i) {
    const auto status = static_cast<BuildStatus>(i);
    EXPECT_EQ(build_status(to_string(status)), status);
  }
  for (int i = 0; i <= static_cast<int>(counters::Status::absent); ++i) {
    const auto status = static_cast<counters::Status>(i);
    EXPECT_EQ(counters::reading_status(to_string(status)), status);
  }
}

TEST(Statuses, AnUnknownTextIsNone) {
  EXPECT_FALSE(trial_status("fine"));
  EXPECT_FALSE(trial_status(""));
  EXPECT_FALSE(build_status("ok"));
  EXPECT_FALSE(counters::reading_status("COUNTED"));
}

}  // namespace
}  // namespace stab::store
