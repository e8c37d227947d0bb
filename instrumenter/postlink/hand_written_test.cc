// SPDX-License-Identifier: MIT
// Hand-written functions, with sizes or without: which move.
#include <gmock/gmock.h>

#include <ctime>

#include "instrumenter/postlink/test_binary.h"

namespace stab::instrumenter {
namespace {

using testing::HasSubstr;

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

// Go's linker puts its code between two symbols; without them any function may be Go's.
constexpr const char* of_go = R"(
.section .gopclntab, "a"
.quad 0
.text
runtime.text:
.globl inside
.type inside, @function
inside:
  call outside
  ret
.size inside, .-inside
.p2align 4
runtime.etext:
.type outside, @function
outside:
  call puts
  ret
.size outside, .-outside
)";

TEST_F(PostLink, GoCodeStays) {
  Explanation explanation = explain_with(of_go);
  EXPECT_THAT(function(explanation, "inside").pinned, HasSubstr("is Go code"));
  EXPECT_EQ(function(explanation, "outside").pinned, "");
  EXPECT_EQ(function(explanation, "table").pinned, "");
  std::string without_end = of_go;
  without_end.replace(without_end.find("runtime.etext:"), 14, "");
  explanation = explain_with(without_end);
  for (const char* name : {"inside", "outside", "table"})
    EXPECT_THAT(function(explanation, name).pinned, HasSubstr("is Go code")) << name;
  // A program with such a name and nothing of Go.
  explanation = explain_with(
      ".text\n.globl runtime.text\n.type runtime.text, @function\n"
      "runtime.text: ret\n.size runtime.text, .-runtime.text\n");
  EXPECT_EQ(function(explanation, "runtime.text").pinned, "");
}

// A function with an exception table that this personality function of the program reads.
std::string with_personality(const std::string& name, const std::string& encoding,
                             const std::string& place) {
  return fmt::format(R"(
.text
.globl catches
.type catches, @function
catches:
.cfi_startproc
.cfi_personality {1}, {2}
.cfi_lsda 0x1b, .Ltable
  push %rbx
.cfi_adjust_cfa_offset 8
.Lbegin:
  call puts
.Lend:
  pop %rbx
  ret
.Lpad:
  pop %rbx
  ret
.cfi_endproc
.size catches, .-catches
.globl {0}
.type {0}, @function
{0}: ret
.size {0}, .-{0}
.section .gcc_except_table, "a"
.p2align 2
.Ltable:
  .byte 0xff, 0xff, 1
  .uleb128 .Lsites_end - .Lsites
.Lsites:
  .uleb128 .Lbegin - catches
  .uleb128 .Lend - .Lbegin
  .uleb128 .Lpad - catches
  .uleb128 0
.Lsites_end:
.section .data.DW.ref.{0}, "aw"
.p2align 3
DW.ref.{0}: .quad {0}
.section .note.GNU-stack, "", @progbits
)",
                     name, encoding, place);
}

TEST_F(PostLink, ExceptionTablesThatAnUnknownFunctionReadsMakeFunctionsStay) {
  for (const std::string name : {"__gxx_personality_v0", "_R7___rustc17rust_eh_personality",
                                 "__gnat_personality_v0", "__gdc_personality_v0"}) {
    EXPECT_EQ(
        function(explain_with(with_personality(name, "0x9b", "DW.ref." + name)), "catches").pinned,
        "")
        << name;
    EXPECT_EQ(function(explain_with(with_personality(name, "0x1b", name)), "catches").pinned, "")
        << name;
  }
  // compiler-rt, which is linked statically, has a function of the last name.
  for (const std::string name : {"_d_eh_personality", "somebody_else", "__gcc_personality_v0"}) {
    EXPECT_THAT(
        function(explain_with(with_personality(name, "0x9b", "DW.ref." + name)), "catches").pinned,
        HasSubstr("exceptions of a language"))
        << name;
    EXPECT_THAT(function(explain_with(with_personality(name, "0x1b", name)), "catches").pinned,
                HasSubstr("exceptions of a language"))
        << name;
  }
  // The one of libgcc's shared library.
  std::string shared =
      with_personality("__gcc_personality_v0", "0x9b", "DW.ref.__gcc_personality_v0");
  const std::size_t own = shared.find(".globl __gcc");
  shared.erase(own, shared.find(".section .gcc_except_table") - own);
  EXPECT_EQ(function(explain_with(shared), "catches").pinned, "");
}

// A program may read its code through the names of the code's bounds. Our runtime uses one, too.
TEST_F(PostLink, NamesOfTheCodesBoundsAreInTheSummary) {
  const auto bounds_in = [&](const std::string& code) {
    std::ofstream(folder_ / "b.s") << ".text\n.globl reads\n.type reads, @function\nreads:\n"
                                   << code << "ret\n.size reads, .-reads\n";
    const auto summary = instrument(link_program((folder_ / "b.s").string()), {});
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? summary->code_bounds : std::vector<std::string>{};
  };
  EXPECT_THAT(bounds_in(""), testing::IsEmpty());
  EXPECT_THAT(bounds_in("lea etext(%rip), %rax\nlea etext(%rip), %rcx\n"),
              testing::ElementsAre("etext"));
  EXPECT_THAT(bounds_in("mov __ehdr_start@GOTPCREL(%rip), %rax\nlea _etext(%rip), %rcx\n"),
              testing::ElementsAre("__ehdr_start", "_etext"));
  EXPECT_THAT(bounds_in("lea __executable_start(%rip), %rax\n"),
              testing::ElementsAre("__executable_start"));
  EXPECT_THAT(bounds_in(".data\n.globl etext\n.type etext, @object\n.size etext, 8\n"
                        "etext: .quad 0\n.text\nlea etext(%rip), %rax\n"),
              testing::IsEmpty());
}

// Bytes of code that instructions read, and the bounds of a section with code.
constexpr const char* bytes_of_code = R"(
.section .text.reads, "ax"
.globl reads
.type reads, @function
reads:
  mov is_read(%rip), %rax
  movzbl is_read_behind_its_entry+9(%rip), %ecx
  ret
.size reads, .-reads
.section .text.is_read, "ax"
.p2align 4
.globl is_read
.type is_read, @function
is_read: ret
.size is_read, .-is_read
.section .text.behind, "ax"
.p2align 4
.globl is_read_behind_its_entry
.type is_read_behind_its_entry, @function
is_read_behind_its_entry:
  mov $0x123456789abcdef, %rax
  ret
.size is_read_behind_its_entry, .-is_read_behind_its_entry
.section of_bounds, "ax"
.p2align 4
.globl first
.type first, @function
first: ret
.size first, .-first
.p2align 4
.globl second
.type second, @function
second: ret
.size second, .-second
.section .text.asks, "ax"
.globl asks
.type asks, @function
asks:
  lea __start_of_bounds(%rip), %rax
  lea __stop_of_bounds(%rip), %rcx
  ret
.size asks, .-asks
)";

TEST_F(PostLink, FunctionsWhoseBytesAreUsedStay) {
  const Explanation explanation = explain_with(bytes_of_code);
  for (const char* name : {"is_read", "second"})
    EXPECT_THAT(function(explanation, name).pinned, HasSubstr("bytes or address range")) << name;
  EXPECT_NE(function(explanation, "first").pinned, "");
  for (const char* name : {"reads", "is_read_behind_its_entry", "asks"})
    EXPECT_EQ(function(explanation, name).pinned, "") << name;
}

// Many functions that take two addresses, and as `last` they use the distance or only the second.
std::string takers_of_addresses(const char* last) {
  constexpr int count = 40000;
  std::string code = ".text\n";
  for (int i = 0; i < count; ++i)
    code += fmt::format(
        ".type taker_{0}, @function\n.p2align 4\ntaker_{0}:\nlea taker_0(%rip), %rax\n"
        "lea taker_{1}(%rip), %rcx\n{2}\nret\n.size taker_{0}, .-taker_{0}\n",
        i, count - 1, last);
  return code;
}

TEST_F(PostLink, ManyRangesThatOverlapCostLittleMore) {
  const auto seconds = [this](const char* last) {
    std::ofstream(folder_ / "b.s") << takers_of_addresses(last);
    const std::string path = link_program((folder_ / "b.s").string());
    const std::clock_t before = std::clock();
    const auto summary = instrument(path, {});
    const std::clock_t after = std::clock();
    EXPECT_TRUE(summary) << summary.error().message;
    const auto explanation = explain(path);
    const bool stays = function(*explanation, "taker_7").pinned.contains("address range");
    EXPECT_EQ(stays, std::string_view(last).starts_with("sub"));
    return static_cast<double>(after - before) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds("sub %rax, %rcx"), 4 * seconds("mov %rax, %rdx"));
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
    EXPECT_THAT(function(*explanation, name).pinned, HasSubstr("to read its own address")) << name;
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

std::string sized(const std::string& name, const std::string& code) {
  return section_of({name.c_str(), code.c_str()}, true) + ".size " + name + ", .-" + name + "\n";
}

TEST_F(PostLink, KeepsWhatUndecodedCodeMayEnterNearItsStart) {
  const std::string code = ".p2align 6\n" + sized("entered", "cmp %eax, %ebx\n1: ret") +
                           sized("holds_a_byte", ".byte 6\njmp 1b") +
                           sized("is_far", "nop\n.p2align 4\n2: ret") +
                           sized("holds_one_too", ".byte 6\njmp 2b");
  const Explanation explanation = explain_with(code);
  EXPECT_THAT(function(explanation, "holds_a_byte").pinned,
              HasSubstr("do not form a valid instruction"));
  EXPECT_THAT(function(explanation, "entered").pinned, HasSubstr("label"));
  EXPECT_EQ(function(explanation, "is_far").pinned, "");
}

// Behind the last call, which never returns, the linker leaves nothing. So the jump to there is
// never reached, unless other code begins there.
TEST_F(PostLink, AJumpToTheEndIsNoSwitchOfStacksIfNothingBeginsThere) {
  const std::string code =
      "push %rbx\nmov %rsp, %rcx\nsub %rdi, %rsp\ntest %esi, %esi\nje 1f\ntest %edx, %edx\n"
      "je 2f\nmov %rcx, %rsp\npop %rbx\nret\n1: call abort\n2:";
  std::string with_name = code;
  with_name.replace(with_name.find("2f"), 2, "name_of_the_end");
  with_name += "\n.globl name_of_the_end\nname_of_the_end:";
  const Explanation explanation = explain_with(
      sized("nothing_behind", code) + sized("function_behind", code) +
      ".type next, @function\nnext: ret\n.size next, .-next\n" + sized("code_behind", code) +
      "mov $1, %eax\nret\n" + sized("end_by_name", with_name));
  std::vector<std::string> names;
  for (const ExplainedKeeper& keeper : explanation.keepers) names.push_back(keeper.name);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("function_behind", "code_behind", "end_by_name"));
}

// Whether the runtime will write a jump over the entry of this function.
bool overwrites_entry(const std::string& path, std::string_view name) {
  const auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  const auto table = file->contents(*file->section(abi::table_section));
  abi::Header header{};
  std::memcpy(&header, table.data(), sizeof header);
  for (std::uint32_t i = 0; i < header.functions.count; ++i) {
    abi::Function found{};
    std::memcpy(&found, table.data() + header.functions.offset + i * sizeof found, sizeof found);
    const auto names = table.subspan(header.names.offset);
    if (reinterpret_cast<const char*>(names.data() + found.name) == name)
      return (found.flags & abi::function_keeps_entry) == 0;
  }
  return false;
}

TEST_F(PostLink, OverwritesNoCodeBehindATinyFunction) {
  // Each but the first two runs on in code that no symbol names.
  const Form forms[] = {{"alone", ".size alone, 1\nret"},
                        {"padded", ".size padded, 1\nret\n.byte 0xcc, 0x66, 0x90, 0, 0, 0, 0"},
                        {"before_code", ".size before_code, 1\nret\n1: mov $1, %eax\nret"},
                        {"before_data", ".size before_data, 1\nret\nnop\n.byte 6, 7"},
                        {"is_entered_behind",
                         ".size is_entered_behind, 1\nret\n1: nop\nnop\n"
                         ".p2align 4\nnop\nret\n.p2align 4\n.globl enters\n"
                         ".type enters, @function\nenters: jmp 1b\n.size enters, .-enters"}};
  std::string code;
  for (const Form& form : forms) code += section_of(form, true);
  const std::string path = (folder_ / "a.out").string();
  const Explanation explanation = explain_with(code);
  for (const auto& [name, overwritten] :
       {std::pair{"alone", true}, {"padded", true}, {"before_code", false}, {"before_data", false}})
    EXPECT_EQ(overwrites_entry(path, name), overwritten) << name;
  EXPECT_THAT(function(explanation, "is_entered_behind").pinned, HasSubstr("label"));
}

// A label whose address is used is more than a place to jump to.
TEST_F(PostLink, KeepsSizedFunctionsWhoseLabelsAreNotOnlyJumpedTo) {
  const Form moving[] = {
      {"jumps_to_a_name", "dec %edi\njz inner_name\nnop\ninner_name: ret"},
      {"jumps_by_a_table", "jmp *2f(,%rdi,8)\n1: ret\n.data\n2: .quad 1b\n.previous"},
      {"is_called_by_pointer", "ret\n.data\n.quad is_called_by_pointer\n.previous"},
      {"jumps_by_its_label", "lea 1f(%rip), %rax\njmp *%rax\n1: ret"}};
  const Form staying[] = {
      {"has_a_global_label",
       "nop\n.globl fault_1\nfault_1: mov (%rdi), %eax\nret\n"
       ".data\n.quad fault_1\n.previous"},
      {"faults_at_once", "fault_2: mov (%rdi), %eax\nret\n.data\n.quad fault_2\n.previous"},
      {"is_a_range_by_names", "ret\nend_3:\n.data\n.quad end_3\n.previous"},
      {"has_a_list_of_faults", "mov (%rdi), %eax\n1: ret\n.data\n.quad 1b\n.previous"},
      {"has_a_list_of_distances",
       "mov (%rdi), %eax\n1: ret\n.section of_faults, \"a\"\n.long 1b-.\n.previous"},
      {"is_a_range", "ret\n1:\n.data\n.quad 1b\n.previous"},
      {"exports_a_label", "nop\n.globl exported_5\n.protected exported_5\nexported_5: ret"}};
  std::string code;
  for (const Form& form : moving) code += sized(form.name, form.code);
  for (const Form& form : staying) code += sized(form.name, form.code);
  code += section_of({"is_a_padded_range",
                      "ret\n.size is_a_padded_range, 1\n.p2align 4\nend_4:\n"
                      ".data\n.quad end_4\n.previous"},
                     true) +
          sized("last", "ret") + sized("compares", "lea fault_6(%rip), %rax\nret") +
          ".globl compared\n.type compared, @function\n.p2align 4\ncompared: nop\n"
          "fault_6: mov (%rdi), %eax\nret\n.size compared, .-compared\n";
  const Explanation explanation = explain_with(code, "-no-pie -fno-pie -rdynamic");
  for (const Form& form : moving)
    EXPECT_EQ(function(explanation, form.name).pinned, "") << form.name;
  for (const Form& form : staying)
    EXPECT_THAT(function(explanation, form.name).pinned, HasSubstr("label")) << form.name;
  for (const char* name : {"is_a_padded_range", "compared"})
    EXPECT_THAT(function(explanation, name).pinned, HasSubstr("label")) << name;
}

// What such a function calls may return behind data that looks like code, or never.
TEST_F(PostLink, KeepsWhoCallsWhatTakesItsReturnAddress) {
  const char* const takers[] = {
      "pop %rsi\nlodsl\njmp *%rsi",
      "addq $4, (%rsp)\nret",
      "push %rbx\nmov 8(%rsp), %rax\nmov (%rax), %ebx\npop %rbx\nret",
      "push %rbp\nmov %rsp, %rbp\nmov 8(%rbp), %rdi\nmov (%rdi), %eax\nhlt",
      "mov (%rsp), %rbx\nret",
      "xchg (%rsp), %rsi\nret",
      "mov (%rsp), %rax\nlea 4(%rax), %rcx\njmp *%rcx"};
  const char* const others[] = {
      "push %rbx\npop %rbx\nret",
      "mov 8(%rsp), %rax\nmov (%rax), %eax\nret",
      "sub $8, %rsp\nmov (%rsp), %rax\nmov (%rax), %eax\nadd $8, %rsp\nret",
      "lock orq $0, (%rsp)\nret",
      "mov (%rsp), %rax\nnopl (%rax)\nret",
      "mov (%rsp), %rdi\nmov -5(%rdi), %eax\njmp puts"};
  std::string code;
  int count = 0;
  const auto add = [&](const char* kind, const char* callee) {
    const std::string number = std::to_string(count++);
    code += sized("callee_" + number, callee) +
            sized(kind + number, "call callee_" + number + "\nxor $1, %eax\nret");
  };
  for (const char* taker : takers) add("stays_", taker);
  for (const char* other : others) add("moves_", other);
  const Explanation explanation = explain_with(code);
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    if (i < static_cast<int>(std::size(takers)))
      EXPECT_THAT(function(explanation, "stays_" + number).pinned, HasSubstr("data")) << takers[i];
    else
      EXPECT_EQ(function(explanation, "moves_" + number).pinned, "") << number;
  }
}

// The address comes from a word of the linker's table, or from an instruction that lld made of it.
TEST_F(PostLink, FunctionsWhoseBytesAreUsedThroughTheLinkersTableStay) {
  const Form staying[] = {
      {"is_read", "mov is_read@GOTPCREL(%rip), %rsi\nmovups (%rsi), %xmm0\nret"},
      {"is_copied", "mov is_copied@GOTPCREL(%rip), %rsi\njmp *memcpy@GOTPCREL(%rip)"},
      {"is_before", "cmp is_before@GOTPCREL(%rip), %rdi\njb 1f\nnop\n1: ret"},
      {"is_subtracted", "sub is_subtracted@GOTPCREL(%rip), %rdi\nmov %rdi, %rax\nret"},
      {"is_chosen",
       "mov puts@GOTPCREL(%rip), %rsi\ntest %edi, %edi\n"
       "cmovne is_chosen@GOTPCREL(%rip), %rsi\nmovzbl (%rsi), %eax\nret"},
      {"is_masked", "mov $-4096, %rax\nand is_masked@GOTPCREL(%rip), %rax\nret"},
      {"has_an_alias",
       ".globl the_alias_of_it\n.set the_alias_of_it, has_an_alias\n"
       "mov the_alias_of_it@GOTPCREL(%rip), %rsi\nmovups (%rsi), %xmm0\nret"},
      {"is_in_an_unknown_table", "movabs $is_in_an_unknown_table@GOT, %rax\nret"},
      {"is_in_an_unknown_place", "movabs $is_in_an_unknown_place@GOTOFF, %rax\nret"}};
  const Form moving[] = {
      {"is_called", "sub $8, %rsp\ncall *is_called@GOTPCREL(%rip)\nadd $8, %rsp\nret"},
      {"is_jumped_to", "jmp *is_jumped_to@GOTPCREL(%rip)"},
      {"is_stored", "mov is_stored@GOTPCREL(%rip), %rax\nmov %rax, (%rdi)\nret"},
      {"is_equal", "cmp is_equal@GOTPCREL(%rip), %rdi\nsete %al\nret"},
      {"is_passed_on", "mov is_passed_on@GOTPCREL(%rip), %rdi\njmp puts"}};
  std::string code;
  for (const Form& form : staying)
    code += sized(form.name, "ret") + sized(std::string("user_of_") + form.name, form.code);
  for (const Form& form : moving)
    code += sized(form.name, "ret") + sized(std::string("user_of_") + form.name, form.code);
  for (const char* flags : {"-Wl,--no-relax", "", "-no-pie -fno-pie", "-rdynamic"}) {
    const Explanation explanation = explain_with(code, flags);
    for (const Form& form : staying)
      EXPECT_THAT(function(explanation, form.name).pinned, HasSubstr("bytes or address range"))
          << form.name << " " << flags;
    for (const Form& form : moving)
      EXPECT_EQ(function(explanation, form.name).pinned, "") << form.name << " " << flags;
  }
}

// If the program defines memcpy itself, lld replaces the jump through the table by a direct jump,
// which is one byte shorter.
TEST_F(PostLink, AFunctionThatTheProgramsOwnMemcpyCopiesStays) {
  const std::string code =
      sized("memcpy", "ret") + sized("is_copied", "ret") +
      sized("user_of_is_copied", "mov is_copied@GOTPCREL(%rip), %rsi\njmp *memcpy@GOTPCREL(%rip)") +
      sized("is_passed_on", "ret") +
      sized("user_of_is_passed_on",
            "mov is_passed_on@GOTPCREL(%rip), %rsi\njmp *is_copied@GOTPCREL(%rip)");
  for (const char* flags : {"-Wl,--no-relax", "", "-no-pie -fno-pie", "-rdynamic"}) {
    const Explanation explanation = explain_with(code, flags);
    EXPECT_THAT(function(explanation, "is_copied").pinned, HasSubstr("bytes or address range"))
        << flags;
    EXPECT_EQ(function(explanation, "is_passed_on").pinned, "") << flags;
  }
}

}  // namespace
}  // namespace stab::instrumenter
