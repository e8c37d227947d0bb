// SPDX-License-Identifier: MIT
#include "stabd/daemon/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fd.h"

namespace stab::daemon {
namespace {

constexpr std::uint32_t daemon_user = 7;

Accounts accounts(std::string_view text) {
  return {text, daemon_user, [](const std::string& name) {
            return name == "ada"    ? std::optional(1000U)
                   : name == "root" ? std::optional(0U)
                                    : std::nullopt;
          }};
}

TEST(Accounts, ASubordinateIdIsItsOwners) {
  const Accounts some = accounts("ada:100000:65536\n1001:165536:65536\n");
  EXPECT_EQ(some.of(1000), 1000U);
  EXPECT_EQ(some.of(99'999), 99'999U);
  EXPECT_EQ(some.of(100'000), 1000U);
  EXPECT_EQ(some.of(165'535), 1000U);
  EXPECT_EQ(some.of(165'536), 1001U);
  EXPECT_EQ(some.of(231'072), 231'072U);
  EXPECT_TRUE(some.is_same(1000, 123'456));
  EXPECT_FALSE(some.is_same(1000, 1001));
}

TEST(Accounts, NobodyBecomesTrustedByARange) {
  const Accounts some = accounts("root:100000:10\n7:200000:10\nada:0:20\n");
  EXPECT_EQ(some.of(100'005), 100'000U);
  EXPECT_EQ(some.of(200'009), 200'000U);
  EXPECT_EQ(some.of(0), 0U);
  EXPECT_EQ(some.of(daemon_user), daemon_user);
  EXPECT_EQ(some.of(19), 1000U);
}

TEST(Accounts, AWrongLineSaysNothingAndTheFirstOfTwoOwnersCounts) {
  const Accounts some = accounts(
      "nobody-knows:5:5\nada:x:5\nada:5\n\n:::\nada:300:0\nada:400:4294967295\n1001:500:5\n");
  EXPECT_EQ(some.of(6), 6U);
  EXPECT_EQ(some.of(300), 300U);
  EXPECT_EQ(some.of(502), 1000U);
  EXPECT_EQ(some.of(~0U), 1000U);
}

TEST(Accounts, AreReadAgainWhenTheFileHasChanged) {
  const std::string path = testing::TempDir() + "subuid-" + std::to_string(getpid());
  Accounts some(path, daemon_user);
  EXPECT_EQ(some.of(100'001), 100'001U);
  ASSERT_TRUE(write_file_atomically(path, "1000:100000:65536\n"));
  some.look_again();
  EXPECT_EQ(some.of(100'001), 1000U);
  ASSERT_TRUE(write_file_atomically(path, "1001:100000:65536\n"));
  some.look_again();
  EXPECT_EQ(some.of(100'001), 1001U);
  unlink(path.c_str());
}

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
