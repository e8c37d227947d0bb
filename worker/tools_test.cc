// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "worker/builder.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Words, AreCutAtSpacesQuotesAndOperatorsAndComeOnce) {
  EXPECT_THAT(words_of("CC='gcc -m64' make all && ./strip x|tee x;make"),
              ElementsAre("-m64", "./strip", "CC", "all", "gcc", "make", "tee", "x"));
  EXPECT_THAT(words_of("out=$(cc \"a b\")\n\t`ld`"), ElementsAre("$", "a", "b", "cc", "ld", "out"));
}

TEST(Words, OfNothingAreNone) {
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of("  ;;'' \n"), IsEmpty());
}

class ToolchainTest : public ::testing::Test {
 protected:
  ToolchainTest() {
    folder_.write("bin/mycc", "#!/bin/sh\n");
    folder_.make_executable("bin/mycc");
  }
  [[nodiscard]] std::string of(const std::string& command) const {
    return toolchain(command, {"PATH=" + (folder_ / "bin")});
  }

  test::Folder folder_;
};

TEST_F(ToolchainTest, IsTheSameAsLongAsNothingIsReplaced) {
  EXPECT_THAT(of("mycc -o x x.c"), HasSubstr(folder_ / "bin/mycc"));
  EXPECT_EQ(of("mycc -o x x.c"), of("mycc -o x x.c"));
}

TEST_F(ToolchainTest, AReplacedCompilerChangesIt) {
  const std::string before = of("mycc x.c");
  folder_.write("bin/mycc", "#!/bin/sh\n# another version\n");
  EXPECT_NE(of("mycc x.c"), before);
}

TEST_F(ToolchainTest, ACompilerOfTheSameSizeButALaterTimeChangesIt) {
  const std::string before = of("mycc x.c");
  const auto time = fs::last_write_time(folder_ / "bin/mycc");
  fs::last_write_time(folder_ / "bin/mycc", time + std::chrono::nanoseconds(1000));
  EXPECT_NE(of("mycc x.c"), before);
}

TEST_F(ToolchainTest, ALinkToAnotherVersionChangesIt) {
  folder_.write("v1/cc", "1");
  folder_.write("v2/cc", "2");
  folder_.make_executable("v1/cc");
  folder_.make_executable("v2/cc");
  fs::create_symlink(folder_ / "v1/cc", folder_ / "bin/latest");
  const std::string before = of("latest x.c");
  fs::remove(folder_ / "bin/latest");
  fs::create_symlink(folder_ / "v2/cc", folder_ / "bin/latest");
  EXPECT_NE(of("latest x.c"), before);
}

TEST_F(ToolchainTest, AProgramByItsFullPathCounts) {
  folder_.write("opt/tool", "1");
  folder_.make_executable("opt/tool");
  const std::string command = "CC=" + (folder_ / "opt/tool") + " sh build.sh";
  const std::string before = of(command);
  folder_.write("opt/tool", "22");
  EXPECT_NE(of(command), before);
}

TEST_F(ToolchainTest, TheUsualCompilersCountWithoutBeingNamed) {
  const std::string before = of("sh build.sh");
  folder_.write("bin/cc", "#!/bin/sh\n");
  folder_.make_executable("bin/cc");
  EXPECT_NE(of("sh build.sh"), before);
}

TEST_F(ToolchainTest, SzcIsAskedForItsPartsEvenIfAMakefileNamesIt) {
  folder_.write("runtime", "version 1");
  folder_.write("bin/szc", "#!/bin/sh\ntest \"$1\" = --stab-version && /bin/cat " +
                               (folder_ / "runtime") + "\n");
  folder_.make_executable("bin/szc");
  for (const char* command : {"szc x.c", "make"}) {
    folder_.write("runtime", "version 1");
    const std::string before = of(command);
    EXPECT_THAT(before, HasSubstr("version 1"));
    folder_.write("runtime", "version 2");
    EXPECT_NE(of(command), before);
  }
}

TEST_F(ToolchainTest, OtherProgramsInThePathDoNotCount) {
  const std::string before = of("mycc x.c");
  folder_.write("bin/unrelated", "#!/bin/sh\n");
  folder_.make_executable("bin/unrelated");
  EXPECT_EQ(of("mycc x.c"), before);
  EXPECT_THAT(before, Not(HasSubstr("unrelated")));
}

}  // namespace
}  // namespace stab::worker
