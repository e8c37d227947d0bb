// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "response_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ResponseFile, WordsAreSplitAtWhiteSpace) {
  EXPECT_THAT(split_response(" -O2\t-g\r\n\n a.c "), ElementsAre("-O2", "-g", "a.c"));
  EXPECT_THAT(split_response(""), IsEmpty());
  EXPECT_THAT(split_response(" \n"), IsEmpty());
}

TEST(ResponseFile, QuotesGroupAndBackslashesEscape) {
  EXPECT_THAT(split_response(R"(-DX="a b" 'c d'e f\ g "h\"i" \\ '')"),
              ElementsAre("-DX=a b", "c de", "f g", "h\"i", "\\", ""));
}

TEST(ResponseFile, AnOpenQuoteEndsWithTheText) {
  EXPECT_THAT(split_response("'a b"), ElementsAre("a b"));
  EXPECT_THAT(split_response("a\\"), ElementsAre("a\\"));
}

TEST(ResponseFile, AByteOrderMarkIsNoWord) {
  EXPECT_THAT(split_response("\xef\xbb\xbf-c"), ElementsAre("-c"));
}

TEST(ResponseFile, NestedFilesAreExpandedInPlace) {
  const std::string inner = write("inner", "-g b.c");
  const std::string outer = write("outer", "-O2 @" + inner + " c.c");
  EXPECT_THAT(expand_response_files({"a.c", "@" + outer, "-c"}),
              ElementsAre("a.c", "-O2", "-g", "b.c", "c.c", "-c"));
}

TEST(ResponseFile, AFileThatIsNotThereStaysAsAWord) {
  EXPECT_THAT(expand_response_files({"@/nowhere/at/all", "@"}),
              ElementsAre("@/nowhere/at/all", "@"));
}

TEST(ResponseFile, AFileThatIncludesItselfEnds) {
  const std::string path = testing::TempDir() + "response_loop";
  std::ofstream(path) << "-c @" << path;
  EXPECT_THAT(expand_response_files({"@" + path}), ElementsAre("-c", "@" + path));
}

TEST(ResponseFile, TheSameFileTwiceIsNoLoop) {
  const std::string path = write("twice", "-c");
  EXPECT_THAT(expand_response_files({"@" + path, "@" + path}), ElementsAre("-c", "-c"));
}

}  // namespace
}  // namespace stab::driver
