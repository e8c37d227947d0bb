// SPDX-License-Identifier: MIT
// What one user may take of the memory and the disk of root's daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/fd.h"
#include "stabd/protocol/messages.h"
#include "tests/system/users.h"

namespace stab::test {
namespace {

using ::testing::HasSubstr;

class Shares : public Users {};

TEST_F(Shares, AnswersThatOneDoesNotReadHaveABound) {
  restart("[limits]\nunread_of_user = \"3MiB\"\n");
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  // Most of the answer to 'status' is the plan.
  const std::string large = "61234/large.toml";
  lab_.write(large, "# " + std::string(900'000, 'x') +
                        "\n[experiment]\nname = \"large\"\n[[benchmark]]\nname = \"b\"\n"
                        "run = [\"true\"]\nrepetitions = 1\n");
  ASSERT_EQ(as(ada, {"submit", lab_.path(large)}).code, 0);
  std::string says = R"({"verb":"hello","protocol":)" + std::to_string(protocol::version) +
                     R"(,"version":"x"})" + "\n";
  for (int i = 0; i < 4; ++i)
    says += R"({"verb":"status","id":1})"
            "\n";
  {
    // Each alone has less than the bound, and its next question waits until it has read.
    const Idle one(ada, 1, says);
    EXPECT_EQ(as(ada, {"status", "1", "--json"}).code, 0);
    EXPECT_EQ(read_file(log(), 1 << 20)->find("hung up"), std::string::npos);
  }
  const Idle many(ada, 8, says);
  EXPECT_TRUE(many.is_hung_up_on());
  EXPECT_TRUE(wait_for_text(log(), "of user 61234 is hung up on: "));
  for (const uid_t user : {bob, uid_t{0}}) EXPECT_EQ(as(user, {"list"}).code, 0);
  EXPECT_EQ(as(0, {"status", "1"}).code, 0);
}

}  // namespace
}  // namespace stab::test
