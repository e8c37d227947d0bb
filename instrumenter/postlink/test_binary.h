// SPDX-License-Identifier: MIT
// For tests: links binaries that the step has not seen, and explains their functions.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/postlink.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/validate.h"

namespace stab::instrumenter {

inline constexpr const char* program = R"(
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
__attribute__((noinline)) void *sensitive(void) { void *found = dlsym(RTLD_DEFAULT, "puts"); __asm__ volatile("" : "+r"(found)); return found; }
__attribute__((section("stab_nomove"), noinline)) int fixed(int x) { return puts("fixed") + x; }
int main(int c, char **v) { (void)v; return table(c) + labels(c) + pointer(c) + fixed(c) + (sensitive() != 0); }
)";

inline rt::TableError validate_file(const std::string& path) {
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

  // Returns the path of a linked binary that the step has not seen.
  std::string link(const std::string& flags) {
    const std::string output = (folder_ / "a.out").string();
    const std::string command = fmt::format(
        "clang-22 -O1 -w -ffunction-sections -falign-functions=16 -fuse-ld=lld -Wl,--emit-relocs "
        "{} {} -o {}",
        (folder_ / "a.c").string(), flags, output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return output;
  }
  std::string link_program(const std::string& flags = "") {
    return link(flags + " " STAB_BIN_DIR "/../lib/stab-runtime.o");
  }

  // Explains a program that contains this assembly.
  Explanation explain_with(const std::string& assembly, const std::string& flags = "") {
    std::ofstream(folder_ / "b.s") << assembly;
    const std::string path = link_program(flags + " " + (folder_ / "b.s").string());
    const auto summary = instrument(path, {});
    EXPECT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(validate_file(path), rt::TableError::ok);
    return explain(path).value_or(Explanation{});
  }

  std::filesystem::path folder_;
};

inline const ExplainedFunction& function(const Explanation& explanation, const std::string& name) {
  static const ExplainedFunction missing{"missing", 0, 0, "missing", "", 0};
  const auto found = std::ranges::find(explanation.functions, name, &ExplainedFunction::name);
  return found == explanation.functions.end() ? missing : *found;
}

}  // namespace stab::instrumenter
