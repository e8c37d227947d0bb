// SPDX-License-Identifier: MIT
#include "worker/binary.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "base/testing.h"

namespace stab::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr std::string_view key = "0123456789abcdef0123456789abcdef";
constexpr std::string_view other = "fedcba9876543210fedcba9876543210";
constexpr std::size_t piece = std::size_t{1} << 20;

class Binary : public ::testing::Test {
 protected:
  Result<std::optional<std::string>> digest(std::string_view name = key) const {
    return digest_of(folder_ / "out", {.key = name, .until = steady_clock::now() + 60s});
  }

  std::string digest_of_text(const std::string& text, std::string_view name = key) const {
    folder_.write("out", text);
    return digest(name).value().value_or("none");
  }

  test::Folder folder_;
};

TEST_F(Binary, TheFoldersNameDoesNotCountWhereverItStands) {
  for (const std::size_t before : {std::size_t{0}, piece - 33, piece - 32, piece - 31, piece - 1,
                                   piece, piece - 257, piece - 256, 3 * piece + 7}) {
    const std::string start(before, 'x');
    const std::string mine = start + std::string(key) + "yz";
    EXPECT_EQ(digest_of_text(mine), digest_of_text(start + std::string(other) + "yz", other))
        << before;
    EXPECT_EQ(digest_of_text(mine), sha256_hex(start + std::string(32, '0') + "yz")) << before;
    EXPECT_NE(digest_of_text(mine), digest_of_text(start + std::string(other) + "yz")) << before;
  }
}

TEST_F(Binary, TheLinkersNoteDoesNotCountWhereverItStands) {
  using namespace std::string_literals;
  const auto note = [](std::size_t before, char id) {
    return std::string(before, 'x') + "\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"s + std::string(20, id) +
           "y";
  };
  for (const std::size_t before :
       {std::size_t{0}, piece - 37, piece - 36, piece - 16, piece - 8, piece - 4, piece - 1, piece,
        piece - 256, piece - 248, 2 * piece - 20}) {
    const std::string one = digest_of_text(note(before, 'a'));
    EXPECT_EQ(one, digest_of_text(note(before, 'b'))) << before;
    EXPECT_EQ(one, sha256_hex(note(before, '\0'))) << before;
  }
}

TEST_F(Binary, AFileThatIsNotThereIsNoError) {
  EXPECT_EQ(digest().value(), std::nullopt);
}

TEST_F(Binary, OnlyARegularFileOfASizeThatIsAllowedIsRead) {
  ASSERT_EQ(symlink("/dev/zero", (folder_ / "out").c_str()), 0);
  EXPECT_THAT(digest().error().message, HasSubstr("not a regular file"));
  unlink((folder_ / "out").c_str());
  ASSERT_EQ(mkfifo((folder_ / "out").c_str(), 0600), 0);
  EXPECT_THAT(digest().error().message, HasSubstr("not a regular file"));
  unlink((folder_ / "out").c_str());
  folder_.write("out", "");
  ASSERT_EQ(truncate((folder_ / "out").c_str(), off_t{max_binary_bytes} + 1), 0);
  EXPECT_THAT(digest().error().message, HasSubstr("4294967297 bytes"));
}

TEST_F(Binary, ReadingEndsWithItsTimeAndWhenItIsToStop) {
  folder_.write("out", std::string(piece, 'x'));
  const auto late = digest_of(folder_ / "out", {.key = key, .until = steady_clock::now()});
  EXPECT_THAT(late.error().message, HasSubstr("before the build's timeout"));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const auto stopped = digest_of(
      folder_ / "out", {.key = key, .until = steady_clock::now() + 60s, .stop_fd = ends[0]});
  EXPECT_FALSE(stopped);
  close(ends[0]);
  close(ends[1]);
}

struct Segment {
  std::uint32_t type = PT_LOAD;
  std::uint32_t flags = PF_R | PF_X;
  std::uint64_t bytes = 0;
};

// No more of a program than the table of its segments.
std::string elf_with(const std::vector<Segment>& segments) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments.size());
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  for (const Segment& each : segments) {
    Elf64_Phdr segment{};
    segment.p_type = each.type;
    segment.p_flags = each.flags;
    segment.p_memsz = each.bytes;
    file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  }
  return file;
}

TEST_F(Binary, CodeIsWhatIsLoadedAndMayBeExecuted) {
  folder_.write("out", elf_with({{.flags = PF_R, .bytes = 7},
                                 {.bytes = 1000},
                                 {.flags = PF_R | PF_W, .bytes = 500},
                                 {.type = PT_GNU_STACK, .flags = PF_R | PF_W | PF_X, .bytes = 90},
                                 {.flags = PF_X, .bytes = 24}}));
  EXPECT_EQ(code_size_of(folder_ / "out").value_or(0), 1024);
}

TEST_F(Binary, WhatIsNoProgramSaysWhy) {
  const auto why = [&](const std::string& content) {
    folder_.write("out", content);
    const auto size = code_size_of(folder_ / "out");
    return size ? "none" : size.error().message;
  };
  const std::string whole = elf_with({{.bytes = 1000}});
  for (const std::string& no : {std::string(), std::string("#!/bin/sh\n"), whole.substr(0, 40)})
    EXPECT_THAT(why(no), HasSubstr("not a 64-bit ELF program"));
  EXPECT_THAT(why(whole.substr(0, whole.size() - 1)), HasSubstr("segments cannot be read"));
  EXPECT_THAT(why(elf_with({{.flags = PF_R, .bytes = 9}})), HasSubstr("no code that is loaded"));
  EXPECT_THAT(why(elf_with({{.bytes = UINT64_MAX}, {.bytes = 2}})), HasSubstr("impossible sizes"));
  EXPECT_THAT(code_size_of(folder_ / "nothing").error().message, HasSubstr("cannot be read"));
}

TEST_F(Binary, AFileThatHasChangedIsReadAgain) {
  CodeSizes sizes;
  folder_.write("out", elf_with({{.bytes = 1000}}));
  EXPECT_EQ(sizes.of(folder_ / "out").value_or(0), 1000);
  EXPECT_EQ(sizes.of(folder_ / "out").value_or(0), 1000);
  folder_.write("out", elf_with({{.bytes = 1000}, {.bytes = 24}}));
  EXPECT_EQ(sizes.of(folder_ / "out").value_or(0), 1024);
}

}  // namespace
}  // namespace stab::worker
