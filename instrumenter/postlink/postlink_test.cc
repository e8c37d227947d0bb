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
  call nameless_size
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
  for (const auto& [name, size] : {std::pair{"nameless_size", 10u}, {"typed", 3u}}) {
    EXPECT_EQ(function(*explanation, name).pinned, "") << name;
    EXPECT_EQ(function(*explanation, name).size, size) << name;
  }
  EXPECT_THAT(function(*explanation, "(code without a name)").pinned, HasSubstr("size"));
  EXPECT_EQ(function(*explanation, "(code without a name)").size, 4u);
  EXPECT_EQ(function(*explanation, "label").address, 0u);
  EXPECT_EQ(explanation->text_bytes, summary->text_bytes);
  EXPECT_EQ(explanation->movable_bytes, summary->movable_bytes);
  EXPECT_EQ(explanation->functions.size(), summary->functions);
}

// Functions without sizes, each in a section of its own.
struct Form {
  const char* name;
  const char* code;
};
constexpr Form moving_forms[] = {
    {"loops", "mov $5, %eax\n1: dec %eax\njnz 1b\nret"},
    {"calls_itself", "dec %edi\njz 1f\ncall calls_itself\n1: ret"},
    {"ends_in_a_jump", "inc %edi\njmp loops"},
    {"goes_on_elsewhere", "inc %edi\njmp has_a_description"},
    {"ends_in_a_trap", "call puts\nud2"},
    {"jumps_by_the_got", "jmp *puts@GOTPCREL(%rip)"},
    {"is_pointed_to", "ret\n.data\n.quad is_pointed_to"},
    {"has_a_description",
     ".cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\npop %rbx\nret\n.cfi_endproc"},
    {"reads_a_table",
     "lea 2f(%rip), %rax\nmov (%rax,%rdi,4), %eax\nret\n.section .rodata\n2: .long 1, 2, 3"},
};
constexpr Form staying_forms[] = {
    {"runs_on", "mov $5, %eax"},
    {"calls_what_may_read_behind_the_call", "call loops\nret"},
    {"is_a_range", "inc %eax\nret\nits_end:\n.data\n.quad its_end"},
    {"takes_its_own_address", "lea takes_its_own_address(%rip), %rax\nret"},
    {"has_a_label_of_a_fault",
     ".type has_a_label_of_a_fault,@function\nlabel_of_a_fault: mov (%rdi), %eax\nret\n.globl "
     "label_of_a_fault\n.data\n.quad "
     "label_of_a_fault"},
    {"is_entered_by_a_table",
     "lea 2f(%rip), %rax\nret\n1: ret\n.section .rodata\n2: .long 1, 2, 3, 4, 5, 6, 1b-2b"},
    {"ends_in_a_branch", "1: dec %eax\njnz 1b"},
    {"ends_in_a_call", "call puts"},
    {"ends_in_a_system_call", "mov $60, %eax\nsyscall\nint3"},
    {"decodes_in_part", "jmp 1f\n.byte 6\n1: ret"},
    {"jumps_into_an_instruction", "jmp 1f+2\n1: mov $0xc3c3c3c3, %eax\nret"},
    {"jumps_into_another", "jmp decodes_in_part+3"},
    {"jumps_anywhere", "jmp *%rdi"},
    {"jumps_by_a_table_of_words", "jmp *2f(,%rdi,8)\n1: ret\n.data\n2: .quad 1b"},
    {"jumps_by_a_table_of_functions", "jmp *2f(,%rdi,8)\n.data\n2: .quad is_pointed_to"},
    {"jumps_by_a_table_of_distances",
     "lea 2f(%rip), %rax\nmovslq (%rax,%rdi,4), %rcx\nadd %rcx, %rax\njmp *%rax\n1: ret\n.section "
     ".rodata\n"
     "2: .long 1b-2b"},
    {"takes_its_place", "call 1f\n1: pop %rax\nret"},
    {"reads_itself", "mov 1f(%rip), %eax\nret\n1: .long 0xc3c3c3c3"},
    {"holds_an_object", "ret\n.type object_inside, @object\nobject_inside: ret"},
    {"is_entered_by_name",
     "cmp %eax, %ebx\n1: ret\n.set inner, 1b\n.text\n.globl enters\n.type enters, @function\n"
     "enters: jmp inner\n.size enters, .-enters"},
    {"is_entered_by_distance", "cmp %eax, %ebx\n1: ret\n.section .rodata\n.zero 16\n.long 1b-."},
    {"is_entered_by_undecoded_code",
     "cmp %eax, %ebx\n1: ret\n.p2align 7\n.type undecoded, @function\n"
     "undecoded: ret\n.byte 6\njmp 1b\n.size undecoded, .-undecoded"},
};

std::string section_of(const Form& form, bool typed) {
  const std::string name = form.name;
  return ".section .text." + name + ",\"ax\",@progbits\n.p2align 6\n.globl " + name + "\n" +
         (typed ? ".type " + name + ",@function\n" : "") + name + ":\n" + form.code + "\n";
}

TEST_F(PostLink, TakesFunctionsWithoutSizesWhereTheirCodeShowsThem) {
  for (const bool typed : {true, false}) {
    std::ofstream source(folder_ / "b.s");
    for (const Form& form : moving_forms) source << section_of(form, typed);
    for (const Form& form : staying_forms) source << section_of(form, typed);
    source.close();
    const std::string path = link_program("-no-pie -fno-pie " + (folder_ / "b.s").string());
    const auto summary = instrument(path, {});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(validate_file(path), rt::TableError::ok);
    const auto explanation = explain(path);
    ASSERT_TRUE(explanation) << explanation.error().message;
    for (const Form& form : moving_forms) {
      // What nobody calls a function, by a symbol or by doing so, may be data.
      const std::string_view name = form.name;
      const bool moves = typed || name == "loops" || name == "has_a_description";
      EXPECT_EQ(function(*explanation, form.name).pinned == "", moves) << form.name;
    }
    for (const Form& form : staying_forms)
      EXPECT_THAT(function(*explanation, form.name).pinned, HasSubstr("size")) << form.name;
  }
}

TEST_F(PostLink, TakesHiddenSymbolsForFunctions) {
  std::ofstream(folder_ / "b.s")
      << ".globl before, unseen\n.type before, @function\n.hidden unseen\n.p2align 4\n"
         "before: jmp unseen\n.p2align 4\n"
         "unseen: dec %edi\nlabel: jnz label\nret\n";
  const std::string path = link_program((folder_ / "b.s").string());
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  for (const auto& [name, size] : {std::pair{"before", 5u}, {"unseen", 5u}}) {
    EXPECT_EQ(function(*explanation, name).pinned, "") << name;
    EXPECT_EQ(function(*explanation, name).size, size) << name;
  }
}

TEST_F(PostLink, KeepsWhatCodeWithoutASizeEntersNearItsStart) {
  std::ofstream(folder_ / "b.s") << ".globl entered, enters\n.type entered, @function\n.p2align 4\n"
                                    "entered: cmp %eax, %ebx\n1: ret\n.size entered, .-entered\n"
                                    ".p2align 4\nenters: jmp 1b\n";
  const std::string path = link_program((folder_ / "b.s").string());
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  EXPECT_THAT(function(*explanation, "enters").pinned, HasSubstr("size"));
  EXPECT_THAT(function(*explanation, "entered").pinned, HasSubstr("label"));
}

TEST_F(PostLink, KeepsWhatLearnsItsPlaceByACall) {
  const Form forms[] = {{"pops", "call 1f\n1: pop %rax\nret"},
                        {"pops_later",
                         "push %rbx\nxor %eax, %eax\ncall 1f\nud2\n"
                         "1: mov (%rsp), %rax\nadd $8, %rsp\npop %rbx\nret"},
                        {"jumps", "jmp 1f\nud2\n1: ret"},
                        {"calls_itself", "dec %edi\njz 1f\ncall calls_itself\n1: ret"}};
  std::ofstream source(folder_ / "b.s");
  for (const Form& form : forms)
    source << section_of(form, true) << ".size " << form.name << ", .-" << form.name << "\n";
  source.close();
  const std::string path = link_program((folder_ / "b.s").string());
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  for (const char* name : {"pops", "pops_later"})
    EXPECT_THAT(function(*explanation, name).pinned, HasSubstr("where it is")) << name;
  for (const char* name : {"jumps", "calls_itself"})
    EXPECT_EQ(function(*explanation, name).pinned, "") << name;
}

TEST_F(PostLink, CarriesNoDescriptionOfSeveralFunctionsAlong) {
  std::ofstream(folder_ / "b.s") << ".globl first\n.type first, @function\n.globl second\n"
                                    ".type second, @function\nfirst:\n.cfi_startproc\nret\n"
                                    ".p2align 4\nsecond: ret\n.cfi_endproc\n";
  const std::string path = link_program((folder_ / "b.s").string());
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  EXPECT_THAT(function(*explanation, "first").pinned, HasSubstr("unwind"));
  EXPECT_THAT(function(*explanation, "second").pinned, HasSubstr("unwind"));
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
