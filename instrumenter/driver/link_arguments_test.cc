// SPDX-License-Identifier: MIT
#include "instrumenter/driver/link_arguments.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stab::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A dynamic executable as clang links it, with more words in the middle.
LinkArguments program(const Words& more) {
  Words words{"-m", "elf_x86_64", "-pie",         "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2",
              "-o", "prog",       "/lib/Scrt1.o", "-L/lib"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"main.o", "-lc", "/lib/crtn.o"});
  return parse_link_arguments(words);
}

TEST(LinkArguments, AnOrdinaryProgramHasNoObstacle) {
  const LinkArguments link = program({});
  EXPECT_EQ(link.kind, Output::executable);
  EXPECT_EQ(link.output, "prog");
  EXPECT_EQ(link.obstacle, "");
  EXPECT_THAT(link.library_folders, ElementsAre("/lib"));
}

TEST(LinkArguments, InputsAreFilesAndLibrariesOnly) {
  const LinkArguments link =
      parse_link_arguments({"-o", "x", "a.o", "-z", "now", "-lfoo", "-T", "s.ld", "--soname", "n"});
  Words inputs;
  for (const std::size_t i : link.inputs) inputs.push_back(link.words[i]);
  EXPECT_THAT(inputs, ElementsAre("a.o", "-lfoo"));
}

TEST(LinkArguments, TheOutputIsFoundInEachSpelling) {
  for (const Words& words :
       {Words{"-o", "x"}, Words{"-ox"}, Words{"--output=x"}, Words{"--output", "x"}}) {
    Words all = words;
    all.push_back("a.o");
    EXPECT_EQ(parse_link_arguments(all).output, "x") << words[0];
  }
  EXPECT_EQ(parse_link_arguments({"a.o"}).output, "a.out");
}

TEST(LinkArguments, ALibraryNeedsNoStartupFiles) {
  const LinkArguments link = parse_link_arguments({"-shared", "-o", "lib.so", "a.o"});
  EXPECT_EQ(link.kind, Output::library);
  EXPECT_EQ(link.obstacle, "");
}

TEST(LinkArguments, ARelocatableLinkMakesAnObject) {
  EXPECT_EQ(parse_link_arguments({"-r", "-o", "x.o", "a.o"}).kind, Output::object);
}

TEST(LinkArguments, AQuestionMakesNothing) {
  EXPECT_EQ(program({"--version"}).kind, Output::nothing);
  EXPECT_EQ(parse_link_arguments({"-v"}).kind, Output::nothing);
}

TEST(LinkArguments, StaticProgramsHaveAnObstacleAndStaticLibrariesHaveNone) {
  EXPECT_THAT(parse_link_arguments({"-static", "crt1.o", "a.o", "-lc"}).obstacle,
              HasSubstr("statically"));
  EXPECT_THAT(
      parse_link_arguments({"-static", "-pie", "--no-dynamic-linker", "rcrt1.o", "a.o", "-lc"})
          .obstacle,
      HasSubstr("statically"));
  EXPECT_EQ(program({"-Bstatic", "-lfoo", "-Bdynamic"}).obstacle, "");
  EXPECT_EQ(program({"-static", "-lfoo", "-Bdynamic"}).obstacle, "");
}

TEST(LinkArguments, AProgramWithoutLibcOrStartupFilesHasAnObstacle) {
  EXPECT_THAT(parse_link_arguments({"-o", "x", "a.o"}).obstacle,
              HasSubstr("without the C library"));
  EXPECT_THAT(parse_link_arguments({"-o", "x", "a.o", "-lc"}).obstacle, HasSubstr("startup"));
}

TEST(LinkArguments, SanitizersProfilersAndOtherFormatsAreObstacles) {
  EXPECT_THAT(program({"/rt/libclang_rt.asan-x86_64.a"}).obstacle, HasSubstr("-fsanitize=address"));
  EXPECT_THAT(program({"/rt/libclang_rt.tsan-x86_64.a"}).obstacle, HasSubstr("-fsanitize=thread"));
  EXPECT_THAT(program({"/lib/gcrt1.o"}).obstacle, HasSubstr("-pg"));
  EXPECT_THAT(program({"-m", "elf_i386"}).obstacle, HasSubstr("elf_i386"));
  EXPECT_THAT(program({"-melf_i386"}).obstacle, HasSubstr("elf_i386"));
  EXPECT_THAT(program({"--oformat=binary"}).obstacle, HasSubstr("not an ELF file"));
  EXPECT_THAT(program({"-dynamic-linker", "/lib/ld-musl-x86_64.so.1"}).obstacle,
              HasSubstr("GNU C"));
}

TEST(LinkArguments, CoverageAndUndefinedBehaviourChecksAreNoObstacles) {
  EXPECT_EQ(program({"/rt/libclang_rt.profile-x86_64.a"}).obstacle, "");
  EXPECT_EQ(program({"/rt/libclang_rt.ubsan_standalone-x86_64.a"}).obstacle, "");
}

TEST(LinkArguments, StripFlagsAreNoted) {
  EXPECT_TRUE(program({"-s"}).strip_all);
  EXPECT_TRUE(program({"--strip-all"}).strip_all);
  EXPECT_TRUE(program({"-S"}).strip_debug);
  EXPECT_FALSE(program({"-soname", "x"}).strip_all);
}

TEST(LinkArguments, SaveTempsTakesNoWord) {
  EXPECT_TRUE(program({"--save-temps", "-s"}).strip_all);
  const LinkArguments link = parse_link_arguments({"-o", "x", "--save-temps", "a.o"});
  ASSERT_EQ(link.inputs.size(), 1U);
  EXPECT_EQ(link.words[link.inputs[0]], "a.o");
}

TEST(LinkArguments, FlagsThatOrderFunctionsAreNoted) {
  EXPECT_EQ(program({"--symbol-ordering-file=o"}).fixed_order, "--symbol-ordering-file");
  EXPECT_EQ(program({"-symbol-ordering-file", "o"}).fixed_order, "--symbol-ordering-file");
  EXPECT_EQ(program({"--bp-startup-sort=function"}).fixed_order, "--bp-startup-sort");
  EXPECT_EQ(program({"--bp-compression-sort=none"}).fixed_order, "");
  EXPECT_EQ(program({}).fixed_order, "");
  EXPECT_EQ(program({"--call-graph-ordering-file", "o"}).call_order, "--call-graph-ordering-file");
  EXPECT_EQ(program({"--call-graph-profile-sort"}).call_order, "--call-graph-profile-sort");
  EXPECT_EQ(program({"--call-graph-profile-sort=cdsort"}).call_order, "--call-graph-profile-sort");
  EXPECT_EQ(program({"--call-graph-profile-sort=none"}).call_order, "");
  EXPECT_EQ(program({}).call_order, "");
}

TEST(LinkArguments, ThinLtoIsSeen) {
  EXPECT_TRUE(program({"-plugin-opt=thinlto"}).thin_lto);
  EXPECT_TRUE(program({"-plugin-opt", "thinlto"}).thin_lto);
  EXPECT_FALSE(program({"-plugin-opt=mcpu=x86-64"}).thin_lto);
  EXPECT_TRUE(program({"--lto-CGO0"}).unoptimized_code);
  EXPECT_FALSE(program({"--lto-CGO2"}).unoptimized_code);
}

TEST(LinkArguments, NamesOfProbesAreKnown) {
  EXPECT_TRUE(is_probe("conftest"));
  EXPECT_TRUE(is_probe("/tmp/x/cmTC_1234"));
  EXPECT_TRUE(is_probe("/b/meson-private/tmpx/output.exe"));
  EXPECT_FALSE(is_probe("a.out"));
  EXPECT_FALSE(is_probe("/conftest/prog"));
}

TEST(LinkArguments, BuildScriptsAreToolsOfCargo) {
  EXPECT_TRUE(is_tool_of_cargo(
      program({"-o", "/p/target/debug/build/libc-12/build_script_build-0123456789abcdef"})));
  EXPECT_TRUE(is_tool_of_cargo(program({"-o", "build_script_main-0123456789abcdef"})));
  EXPECT_FALSE(is_tool_of_cargo(program({"-o", "/p/target/debug/deps/build_scripts-01"})));
  EXPECT_FALSE(is_tool_of_cargo(program({"-o", "/build_script_x/prog"})));
  for (const char* name : {"build_script_x", "build_script_x-1", "build_script_-0123456789abcdef",
                           "build_script_x-0123456789ABCDEF", "build_script_x.y-0123456789abcdef"})
    EXPECT_FALSE(is_tool_of_cargo(program({"-o", name}))) << name;
}

// The version script that rustc writes for a library of procedural macros.
TEST(LinkArguments, LibrariesOfProceduralMacrosAreToolsOfCargo) {
  const std::string script =
      (std::filesystem::temp_directory_path() / "link_arguments_test.map").string();
  const auto library = [&](const std::string& symbol) {
    std::ofstream(script) << "{\n  global:\n    " << symbol << ";\n\n  local:\n    *;\n};\n";
    return parse_link_arguments(
        {"-shared", "-o", "libm-01.so", "--version-script=" + script, "a.o"});
  };
  EXPECT_TRUE(is_tool_of_cargo(library("__rustc_proc_macro_decls_0123456789abcdef__")));
  EXPECT_FALSE(is_tool_of_cargo(library("rust_metadata_m_0123456789abcdef")));
  EXPECT_EQ(library("f").version_script, script);
  std::filesystem::remove(script);
  EXPECT_FALSE(is_tool_of_cargo(
      parse_link_arguments({"-shared", "-o", "libm-01.so", "--version-script=" + script, "a.o"})));
}

TEST(LinkArguments, AVersionScriptInAPipeIsLeftToTheLinker) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string script = "{ global: __rustc_proc_macro_decls_01__; };";
  ASSERT_EQ(write(ends[1], script.data(), script.size()), std::ssize(script));
  close(ends[1]);
  EXPECT_FALSE(is_tool_of_cargo(
      parse_link_arguments({"-shared", "-o", "libm-01.so",
                            "--version-script=/dev/fd/" + std::to_string(ends[0]), "a.o"})));
  std::string left(script.size(), ' ');
  EXPECT_EQ(read(ends[0], left.data(), left.size()), std::ssize(script));
  EXPECT_EQ(left, script);
  close(ends[0]);
}

}  // namespace
}  // namespace stab::driver
