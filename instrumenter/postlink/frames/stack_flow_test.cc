// SPDX-License-Identifier: MIT
// The way of the stack pointer, and what frame descriptions say, in functions of assembly.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;
using testing::ElementsAre;

class StackFlow : public testing::Test {
 protected:
  StackFlow() {
    std::string name = (std::filesystem::temp_directory_path() / "stack-flow-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~StackFlow() override { std::filesystem::remove_all(folder_); }

  // Follows a function of this assembly. Statements end with `;`.
  FrameFlow follow(const std::string& assembly) {
    std::ofstream(folder_ / "a.s") << ".text\n.globl f\n.type f,@function\nf: .cfi_startproc\n"
                                   << assembly << "\n.cfi_endproc\n.size f,.-f\n";
    const std::string output = (folder_ / "a.so").string();
    const std::string command = fmt::format("clang-22 -nostdlib -shared -fuse-ld=lld {} -o {}",
                                            (folder_ / "a.s").string(), output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    auto bytes = read_file(output, std::size_t{1} << 20);
    EXPECT_TRUE(bytes);
    const auto file = ElfFile::parse(std::move(*bytes));
    EXPECT_TRUE(file);
    Program program;
    program.file = &*file;
    find_functions(program);
    read_frames(program);
    EXPECT_EQ(program.functions.size(), 1u);
    const Function& function = program.functions.front();
    cfa_ = read_cfa(program, function);
    return follow_frame(read_instructions(function.code, function.start), function, cfa_);
  }

  CfaTable cfa_;
  std::filesystem::path folder_;
};

struct Field {
  std::uint32_t place;
  std::uint8_t width;
  std::int64_t value;
  friend bool operator==(const SizeField& a, const Field& b) {
    return a.place == b.place && a.width == b.width && a.value == b.value;
  }
};

TEST_F(StackFlow, FindsNumbersOfBothWidths) {
  const FrameFlow small = follow(
      "sub $24,%rsp; .cfi_def_cfa_offset 32; call *%rax; add $24,%rsp; .cfi_def_cfa_offset 8; ret");
  EXPECT_EQ(small.reason, PadReason::none);
  EXPECT_EQ(small.size, 24);
  EXPECT_THAT(small.fields, ElementsAre(Field{3, 1, 24}, Field{9, 1, 24}));
  EXPECT_THAT(small.below_entry, ElementsAre(0, 24, 24, 0));
  const FrameFlow large = follow(
      "push %rbx; .cfi_def_cfa_offset 16; .cfi_offset %rbx,-16; sub $0x98,%rsp; "
      ".cfi_def_cfa_offset 168; call *%rax; lea 0x98(%rsp),%rsp; .cfi_def_cfa_offset 16; pop %rbx; "
      ".cfi_def_cfa_offset 8; ret");
  EXPECT_EQ(large.reason, PadReason::none);
  EXPECT_EQ(large.upper, 8);
  EXPECT_THAT(large.fields, ElementsAre(Field{4, 4, 0x98}, Field{14, 4, 0x98}));
}

// Pushed arguments go away together with the frame.
TEST_F(StackFlow, KeepsTheValueOfEachField) {
  const FrameFlow flow = follow(
      "sub $24,%rsp; .cfi_def_cfa_offset 32; push %rax; .cfi_def_cfa_offset 40; push %rax; "
      ".cfi_def_cfa_offset 48; call *%rax; add $40,%rsp; .cfi_def_cfa_offset 8; ret");
  EXPECT_EQ(flow.reason, PadReason::none);
  EXPECT_THAT(flow.fields, ElementsAre(Field{3, 1, 24}, Field{11, 1, 40}));
}

// Compilers write 128 as -128, because that fits in 8 bits.
TEST_F(StackFlow, ANumberThatWouldHaveToShrinkIsNoSize) {
  EXPECT_EQ(follow("add $-128,%rsp; .cfi_def_cfa_offset 136; call *%rax; sub $-128,%rsp; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::no_number);
  EXPECT_EQ(follow("add $-0x98,%rsp; .cfi_def_cfa_offset 160; call *%rax; add $0x98,%rsp; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::no_number);
  EXPECT_EQ(follow("sub $0x98,%rsp; .cfi_def_cfa_offset 160; call *%rax; sub $-0x98,%rsp; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::no_number);
  EXPECT_EQ(follow("lea -24(%rsp),%rsp; .cfi_def_cfa_offset 32; call *%rax; add $24,%rsp; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::no_number);
}

TEST_F(StackFlow, APushIsNoFrame) {
  EXPECT_NE(follow("push %rax; .cfi_def_cfa_offset 16; call *%rax; add $8,%rsp; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::none);
  EXPECT_EQ(follow("push %rax; .cfi_def_cfa_offset 16; call *%rax; pop %rcx; "
                   ".cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::no_number);
}

// Outside of the frame, more is pushed than a frame has above it: the same distance from the CFA
// means a place in the frame elsewhere.
TEST_F(StackFlow, ADistanceMustTellWhetherTheFrameIsThere) {
  EXPECT_EQ(follow("test %edi,%edi; je 1f; sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax; "
                   "add $8,%rsp; .cfi_def_cfa_offset 8; ret; 1: push %rax; .cfi_def_cfa_offset 16; "
                   "push %rax; .cfi_def_cfa_offset 24; push %rax; .cfi_def_cfa_offset 32; "
                   "call *%rax; pop %rcx; .cfi_def_cfa_offset 24; pop %rcx; "
                   ".cfi_def_cfa_offset 16; pop %rcx; .cfi_def_cfa_offset 8; ret")
                .reason,
            PadReason::description);
}

TEST_F(StackFlow, AnAllocatedPartVaries) {
  const std::string begin =
      "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp,-16; mov %rsp,%rbp; "
      ".cfi_def_cfa_register %rbp; sub $24,%rsp; ";
  const std::string end = "call *%rax; leave; .cfi_def_cfa %rsp,8; ret";
  const FrameFlow fixed = follow(begin + end);
  EXPECT_EQ(fixed.reason, PadReason::none);
  EXPECT_EQ(fixed.shape, FrameShape::framed);
  EXPECT_FALSE(fixed.varies);
  const FrameFlow variable = follow(begin + "mov %rsp,%rcx; sub %rdi,%rcx; mov %rcx,%rsp; " + end);
  EXPECT_EQ(variable.reason, PadReason::none);
  EXPECT_TRUE(variable.varies);
}

TEST_F(StackFlow, DescriptionsTellHowDeepRegistersAreSaved) {
  const std::string grow = "push %rbx; .cfi_def_cfa_offset 16; .cfi_offset %rbx,-16; ";
  const std::string shrink = "pop %rbx; .cfi_def_cfa_offset 8; ret";
  follow(grow + "call *%rax; " + shrink);
  EXPECT_EQ(cfa_.deepest, 16);
  EXPECT_FALSE(cfa_.has_expressions);
  follow(grow + ".cfi_offset %r12,-40; call *%rax; " + shrink);
  EXPECT_EQ(cfa_.deepest, 40);
  follow(grow + ".cfi_offset %r12,16; call *%rax; " + shrink);
  EXPECT_TRUE(cfa_.has_expressions);
  // DW_CFA_expression: rbx at rsp + 8. DW_CFA_def_cfa_expression: rsp + 16.
  for (const char* expression : {"0x10,3,2,0x77,8", "0x16,3,2,0x77,8", "0x0f,2,0x77,16"}) {
    follow(grow + ".cfi_escape " + expression + "; call *%rax; " + shrink);
    EXPECT_TRUE(cfa_.has_expressions) << expression;
  }
}

}  // namespace
}  // namespace stab::instrumenter
