// SPDX-License-Identifier: MIT
#include "stabd/daemon/host/quieting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::daemon {
namespace {

using settings::Quiescers;
using testing::HasSubstr;

constexpr Submitter trusted{.uid = 0, .trusted = true};
constexpr Submitter other{.uid = 1234, .trusted = false};

TEST(Quieting, OwnersMayUnlessNobodyMay) {
  EXPECT_TRUE(may_quiesce(Quiescers::owner, trusted, true));
  EXPECT_TRUE(may_quiesce(Quiescers::all, trusted, true));
  const auto refused = may_quiesce(Quiescers::nobody, trusted, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("plans of anybody may not change"));
}

TEST(Quieting, OthersMayWhereTheSettingsSaySo) {
  EXPECT_TRUE(may_quiesce(Quiescers::all, other, false));
  const auto refused = may_quiesce(Quiescers::owner, other, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("plans of user 1234 may not change"));
  EXPECT_THAT(refused.error().message, HasSubstr("machine.quiesce_for = \"owner\""));
}

TEST(Quieting, OthersNeverMoveProcesses) {
  const auto refused = may_quiesce(Quiescers::all, other, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("may move other processes"));
}

}  // namespace
}  // namespace stab::daemon
