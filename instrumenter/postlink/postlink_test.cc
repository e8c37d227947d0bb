// SPDX-License-Identifier: MIT
// The step on real binaries: what it writes is what the runtime's validator accepts.
#include "instrumenter/postlink/postlink.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/validate.h"

namespace stab::instrumenter {
namespace {

using testing::HasSubstr;

constexpr const char* program = R"(
#include <stdio.h>
#include <dlfcn.h>
static int leaf(int x) { return x + 1; }
int (*pointer)(int) = leaf;
__attribute__((noinline)) int table(int x) {
  switch (x) { case 0: return puts("a"); case 1: return puts("bb"); case 2: return puts("c") + 1; case 3: return x * 7;
    case 4: return puts("dd"); case 5: return puts("e") - 3; default: return 0; }
}
__attribute__((noinline)) int labels(int x) {
  static const void *const t[] = {&&one, &&two, &&three};
  goto *t[x];
one: return puts("x");
two: return puts("yy") * 2;
three: return 3;
}
__attribute__((noinline)) void *sensitive(void) { return dlsym(RTLD_DEFAULT, "puts"); }
__attribute__((section("stab_nomove"), noinline)) int fixed(int x) { return puts("fixed") + x; }
int main(int c, char **v) { (void)v; return table(c) + labels(c) + pointer(c) + fixed(c) + (sensitive() != 0); }
)";

class PostLink : public testing::Test {
 protected:
  PostLink() {
    const std::string pattern =
        (std::filesystem::temp_directory_path() / "postlink-XXXXXX").string();
    std::string name = pattern;
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "a.c") << program;
  }
  ~PostLink() override { std::filesystem::remove_all(folder_); }

  // The path of a linked binary that the step has not seen.
  std::string link(const std::string& flags) {
    const std::string output = (folder_ / "a.out").string();
    const std::string command = fmt::format(
        "clang-19 -O1 -w -ffunction-sections -falign-functions=16 -fuse-ld=lld -Wl,--emit-relocs "
        "{} {} -o {}",
        (folder_ / "a.c").string(), flags, output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return output;
  }
  std::string link_program(const std::string& flags = "") {
    return link(flags + " " STAB_BIN_DIR "/../lib/stab-runtime.o");
  }

  std::filesystem::path folder_;
};

rt::TableError validate_file(const std::string& path) {
  const auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  const auto bytes = file->contents(*file->section(abi::table_section));
  std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  rt::Shape shape{};
  for (const Elf64_Phdr& s : file->segments())
    if (s.p_type == PT_LOAD)
      shape.segments[shape.count++] = {s.p_vaddr - file->lowest(),
                                       s.p_vaddr - file->lowest() + s.p_memsz, s.p_flags};
  return rt::validate(reinterpret_cast<const std::uint8_t*>(aligned.data()), bytes.size(), shape);
}

const ExplainedFunction& function(const Explanation& explanation, const std::string& name) {
  static const ExplainedFunction missing{"missing", 0, 0, "missing", "", 0};
  const auto found = std::ranges::find(explanation.functions, name, &ExplainedFunction::name);
  return found == explanation.functions.end() ? missing : *found;
}

TEST_F(PostLink, WritesATableThatTheRuntimeAccepts) {
  for (const char* flags : {"", "-O0", "-O2 -fno-pie -no-pie", "-Os", "-g"}) {
    const std::string path = link_program(flags);
    const auto summary = instrument(path, {});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_GE(summary->movable_functions, 4u) << flags;
    EXPECT_EQ(validate_file(path), rt::TableError::ok) << flags;
  }
}

TEST_F(PostLink, ExplainsWhatIsPinnedAndWhy) {
  const std::string path = link_program();
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  for (const char* name : {"main", "leaf", "table", "labels"})
    EXPECT_EQ(function(*explanation, name).pinned, "") << name;
  EXPECT_THAT(function(*explanation, "sensitive").pinned, HasSubstr("dlsym"));
  EXPECT_THAT(function(*explanation, "fixed").pinned, HasSubstr("STAB_NO_MOVE"));
  EXPECT_THAT(function(*explanation, "_start").pinned, HasSubstr("before the runtime"));
  std::uint64_t all = 0;
  std::uint64_t moving = 0;
  for (const auto& f : explanation->functions) {
    all += f.size;
    moving += f.pinned.empty() ? f.size : 0;
  }
  EXPECT_EQ(explanation->text_bytes, all);
  EXPECT_EQ(explanation->movable_bytes, moving);
  EXPECT_THAT(to_text(*explanation), HasSubstr("pinned"));
  const auto json = nlohmann::json::parse(to_json(*explanation));
  EXPECT_EQ(json["functions"].size(), explanation->functions.size());
  EXPECT_EQ(json["movable_bytes"], moving);
}

constexpr const char* assembly = R"(
.text
.globl nameless_size
nameless_size:
  mov $5, %eax
label:
  dec %eax
  jnz label
  ret
  xchg %ax, %ax
.globl typed
.type typed, @function
typed:
  push %rbx
  pop %rbx
  ret
  .p2align 6
.type sized, @function
sized:
  mov $1, %eax
  ret
.size sized, .-sized
  .byte 0, 0, 6, 1, 2, 3, 0
)";

TEST_F(PostLink, CountsCodeWhoseSizeNobodyTells) {
  std::ofstream(folder_ / "b.s") << assembly;
  const std::string path = link_program((folder_ / "b.s").string());
  const auto summary = instrument(path, {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(validate_file(path), rt::TableError::ok);
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  EXPECT_EQ(function(*explanation, "sized").pinned, "");
  // Padding is not code, and labels are no functions. Bytes that are no code count as what stays.
  for (const auto& [name, size] :
       {std::pair{"nameless_size", 10u}, {"typed", 3u}, {"(code without a name)", 4u}}) {
    EXPECT_THAT(function(*explanation, name).pinned, HasSubstr("size")) << name;
    EXPECT_EQ(function(*explanation, name).size, size) << name;
  }
  EXPECT_EQ(function(*explanation, "label").address, 0u);
  EXPECT_EQ(explanation->text_bytes, summary->text_bytes);
  EXPECT_EQ(explanation->movable_bytes, summary->movable_bytes);
  EXPECT_EQ(explanation->functions.size(), summary->functions);
}

TEST_F(PostLink, KeepsModeAndDropsRelocations) {
  const std::string path = link_program();
  chmod(path.c_str(), 0751);
  ASSERT_TRUE(instrument(path, {}));
  struct stat after{};
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777, 0751u);
  const auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  for (const Elf64_Shdr& section : file->sections())
    EXPECT_FALSE(section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) == 0)
        << file->name(section);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(PostLink, StripsOnRequest) {
  std::string path = link_program("-g");
  ASSERT_TRUE(instrument(path, {.strip_debug = true}));
  auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  EXPECT_EQ(file->section(".debug_info"), nullptr);
  EXPECT_FALSE(file->symbols().empty());
  path = link_program("-g");
  ASSERT_TRUE(instrument(path, {.strip_all = true}));
  file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  EXPECT_TRUE(file->symbols().empty());
  EXPECT_EQ(validate_file(path), rt::TableError::ok);
}

TEST_F(PostLink, LeavesTheFileAloneOnAnError) {
  const std::string bare = link("");
  const auto before = read_file(bare, std::size_t{1} << 30);
  const auto summary = instrument(bare, {});
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().message, HasSubstr("the runtime is not linked in"));
  EXPECT_EQ(*read_file(bare, std::size_t{1} << 30), *before);
  const std::string path = link_program();
  ASSERT_TRUE(instrument(path, {}));
  EXPECT_THAT(instrument(path, {}).error().message, HasSubstr("instrumented already"));
  EXPECT_THAT(instrument((folder_ / "a.c").string(), {}).error().message, HasSubstr("not"));
  EXPECT_THAT(instrument((folder_ / "absent").string(), {}).error().message,
              HasSubstr("No such file"));
}

TEST_F(PostLink, SurvivesDamagedFiles) {
  const std::string path = link_program();
  const std::string whole = *read_file(path, std::size_t{1} << 30);
  const std::string damaged = (folder_ / "damaged").string();
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40 + 1) {
    std::ofstream(damaged, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(instrument(damaged, {})) << size;
    EXPECT_FALSE(explain(damaged)) << size;
  }
  // Any byte of the headers changed: an error or a table that holds, never a crash.
  for (std::size_t at = 16; at < 64 + 13 * sizeof(Elf64_Phdr); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    std::ofstream(damaged, std::ios::binary) << changed;
    if (instrument(damaged, {})) EXPECT_TRUE(explain(damaged));
  }
}

}  // namespace
}  // namespace stab::instrumenter
