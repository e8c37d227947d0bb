// SPDX-License-Identifier: MIT
#include "bench/paired/program.h"

#include <gmock/gmock.h>

namespace stab::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Programs, AnArmHasAVariantForEachLineOfItsName) {
  const auto programs = parse_programs(
      "# a comment\n"
      "program\tbzip2\n"
      "in\t/tmp\n"
      "stdin\t/etc/passwd\n"
      "arm\ton\tcode=1\t./a\t-9\n"
      "arm\toff\tcode=0\t./a\t-9\n"
      "arm\ton\tcode=1\t./b\t-9\n"
      "compare\ton\toff\n"
      "program\tlua\n");
  ASSERT_TRUE(programs) << programs.error().message;
  ASSERT_EQ(programs->size(), 2U);
  const Program& program = programs->front();
  EXPECT_EQ(program.directory, "/tmp");
  EXPECT_EQ(program.stdin_path, "/etc/passwd");
  ASSERT_EQ(program.arms.size(), 2U);
  ASSERT_EQ(program.arms[0].variants.size(), 2U);
  EXPECT_THAT(program.arms[0].variants[1].command, ElementsAre("./b", "-9"));
  EXPECT_EQ(program.arms[1].variants[0].options, "code=0");
  ASSERT_EQ(program.comparisons.size(), 1U);
  EXPECT_EQ(program.title(program.comparisons[0]), "on/off");
}

TEST(Programs, TheErrorNamesTheLine) {
  const char* const wrong[] = {"program\tx\nfrobnicate\n", "program\tx\ncompare\ta\tb\n",
                               "program\tx\narm\ta\tcode=1\n", "program\tx\nin\n"};
  for (const char* text : wrong) {
    const auto programs = parse_programs(text);
    ASSERT_FALSE(programs) << text;
    EXPECT_THAT(programs.error().message, HasSubstr("line 2"));
  }
  EXPECT_FALSE(parse_programs("in\t/tmp\n"));
  EXPECT_FALSE(parse_programs(""));
}

}  // namespace
}  // namespace stab::bench
