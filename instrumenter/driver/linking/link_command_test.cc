// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/link_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

namespace stab::driver {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

const Companions kCompanions{.linker = "/x/ld.stab",
                             .lld_folder = "/x/gcc",
                             .postlink = "/x/stab-link",
                             .runtime = "/x/stab-runtime.o",
                             .library = "/x/stab-library.o",
                             .passes = "",
                             .include = "",
                             .sources = ""};

LinkSettings settings() {
  LinkSettings s;
  s.linker = "/x/ld.lld";
  return s;
}

LinkArguments program() {
  return parse_link_arguments({"-s", "-dynamic-linker", "/lib64/ld.so", "-o", "prog", "Scrt1.o",
                               "main.o", "-x", "-lc", "crtendS.o", "crtn.o"});
}

std::ptrdiff_t place(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) - words.begin();
}

TEST(LinkCommand, OurObjectFollowsTheInputsAndPrecedesTheEndFiles) {
  const Words words = instrumented_link(program(), settings(), kCompanions, "");
  EXPECT_EQ(words[0], "/x/ld.lld");
  EXPECT_EQ(place(words, "/x/stab-runtime.o"), place(words, "crtendS.o") - 1);
}

TEST(LinkCommand, WithoutEndFilesOurObjectIsLast) {
  const Words words = instrumented_link(parse_link_arguments({"-shared", "-o", "x.so", "a.o"}),
                                        settings(), kCompanions, "");
  EXPECT_EQ(words.back(), "/x/stab-library.o");
  EXPECT_THAT(words, Not(Contains("/x/stab-runtime.o")));
}

TEST(LinkCommand, StrippingIsLeftToThePostLinkStep) {
  const LinkArguments link = program();
  const Words words = instrumented_link(link, settings(), kCompanions, "");
  EXPECT_THAT(words, Not(Contains("-s")));
  EXPECT_THAT(words, Not(Contains("-x")));
  EXPECT_THAT(postlink_command(link, kCompanions),
              ElementsAre("/x/stab-link", "instrument", "prog", "--strip-all"));
}

TEST(LinkCommand, WrappersMayLieInArchives) {
  const Words words =
      instrumented_link(parse_link_arguments({"--wrap=malloc", "-wrap=pthread_create", "--wrap",
                                              "free", "--wrap=own", "-o", "prog", "a.o"}),
                        settings(), kCompanions, "");
  for (const char* name : {"malloc", "pthread_create", "free"})
    EXPECT_THAT(words, Contains(std::string("--undefined=__wrap_") + name));
  // lld finds the wrapper of a function that the runtime does not define, if it is needed.
  EXPECT_THAT(words, Not(Contains("--undefined=__wrap_own")));
}

TEST(LinkCommand, APlainLinkKeepsEveryWord) {
  const LinkArguments link = program();
  EXPECT_THAT(plain_link(link, settings()), IsSupersetOf(link.words));
}

TEST(LinkCommand, AnotherLinkerGetsNoFlagsOfLld) {
  LinkSettings other = settings();
  other.linker = "/usr/bin/ld.bfd";
  const LinkArguments link = program();
  Words expected{"/usr/bin/ld.bfd"};
  expected.insert(expected.end(), link.words.begin(), link.words.end());
  EXPECT_EQ(plain_link(link, other), expected);
}

TEST(LinkCommand, EachOrderSeedShufflesCodeAndDataButNotInitArrays) {
  std::set<std::string> seen;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    LinkSettings s = settings();
    s.link_order = seed;
    const Words flags = lld_flags(s);
    const auto text = std::ranges::find_if(
        flags, [](const std::string& f) { return f.starts_with("--shuffle-sections=.text*="); });
    ASSERT_NE(text, flags.end());
    const std::string value = text->substr(text->rfind('=') + 1);
    EXPECT_NE(value, "0");
    EXPECT_NE(value, "4294967295");
    seen.insert(value);
    EXPECT_TRUE(std::ranges::none_of(flags, [](const std::string& f) {
      return f.find("init_array") != std::string::npos || f.find("=*=") != std::string::npos;
    }));
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST(LinkCommand, ARandomOrderAlsoHoldsForTheFunctionsOfAProfile) {
  const std::string flag = "--no-call-graph-profile-sort";
  LinkSettings s = settings();
  const LinkArguments link =
      parse_link_arguments({"-o", "prog", "main.o", "--call-graph-profile-sort=hfsort"});
  EXPECT_THAT(plain_link(link, s), Not(Contains(flag)));
  s.link_order = 1;
  EXPECT_EQ(plain_link(link, s).back(), flag);
  EXPECT_EQ(instrumented_link(link, s, kCompanions, "").back(), flag);
  s.linker = "/usr/bin/ld.bfd";
  EXPECT_THAT(plain_link(link, s), Not(Contains(flag)));
}

TEST(LinkCommand, AProgramWithAVersionScriptGetsOneOfOursBeside) {
  const LinkArguments link =
      parse_link_arguments({"--version-script=x.map", "-o", "prog", "Scrt1.o", "main.o", "-lc"});
  EXPECT_TRUE(needs_exports_script(link));
  EXPECT_THAT(instrumented_link(link, settings(), kCompanions, "/t/e.map"),
              Contains("--version-script=/t/e.map"));
  EXPECT_NE(exports_script().find(" _dl_find_object;"), std::string::npos);
  EXPECT_FALSE(needs_exports_script(program()));
  EXPECT_FALSE(needs_exports_script(
      parse_link_arguments({"-shared", "--version-script", "x.map", "-o", "x.so", "a.o"})));
}

TEST(LinkCommand, EachPassAndModeHasItsOwnCacheOfThinLto) {
  const std::filesystem::path folder = testing::TempDir() + "link_command_cache";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ld.lld") << "#!/bin/sh\necho 'LLD 77.1.0 (a test)'\n";
  std::filesystem::permissions(folder / "ld.lld", std::filesystem::perms::owner_all);
  LinkSettings s = settings();
  s.linker = folder / "ld.lld";
  Companions companions = kCompanions;
  companions.passes = folder;
  const std::string flag = "--thinlto-cache-dir=cache";
  const LinkArguments link = parse_link_arguments({"-o", "prog", "main.o", flag});
  EXPECT_THAT(instrumented_link(link, s, companions, ""), Contains(flag));
  std::set<std::string> seen;
  for (const char* pass : {"one", "another"}) {
    std::ofstream(folder / "stab-pass-77.so") << pass;
    for (const char* mode : {"frame", "table"}) {
      setenv(variable::stack, mode, 1);
      for (const std::string& word : instrumented_link(link, s, companions, ""))
        if (word.starts_with(flag)) seen.insert(word);
    }
  }
  unsetenv(variable::stack);
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_THAT(seen, Each(StartsWith(flag + "/")));
  EXPECT_THAT(plain_link(link, s), Contains(flag));
}

TEST(LinkCommand, LldIsKnownByItsName) {
  EXPECT_TRUE(is_lld("/usr/bin/ld.lld-22"));
  EXPECT_FALSE(is_lld("/usr/bin/ld.bfd"));
  EXPECT_FALSE(is_lld("/lld/bin/mold"));
  const std::filesystem::path folder = testing::TempDir() + "link_command_names";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [target, name] : {std::pair{"ld.lld-77", "ld"}, {"ld.bfd", "ld.default"}}) {
    std::ofstream(folder / target) << "";
    std::filesystem::create_symlink(target, folder / name);
  }
  EXPECT_TRUE(is_lld(folder / "ld"));
  EXPECT_FALSE(is_lld(folder / "ld.default"));
}

}  // namespace
}  // namespace stab::driver
