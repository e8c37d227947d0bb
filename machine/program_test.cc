// SPDX-License-Identifier: MIT
#include "machine/program.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"

namespace stab::machine {
namespace {

using ::testing::HasSubstr;

TEST(Program, AWordWithoutASlashIsSearchedInPath) {
  const auto found = find_program("sh", {"A=1", "PATH=/nowhere:/bin"}, "/");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, "/bin/sh");
}

TEST(Program, AWordWithASlashIsAPathFromTheDirectory) {
  EXPECT_EQ(find_program("./sh", {}, "/bin").value_or(""), "/bin/./sh");
  EXPECT_EQ(find_program("/bin/sh", {}, "/tmp").value_or(""), "/bin/sh");
}

TEST(Program, TheErrorTellsAMissingFileFromOneThatCannotBeExecuted) {
  EXPECT_THAT(find_program("./nothing", {}, "/tmp").error().message, HasSubstr("/tmp/./nothing"));
  EXPECT_THAT(find_program("/etc/passwd", {}, "/").error().message, HasSubstr("not an executable"));
  EXPECT_THAT(find_program("/tmp", {}, "/").error().message, HasSubstr("not an executable"));
  EXPECT_THAT(find_program("nothing", {"PATH=/bin"}, "/").error().message, HasSubstr("./nothing"));
}

// A file with these segments, and a dynamic section with these flags.
std::string elf_with(std::uint16_t type, std::initializer_list<std::uint32_t> segments,
                     std::uint64_t flags) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments.size());
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  Elf64_Dyn entry{};
  entry.d_tag = DT_FLAGS_1;
  entry.d_un.d_val = flags;
  for (const std::uint32_t each : segments) {
    Elf64_Phdr segment{};
    segment.p_type = each;
    segment.p_offset = sizeof header + segments.size() * sizeof segment;
    segment.p_filesz = sizeof entry;
    file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  }
  return file.append(reinterpret_cast<const char*>(&entry), sizeof entry);
}

TEST(Program, IsStaticWithoutAnInterpreter) {
  const std::string path = testing::TempDir() + "/static_program";
  const auto why = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return why_in_place(path);
  };
  EXPECT_THAT(why(elf_with(ET_EXEC, {PT_LOAD}, 0)), HasSubstr("is linked statically"));
  EXPECT_THAT(why(elf_with(ET_DYN, {PT_LOAD, PT_DYNAMIC}, DF_1_PIE | DF_1_NOW)),
              HasSubstr("is linked statically"));
  EXPECT_EQ(why(elf_with(ET_EXEC, {PT_INTERP, PT_LOAD, PT_DYNAMIC}, 0)), "");
  EXPECT_EQ(why(elf_with(ET_DYN, {PT_INTERP, PT_LOAD, PT_DYNAMIC}, DF_1_PIE)), "");
  // Shared libraries, objects, scripts, files that end too early, and what is no file.
  EXPECT_EQ(why(elf_with(ET_DYN, {PT_LOAD, PT_DYNAMIC}, DF_1_NOW)), "");
  EXPECT_EQ(why(elf_with(ET_REL, {}, 0)), "");
  EXPECT_EQ(why("#!/bin/sh\n"), "");
  EXPECT_EQ(why(elf_with(ET_EXEC, {PT_LOAD}, 0).substr(0, 70)), "");
  std::filesystem::remove(path);
  EXPECT_EQ(why_in_place(path), "");
  EXPECT_EQ(why_in_place("/dev/zero"), "");
  EXPECT_EQ(why_in_place("/proc/self/exe"), "");
  EXPECT_FALSE(has_szc_note("/proc/self/exe"));
  EXPECT_EQ(why_note_fails("/proc/self/exe"), "");
}

// Calls refused_rights() in a process that cannot gain rights.
std::string refused_without_gains(const std::string& path) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd told(ends[0]);
  Fd tells(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(1);
    _exit(write_all(tells.get(), refused_rights(path)) ? 0 : 2);
  }
  tells.reset();
  std::string said;
  for (char each = 0; read(told.get(), &each, 1) == 1;) said += each;
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return said;
}

TEST(Program, TheRightsThatItCannotGainAreNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make such files";
  const std::string path = testing::TempDir() + "gains-" + std::to_string(getpid());
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(chown(path.c_str(), 61234, 61235), 0);
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(refused_without_gains(path), "");
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(refused_without_gains(path), "is setuid to user 61234");
  ASSERT_EQ(chmod(path.c_str(), 02755), 0);
  EXPECT_EQ(refused_without_gains(path), "is setgid to group 61235");
  ASSERT_EQ(chmod(path.c_str(), 02745), 0);
  EXPECT_EQ(refused_without_gains(path), "") << "its group may not execute it";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  vfs_cap_data capability{};
  capability.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  capability.data[0].permitted = 1U << CAP_NET_RAW;
  if (setxattr(path.c_str(), "security.capability", &capability, sizeof capability, 0) == 0)
    EXPECT_EQ(refused_without_gains(path), "has file capabilities");
  std::filesystem::remove(path);
}

TEST(Program, AnEmptyWordIsFoundNowhere) {
  EXPECT_FALSE(find_program("", {"PATH=/bin"}, "/"));
}

}  // namespace
}  // namespace stab::machine
