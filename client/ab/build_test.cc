// SPDX-License-Identifier: MIT
#include "client/ab/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/testing.h"
#include "machine/processes.h"

namespace stab::client::ab {
namespace {

using ::testing::HasSubstr;

TEST(BuildOfAVersion, HasItsVariablesAndItsErrorSaysWhatItPrinted) {
  ASSERT_TRUE(machine::adopt_orphans());
  const test::Folder files;
  files.write("1/kept", "old\n");
  const std::string folder = files / "1";
  const std::string log = files / "1.log";
  EXPECT_TRUE(build_in(folder, log, {.command = "cp kept $WORD", .variables = {{"WORD", "made"}}}));
  EXPECT_EQ(files.read("1/made"), "old\n");
  const auto built = build_in(folder, log, {.command = "echo why; exit 3", .variables = {}});
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message, HasSubstr("it ended with exit code 3"));
  EXPECT_THAT(built.error().message, HasSubstr("why"));
  EXPECT_EQ(files.read("1.log"), "why\n");
  EXPECT_FALSE(build_in(folder + "/nowhere", log, {.command = "true", .variables = {}}));
}

}  // namespace
}  // namespace stab::client::ab
