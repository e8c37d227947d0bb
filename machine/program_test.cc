// SPDX-License-Identifier: MIT
#include "machine/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::machine {
namespace {

using ::testing::HasSubstr;

TEST(Program, AWordWithoutASlashIsSearchedInPath) {
  const auto found = find_program("sh", {"A=1", "PATH=/nowhere:/bin"}, "/");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, "/bin/sh");
}

TEST(Program, AWordWithASlashIsAPathFromTheDirectory) {
  EXPECT_EQ(find_program("./sh", {}, "/bin").value_or(""), "/bin/./sh");
  EXPECT_EQ(find_program("/bin/sh", {}, "/tmp").value_or(""), "/bin/sh");
}

TEST(Program, TheErrorTellsAMissingFileFromOneThatCannotBeExecuted) {
  EXPECT_THAT(find_program("./nothing", {}, "/tmp").error().message, HasSubstr("/tmp/./nothing"));
  EXPECT_THAT(find_program("/etc/passwd", {}, "/").error().message, HasSubstr("not an executable"));
  EXPECT_THAT(find_program("/tmp", {}, "/").error().message, HasSubstr("not an executable"));
  EXPECT_THAT(find_program("nothing", {"PATH=/bin"}, "/").error().message, HasSubstr("./nothing"));
}

TEST(Program, AnEmptyWordIsFoundNowhere) {
  EXPECT_FALSE(find_program("", {"PATH=/bin"}, "/"));
}

}  // namespace
}  // namespace stab::machine
