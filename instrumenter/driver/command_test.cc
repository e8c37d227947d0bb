// SPDX-License-Identifier: MIT
#include "instrumenter/driver/command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stab::driver {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// A folder with a pass for the LLVM that the tests name.
std::string passes() {
  const std::string folder = testing::TempDir() + "command_passes";
  std::filesystem::create_directories(folder);
  std::ofstream(fmt::format("{}/stab-pass-{}.so", folder, STAB_LLVM_VERSION)) << "";
  return folder;
}

const Companions kCompanions{.linker = "/x/ld.stab",
                             .lld_folder = "/x/gcc",
                             .postlink = "/x/stab-link",
                             .runtime = "/x/stab-runtime.o",
                             .library = "/x/stab-library.o",
                             .passes = passes(),
                             .include = "/x/include",
                             .sources = ""};

Command command(const Words& words, bool off = false) {
  const auto arguments = parse_arguments(words);
  EXPECT_TRUE(arguments);
  auto result = make_command(*arguments, {"/usr/bin/clang-22"}, kCompanions, off);
  EXPECT_TRUE(result) << result.error().message;
  return result.value_or(Command{});
}

std::ptrdiff_t place(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) - words.begin();
}

// An executable file, for searches.
std::string program(const std::string& folder, const std::string& name) {
  const std::string path = testing::TempDir() + folder;
  std::filesystem::create_directories(path);
  std::ofstream(path + "/" + name) << "#!/bin/sh\n";
  std::filesystem::permissions(path + "/" + name, std::filesystem::perms::owner_all);
  return path + "/" + name;
}

TEST(Command, OurFlagsStandBeforeTheUsersAndMayBeUnused) {
  const Words words = command({"-c", "a.c"}).words;
  const auto start = place(words, "--start-no-unused-arguments");
  const auto end = place(words, "--end-no-unused-arguments");
  for (const char* flag : {"-ffunction-sections", "-fuse-ld=lld", "--ld-path=/x/ld.stab"}) {
    EXPECT_GT(place(words, flag), start) << flag;
    EXPECT_LT(place(words, flag), end) << flag;
  }
  EXPECT_LT(end, place(words, "-c"));
}

TEST(Command, TheBaselineHasTheSameCodeGenerationAndNoPass) {
  EXPECT_THAT(command({"a.c"}).words, Contains("-fpass-plugin=" + passes() +
                                               fmt::format("/stab-pass-{}.so", STAB_LLVM_VERSION)));
  const Command off = command({"a.c"}, true);
  EXPECT_THAT(off.words, Contains("-ffunction-sections"));
  EXPECT_THAT(off.words, Not(Contains(HasSubstr("-fpass-plugin"))));
  EXPECT_EQ(off.environment.at(variable::off), "1");
}

TEST(Command, ALinkerOfTheUsersIsCalledThroughOurs) {
  const std::string linker = program("command_linker", "ld.own");
  const std::string folder = testing::TempDir() + "command_linker";
  const Command by_name = command({"-B", folder, "-fuse-ld=own", "a.c"});
  EXPECT_EQ(by_name.environment.at(variable::linker), linker);
  EXPECT_THAT(by_name.words, Contains("--ld-path=/x/ld.stab"));
  EXPECT_THAT(by_name.words, Not(Contains("-fuse-ld=lld")));
  const Command by_path = command({"--ld-path=" + linker, "a.c"});
  EXPECT_EQ(by_path.environment.at(variable::linker), linker);
  EXPECT_THAT(by_path.words, Not(Contains("--ld-path=" + linker)));
}

TEST(Command, ClangsNameForItsDefaultLinkerIsALinkerToo) {
  const std::string linker = program("command_default_linker", "ld");
  const std::string folder = testing::TempDir() + "command_default_linker";
  const Command made = command({"-B", folder, "-fuse-ld=ld", "a.c"});
  EXPECT_EQ(made.environment.at(variable::linker), linker);
  EXPECT_THAT(made.words, Contains("--ld-path=/x/ld.stab"));
}

TEST(Command, AnUnknownModeOfStacksInTheEnvironmentIsAnError) {
  setenv(variable::stack, "tabel", 1);
  const auto made =
      make_command(*parse_arguments({"-c", "a.c"}), {"/usr/bin/clang-22"}, kCompanions, false);
  setenv(variable::stack, "table", 1);
  const Words good = command({"-c", "a.c"}).words;
  unsetenv(variable::stack);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("STAB_STACK=tabel"));
  EXPECT_THAT(good, Contains("-D__STAB_STACK_table"));
}

TEST(Command, TheRemovedModeOfStacksIsFrameAndLinksNoteThat) {
  const Command linked = command({"--stab-stack=byte", "a.c"});
  EXPECT_EQ(linked.environment.at(variable::stack), "frame");
  EXPECT_THAT(linked.words, Not(Contains(HasSubstr("STAB_STACK"))));
  EXPECT_THAT(linked.note, HasSubstr("--stab-stack=byte was removed"));
  for (const Words& silent : {Words{"--stab-stack=byte", "-c", "a.c"},
                              {"--stab-stack=byte", "--stab-quiet", "a.c"},
                              {"--stab-stack=byte", "a.c", "-o", "conftest"},
                              {"--stab-stack=table", "a.c"}})
    EXPECT_EQ(command(silent).note, "");
  setenv(variable::stack, "byte", 1);
  const Command by_variable = command({"a.c"});
  const Command other_flag = command({"--stab-stack=off", "a.c"});
  unsetenv(variable::stack);
  EXPECT_EQ(by_variable.environment.at(variable::stack), "frame");
  EXPECT_THAT(by_variable.note, HasSubstr("STAB_STACK=byte was removed"));
  EXPECT_EQ(other_flag.environment.at(variable::stack), "off");
  EXPECT_EQ(other_flag.note, "");
}

TEST(Command, BesideEmbeddedBitcodeThereIsNoFlagThatClangRefuses) {
  for (const char* flag : {"-fembed-bitcode", "-fembed-bitcode=all"})
    EXPECT_THAT(command({flag, "-c", "a.c"}).words, Not(Contains("-ffunction-sections"))) << flag;
  for (const char* flag : {"-fembed-bitcode=off", "-fembed-bitcode-marker"})
    EXPECT_THAT(command({flag, "-c", "a.c"}).words, Contains("-ffunction-sections")) << flag;
  EXPECT_THAT(command({"-fembed-bitcode", "-flto", "a.c"}).words, Contains("-ffunction-sections"));
}

TEST(Command, ALinkerThatIsMissingIsLeftForClangToReport) {
  EXPECT_THAT(command({"-fuse-ld=none-such", "a.c"}).words, Not(Contains(HasSubstr("--ld-path"))));
  EXPECT_THAT(command({"--ld-path=/none/such", "a.c"}).words, Contains("--ld-path=/none/such"));
}

TEST(Command, OwnFlagsReachTheLinkerThroughTheEnvironment) {
  const Command c = command(
      {"--stab-link-order=7", "--stab-link-padding=8", "--stab-strict", "--stab-quiet", "a.c"});
  EXPECT_EQ(c.environment.at(variable::link_order), "7");
  EXPECT_EQ(c.environment.at(variable::link_padding), "8");
  EXPECT_EQ(c.environment.at(variable::strict), "1");
  EXPECT_EQ(c.environment.at(variable::quiet), "1");
}

TEST(Command, AnotherTargetGetsNothingOfOursAndANoteWhenItLinks) {
  const Command linked = command({"--target=aarch64-linux-gnu", "a.c"});
  EXPECT_THAT(linked.words, ElementsAre("/usr/bin/clang-22", "--target=aarch64-linux-gnu", "a.c"));
  EXPECT_THAT(linked.note, HasSubstr("aarch64"));
  EXPECT_EQ(command({"--target=aarch64-linux-gnu", "-c", "a.c"}).note, "");
  EXPECT_THAT(
      command({"--target=aarch64-linux-gnu", "--ld-path=/x/ld", "a.o"}).words,
      ElementsAre("/usr/bin/clang-22", "--ld-path=/x/ld", "--target=aarch64-linux-gnu", "a.o"));
  // ccache must not take objects of one mode for those of another.
  EXPECT_THAT(command({"--stab-stack=table", "-c", "a.c"}).words, Contains("-D__STAB_STACK_table"));
  EXPECT_THAT(command({"-c", "a.c"}).words, Not(Contains(HasSubstr("STAB_STACK"))));
  EXPECT_THAT(command({"--target=x86_64-pc-linux-gnu", "a.c"}).words,
              Contains("-ffunction-sections"));
  const auto strict = parse_arguments({"--stab-strict", "--target=aarch64-linux-gnu", "a.c"});
  ASSERT_TRUE(strict);
  const auto refused = make_command(*strict, {"/usr/bin/clang-22"}, kCompanions, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot randomize: made for aarch64-linux-gnu"));
}

TEST(Command, TheFrontendIsCalledAsItIs) {
  EXPECT_THAT(command({"-cc1", "-x"}).words, ElementsAre("/usr/bin/clang-22", "-cc1", "-x"));
}

TEST(Command, ThePassLearnsWhetherTheCodeIsMadeLater) {
  EXPECT_EQ(command({"-c", "a.c"}).environment.at(variable::pass_phase), "compile");
  EXPECT_EQ(command({"-c", "-flto=thin", "a.c"}).environment.at(variable::pass_phase), "prelink");
  EXPECT_EQ(command({"-c", "-emit-llvm", "a.c"}).environment.at(variable::pass_phase), "prelink");
  EXPECT_EQ(command({"-c", "a.bc"}).environment.at(variable::pass_phase), "compile");
}

TEST(Command, CcacheIsToldOfThePlugin) {
  EXPECT_THAT(command({"a.c"}).environment.at("CCACHE_EXTRAFILES"),
              EndsWith(fmt::format("/stab-pass-{}.so", STAB_LLVM_VERSION)));
}

TEST(Command, WithoutItsLinkerSzcSaysWhatIsMissing) {
  const auto made =
      make_command(*parse_arguments({"a.c"}), {"/usr/bin/clang-22"}, Companions{}, false);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("ld.stab is missing"));
}

TEST(Command, TheShellFormIsQuoted) {
  EXPECT_THAT(to_shell(command({"-DX=a b", "it's.c"})), EndsWith("'-DX=a b' 'it'\\''s.c'"));
}

TEST(FindClang, ACommandMayHaveSeveralWords) {
  const std::string clang = program("find_compiler", "clang-77");
  const std::string cache = program("find_compiler", "cache");
  EXPECT_THAT(*find_compiler(cache + " " + clang, false), ElementsAre(cache, clang));
}

TEST(FindClang, CxxTakesTheNeighbourOrTheDriverMode) {
  std::filesystem::remove_all(testing::TempDir() + "find_cxx");
  const std::string clang = program("find_cxx", "clang-77");
  EXPECT_THAT(*find_compiler(clang, true), ElementsAre(clang, "--driver-mode=g++"));
  const std::string cxx = program("find_cxx", "clang++-77");
  EXPECT_THAT(*find_compiler(clang, true), ElementsAre(cxx));
  EXPECT_THAT(*find_compiler(cxx, true), ElementsAre(cxx));
}

TEST(FindClang, WhatIsNotThereIsAnErrorThatNamesTheVariable) {
  const auto found = find_compiler("/none/such/clang", false);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("STAB_CLANG"));
}

TEST(FindCompanions, PartsAreFoundBesideTheProgram) {
  const std::string root = testing::TempDir();
  program("tree/libexec", "ld.stab");
  program("tree/lib", "stab-runtime.o");
  program("tree/include", "stabilizer.h");
  const Companions found = find_companions(root + "tree/bin/szc");
  EXPECT_EQ(found.linker, root + "tree/libexec/ld.stab");
  EXPECT_EQ(found.runtime, root + "tree/lib/stab-runtime.o");
  EXPECT_EQ(found.include, root + "tree/include");
  EXPECT_EQ(found.postlink, "");
  EXPECT_EQ(find_companions(found.linker).runtime, found.runtime);
}

TEST(FindCompanions, PartsOfAnInstallationHaveFoldersOfTheirOwn) {
  const std::string root = testing::TempDir();
  program("usr/libexec/stabd", "ld.stab");
  program("usr/lib/stabd", "stab-runtime.o");
  const Companions found = find_companions(root + "usr/bin/szc");
  EXPECT_EQ(found.linker, root + "usr/libexec/stabd/ld.stab");
  EXPECT_EQ(find_companions(found.linker).runtime, root + "usr/lib/stabd/stab-runtime.o");
}

}  // namespace
}  // namespace stab::driver
