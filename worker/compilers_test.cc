// SPDX-License-Identifier: MIT
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "worker/binary.h"

namespace stab::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Compilers : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string of(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return compilers_of(path_);
  }
  // A file with a section .comment that holds this.
  static std::string with_comment(const std::string& comment) {
    const std::string names("\0.comment\0", 10);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 2;
    const std::uint64_t data = sizeof header + 2 * sizeof(Elf64_Shdr);
    Elf64_Shdr strings{};
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = data;
    strings.sh_size = names.size();
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_name = 1;
    section.sh_offset = data + names.size();
    section.sh_size = comment.size();
    std::string file;
    const auto add = [&](const auto& part) {
      file.append(reinterpret_cast<const char*>(&part), sizeof part);
    };
    add(header);
    add(strings);
    add(section);
    return file + names + comment;
  }

  std::string path_ =
      std::filesystem::temp_directory_path() / ("stabd-compilers-" + std::to_string(getpid()));
};

TEST_F(Compilers, OfThisProgramAreClangAndLld) {
  EXPECT_THAT(compilers_of("/proc/self/exe"), HasSubstr("clang version "));
}

TEST_F(Compilers, EachIsNamedOnce) {
  using namespace std::string_literals;
  EXPECT_EQ(of(with_comment("\0Linker: L 1\0A 2\0A 2\0"s)), "L 1, A 2");
}

TEST_F(Compilers, WhatAFileSaysIsFitForATerminal) {
  const std::string said = of(with_comment("a\x1b[31mb\nc" + std::string(100'000, 'x')));
  EXPECT_THAT(said, Not(HasSubstr("\x1b")));
  EXPECT_THAT(said, Not(HasSubstr("\n")));
  EXPECT_LT(said.size(), 200U);
}

TEST_F(Compilers, AnythingElseSaysNothing) {
  EXPECT_EQ(compilers_of("/does/not/exist"), "");
  EXPECT_EQ(compilers_of("/dev/zero"), "");
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("#!/bin/sh\n"), "");
}

// Of a file that is cut anywhere, or has any byte of its heads changed, nothing else is read.
TEST_F(Compilers, ADamagedFileHurtsNobody) {
  const std::string good = with_comment("maker 1");
  for (std::size_t size = 0; size < good.size(); ++size) of(good.substr(0, size));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[at] = value;
      EXPECT_LT(of(bad).size(), 1000U);
    }
}

}  // namespace
}  // namespace stab::worker
