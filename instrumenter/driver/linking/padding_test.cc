// SPDX-License-Identifier: MIT
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "instrumenter/driver/linking/inputs.h"

namespace stab::driver {
namespace {

constexpr std::size_t kLimit = 1 << 24;

struct Section {
  std::string name;
  Elf64_Shdr header;
  std::string content;
};

std::vector<Section> sections(const std::string& object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  std::memcpy(headers.data(), object.data() + header.e_shoff, headers.size() * sizeof(Elf64_Shdr));
  const char* names = object.data() + headers[header.e_shstrndx].sh_offset;
  std::vector<Section> result;
  for (const Elf64_Shdr& s : headers) {
    const bool has_content = s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL;
    result.push_back(
        {names + s.sh_name, s, has_content ? object.substr(s.sh_offset, s.sh_size) : ""});
  }
  return result;
}

// An object of 200 functions, with constants, strings, constructors and thread-local data.
std::string compiled() {
  const std::string base = testing::TempDir() + "padding_input";
  std::ofstream source(base + ".c");
  for (int i = 0; i < 200; ++i)
    source << fmt::format("int f{0}(int x) {{ return x * {0} + 1; }}\nint d{0} = {0} + 1;\n", i);
  source << "const char* s = \"text\"; _Thread_local int t = 3; const int many[64] = {1};\n"
            "__attribute__((constructor)) void c(void) { d1 = 2; }\n"
            "__attribute__((section(\"walked\"))) int w = 1;\n";
  source.close();
  const std::string command = fmt::format(
      "clang-22 -c -O1 -ffunction-sections -fdata-sections {0}.c -o {0}.o", shell_quote(base));
  EXPECT_EQ(std::system(command.c_str()),
            0);  // NOLINT: the shell is the point of a compiler's test
  return read_file(base + ".o", kLimit).value_or("");
}

TEST(Padding, TailsGrowOneSectionInSixteenByItsAlignment) {
  const std::string object = compiled();
  const auto before = sections(object);
  int text = 0;
  int grown = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto after = sections(pad_object(object, random));
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::uint64_t tail = after[i].header.sh_size - before[i].header.sh_size;
      EXPECT_TRUE(tail == 0 || tail == before[i].header.sh_addralign) << before[i].name;
      if (!before[i].name.starts_with(".text.")) continue;
      ++text;
      grown += tail != 0 ? 1 : 0;
    }
  }
  // 4020 draws with p = 1/16: six standard deviations are 92.
  EXPECT_NEAR(grown, text / 16.0, 92);
}

TEST(Padding, ContentsStayAndTailsOfCodeAreTraps) {
  const std::string object = compiled();
  const auto before = sections(object);
  Random random(5);
  const auto after = sections(pad_object(object, random));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(after[i].content.starts_with(before[i].content)) << before[i].name;
    if (before[i].name.starts_with(".text."))
      EXPECT_EQ(after[i].content.substr(before[i].content.size()).find_first_not_of('\xcc'),
                std::string::npos);
  }
}

TEST(Padding, SectionsThatAreMergedOrWalkedAreLeftAlone) {
  const std::string object = compiled();
  const auto before = sections(object);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto after = sections(pad_object(object, random));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string& name = before[i].name;
      if (name == "walked" || name.starts_with(".init_array") || name.starts_with(".tdata") ||
          name.starts_with(".rodata.str") || name.starts_with(".rela"))
        EXPECT_EQ(after[i].header.sh_size, before[i].header.sh_size) << name;
    }
  }
}

TEST(Padding, EqualSeedsGiveEqualObjects) {
  const std::string object = compiled();
  Random first(1);
  Random second(1);
  Random third(2);
  const std::string padded = pad_object(object, first);
  EXPECT_EQ(padded, pad_object(object, second));
  EXPECT_NE(padded, pad_object(object, third));
}

TEST(Padding, WhatIsNoObjectStaysAsItIs) {
  for (const std::string& content :
       {std::string(), std::string("BC\xc0\xde"), std::string("INPUT(x.o)"), std::string(ELFMAG),
        std::string(64, '\xff')}) {
    Random random(1);
    EXPECT_EQ(pad_object(content, random), content);
  }
}

TEST(Padding, ADamagedObjectIsNotFollowedOutsideOfItself) {
  const std::string object = compiled();
  Random cut(3);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = object.substr(0, cut.below(object.size()));
    for (int k = 0; k < 8 && damaged.size() > 8; ++k)
      damaged[4 + cut.below(std::min<std::size_t>(damaged.size() - 4, 60))] =
          static_cast<char>(cut.next());
    Random random(1);
    EXPECT_GE(pad_object(damaged, random).size(), damaged.size());
  }
}

TEST(Padding, AnArchiveKeepsItsMembersInOrder) {
  const std::string folder = testing::TempDir() + "padding_ar";
  std::filesystem::create_directories(folder);
  for (const char* name : {"a.o", "a_name_longer_than_fifteen.o", "b.o"})
    std::ofstream(folder + "/" + name) << name;
  const std::string in = fmt::format("cd {} && ", shell_quote(folder));
  const std::string members = "a.o a_name_longer_than_fifteen.o b.o";
  ASSERT_EQ(
      std::system(
          (in + "rm -f x.a t.a && ar rcS x.a " + members + " && ar rcST t.a " + members).c_str()),
      0);  // NOLINT
  for (const char* name : {"/x.a", "/t.a"}) {
    Words seen;
    const std::string path = folder + name;
    auto changed =
        change_members(read_file(path, kLimit).value_or(""), path, [&](const std::string& member) {
          seen.push_back(member);
          return member + "!";
        });
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_THAT(seen, testing::ElementsAre("a.o", "a_name_longer_than_fifteen.o", "b.o")) << name;
    std::ofstream(folder + "/new.a") << *changed;
    EXPECT_EQ(std::system((in + "test \"$(ar p new.a b.o)\" = b.o!").c_str()), 0);  // NOLINT
  }
}

// GNU ld and gold read only members that the index names.
TEST(Padding, TheIndexOfAnArchiveNamesTheNewPlaces) {
  const std::string folder = testing::TempDir() + "padding_index";
  std::filesystem::create_directories(folder);
  const std::string object = compiled();
  std::ofstream(folder + "/first.o") << object;
  const std::string in = fmt::format("cd {} && ", shell_quote(folder));
  ASSERT_EQ(
      std::system((in + "echo 'int last(void) { return 1; }' >last.c && clang-22 -c last.c && "
                        "rm -f x.a t.a && ar rcs x.a first.o last.o && "
                        "ar rcsT t.a first.o last.o")
                      .c_str()),
      0);  // NOLINT
  for (const char* name : {"/x.a", "/t.a"}) {
    const std::string path = folder + name;
    const auto changed =
        change_members(read_file(path, kLimit).value_or(""), path,
                       [&](const std::string& member) { return member + std::string(1001, 'x'); });
    ASSERT_TRUE(changed) << changed.error().message;
    std::ofstream(folder + "/new.a") << *changed;
    for (const char* line : {"f7 in first.o", "last in last.o"})
      EXPECT_EQ(
          std::system((in + fmt::format("nm --print-armap new.a | grep -qx '{}'", line)).c_str()),
          0)  // NOLINT
          << name << line;
  }
}

TEST(Padding, ADamagedIndexIsLeftOut) {
  const auto member = [](std::string_view name, std::string_view content) {
    return fmt::format("{:<48}{:<10}`\n{}", name, content.size(), content);
  };
  const std::string rest = member("a.o/", "text");
  for (const std::string& index :
       {std::string("\0\0", 2), std::string("\0\0\0\7few", 7), std::string("\0\0\0\1last", 8)})
    EXPECT_EQ(change_members(
                  "!<arch>\n" + member("/", index) + (index.size() % 2 != 0 ? "\n" : "") + rest,
                  "x.a", [](std::string m) { return m; })
                  .value_or(""),
              "!<arch>\n" + rest);
}

TEST(Padding, ADamagedArchiveIsAnError) {
  EXPECT_FALSE(change_members("!<arch>\ntoo short", "x.a", [](std::string m) { return m; }));
  const std::string header = fmt::format("{:<48}{:<10}`\n", "a.o/", 1000);
  EXPECT_FALSE(
      change_members("!<arch>\n" + header + "few", "x.a", [](std::string m) { return m; }));
}

TEST(Padding, GapsAreUpToAPageAndDifferBySeed) {
  std::map<std::string, std::uint64_t> largest;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    for (const Section& s : sections(gap_object(random)))
      largest[s.name] = std::max(largest[s.name], s.header.sh_size);
  }
  for (const char* name : {".text", ".rodata", ".data.rel.ro", ".data"}) {
    EXPECT_LE(largest[name], 4096U) << name;
    EXPECT_GT(largest[name], 4000U) << name;
  }
}

}  // namespace
}  // namespace stab::driver
