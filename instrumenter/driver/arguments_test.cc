// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

#include "instrumenter/driver/command.h"

namespace stab::driver {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

Arguments parse(const Words& words) {
  auto arguments = parse_arguments(words);
  EXPECT_TRUE(arguments) << arguments.error().message;
  return arguments.value_or(Arguments{});
}

std::string error_of(const Words& words) {
  const auto arguments = parse_arguments(words);
  return arguments ? "" : arguments.error().message;
}

TEST(Arguments, EveryFlagOfClangPassesThrough) {
  const Words words{"-O2", "-DX=\"a b\"", "-x", "c", "-", "-Wl,-z,now", "-o", "out"};
  EXPECT_THAT(parse(words).clang, ElementsAreArray(words));
}

TEST(Arguments, OwnFlagsAreTakenOut) {
  const Arguments a = parse({"--stab-off", "a.c", "--stab-quiet", "--stab-strict", "--stab-print",
                             "--stab-link-order=7", "--stab-link-padding=0"});
  EXPECT_THAT(a.clang, ElementsAre("a.c"));
  EXPECT_TRUE(a.own.off && a.own.quiet && a.own.strict && a.own.print);
  EXPECT_EQ(a.own.link_order, 7U);
  EXPECT_EQ(a.own.link_padding, 0U);
}

TEST(Arguments, TheBiggestSeedIsAccepted) {
  EXPECT_EQ(parse({"--stab-link-order=18446744073709551615"}).own.link_order, UINT64_MAX);
}

TEST(Arguments, ASeedThatIsNoNumberIsAnError) {
  for (const char* value : {"=", "", "=x", "=-1", "=1.5", "=18446744073709551616"}) {
    EXPECT_THAT(error_of({std::string("--stab-link-order") + value}), HasSubstr("whole number"))
        << value;
  }
}

TEST(Arguments, AMisspeltOwnFlagIsAnErrorThatNamesTheNearest) {
  EXPECT_THAT(error_of({"--stab-of"}), HasSubstr("did you mean --stab-off"));
  EXPECT_THAT(error_of({"--stab-zzzzzzzzzzzz"}), HasSubstr("--stab-help"));
}

TEST(Arguments, AValueThatLooksLikeAnOwnFlagIsAValue) {
  const Words words{"-D", "--stab-off", "a.c"};
  const Arguments a = parse(words);
  EXPECT_FALSE(a.own.off);
  EXPECT_THAT(a.clang, ElementsAreArray(words));
}

TEST(Arguments, AfterTwoDashesAllAreFiles) {
  const Arguments a = parse({"--", "--stab-off", "-c"});
  EXPECT_FALSE(a.own.off);
  EXPECT_TRUE(a.links);
}

TEST(Arguments, ExplainTakesABinaryAndJson) {
  const Arguments a = parse({"--stab-explain", "prog", "--json"});
  EXPECT_EQ(a.own.action, Action::explain);
  EXPECT_EQ(a.own.named, "prog");
  EXPECT_TRUE(a.own.json);
  EXPECT_THAT(error_of({"--stab-explain"}), HasSubstr("needs a binary"));
}

TEST(Arguments, TheLastLinkerWins) {
  EXPECT_EQ(parse({"-fuse-ld=bfd", "a.c", "-fuse-ld=mold"}).linker, "mold");
  EXPECT_EQ(parse({"a.c"}).linker, "");
}

TEST(Arguments, ALinkerPathIsTakenOutSinceOursReplacesIt) {
  const Arguments a = parse({"--ld-path=/x/ld", "a.c"});
  EXPECT_EQ(a.ld_path, "/x/ld");
  EXPECT_THAT(a.clang, ElementsAre("a.c"));
}

TEST(Arguments, TheTargetIsSeenInBothSpellings) {
  EXPECT_EQ(parse({"--target=aarch64-linux-gnu", "a.c"}).target, "aarch64-linux-gnu");
  EXPECT_EQ(parse({"-target", "i686-w64-mingw32", "a.c"}).target, "i686-w64-mingw32");
}

TEST(Arguments, OnlyACallWithAnInputAndNoEarlierPhaseLinks) {
  EXPECT_TRUE(parse({"a.c"}).links);
  EXPECT_TRUE(parse({"a.o", "-shared"}).links);
  EXPECT_TRUE(parse({"-lfoo"}).links);
  EXPECT_TRUE(parse({"-x", "c", "-"}).links);
  EXPECT_FALSE(parse({}).links);
  EXPECT_FALSE(parse({"-o", "a.c"}).links);
  EXPECT_FALSE(parse({"--version"}).links);
  for (const char* phase : {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-###"})
    EXPECT_FALSE(parse({phase, "a.c"}).links) << phase;
}

TEST(Arguments, LinkTimeOptimizationIsSeen) {
  EXPECT_TRUE(parse({"-flto", "a.c"}).lto);
  EXPECT_TRUE(parse({"-flto=thin", "a.c"}).lto);
  EXPECT_FALSE(parse({"-flto", "-fno-lto", "a.c"}).lto);
  EXPECT_FALSE(parse({"-fltoish", "a.c"}).lto);
}

TEST(Arguments, AnotherDriverIsLeftAlone) {
  EXPECT_TRUE(parse({"-cc1", "-triple", "x"}).verbatim);
  EXPECT_TRUE(parse({"-cc1as"}).verbatim);
  EXPECT_TRUE(parse({"--driver-mode=cl", "a.c"}).verbatim);
  EXPECT_FALSE(parse({"--driver-mode=g++", "a.c"}).verbatim);
}

TEST(Arguments, OwnFlagsInAResponseFileAreTakenOutOfIt) {
  const std::string path = testing::TempDir() + "arguments_response";
  std::ofstream(path) << "-O2 --stab-off -DX='a b'";
  const Arguments a = parse({"@" + path, "a.c"});
  EXPECT_TRUE(a.own.off);
  EXPECT_THAT(a.clang, ElementsAre("-O2", "-DX=a b", "a.c"));
}

TEST(Arguments, AResponseFileWithoutOwnFlagsIsLeftToClang) {
  const std::string path = testing::TempDir() + "arguments_plain";
  std::ofstream(path) << "-fuse-ld=bfd";
  const Arguments a = parse({"@" + path, "a.c"});
  EXPECT_THAT(a.clang, ElementsAre("@" + path, "a.c"));
  EXPECT_EQ(a.linker, "bfd");
}

TEST(Arguments, AResponseFileThatCanBeReadOnlyOnceIsNotLeftToClang) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string_view text = "-O2 -g";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  const Arguments a = parse({fmt::format("@/proc/self/fd/{}", ends[0]), "a.c"});
  ::close(ends[0]);
  EXPECT_THAT(a.clang, ElementsAre("-O2", "-g", "a.c"));
}

}  // namespace
}  // namespace stab::driver
