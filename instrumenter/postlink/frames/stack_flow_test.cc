// SPDX-License-Identifier: MIT
// The way of the stack pointer, and what frame descriptions say, in functions of assembly.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frame_numbers.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;
using testing::AnyOf;
using testing::ElementsAre;

class StackFlow : public testing::Test {
 protected:
  StackFlow() {
    std::string name = (std::filesystem::temp_directory_path() / "stack-flow-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~StackFlow() override { std::filesystem::remove_all(folder_); }

  // Reads the function `f` of this assembly, and its part `f.cold` if there is one. Statements end
  // with `;`.
  void read(const std::string& assembly, const std::string& part) {
    std::ofstream file(folder_ / "a.s");
    file << ".text\n.globl f\n.type f,@function\nf: .cfi_startproc\n"
         << assembly << "\n.cfi_endproc\n.size f,.-f\n";
    if (!part.empty())
      file << ".section .text.cold,\"ax\",@progbits\n.skip 32,0xcc\n.type "
              "f.cold,@function\nf.cold: .cfi_startproc\n"
           << part << "\n.cfi_endproc\n.size f.cold,.-f.cold\n";
    file.close();
    const std::string output = (folder_ / "a.so").string();
    const std::string command = fmt::format("clang-22 -nostdlib -shared -fuse-ld=lld {} -o {}",
                                            (folder_ / "a.s").string(), output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    auto bytes = read_file(output, std::size_t{1} << 20);
    ASSERT_TRUE(bytes);
    auto parsed = ElfFile::parse(std::move(*bytes));
    ASSERT_TRUE(parsed);
    file_.emplace(std::move(*parsed));
    program_ = {};
    program_.file = &*file_;
    find_functions(program_);
    read_frames(program_);
    EXPECT_EQ(program_.functions.size(), part.empty() ? 1u : 2u);
    functions_.clear();
    for (Function& function : program_.functions) functions_.push_back(&function);
  }

  FrameFlow follow(const std::string& assembly, const std::string& part = "") {
    read(assembly, part);
    const FrameCode code(program_, functions_);
    cfa_ = code.parts.front().cfa;
    return follow_frame(code);
  }

  // Returns why the frame cannot grow. If it can, `f` and its part have pads then.
  PadReason pad(const std::string& assembly, const std::string& part = "") {
    read(assembly, part);
    FrameNumbers numbers(program_, functions_, abi::pad_unit);
    if (const PadReason reason = numbers.follow(); reason != PadReason::none) return reason;
    if (const PadReason reason = numbers.choose(); reason != PadReason::none) return reason;
    return numbers.set_pad(numbers.room());
  }

  // The values of the chosen numbers in a description.
  [[nodiscard]] std::vector<unsigned> described(const Function& function) const {
    std::vector<unsigned> values;
    for (const std::uint32_t field : function.pad.description_fields) {
      EXPECT_EQ(abi::description_width(field), 1u);
      values.push_back(
          program_.file->at(function.frame.fde + abi::description_offset(field), 1).front());
    }
    return values;
  }

  std::optional<ElfFile> file_;
  Program program_;
  std::vector<Function*> functions_;  // `f` first
  CfaTable cfa_;
  std::filesystem::path folder_;
};

struct Field {
  std::uint32_t place;
  std::uint8_t width;
  std::int64_t value;
  std::size_t part = 0;
  friend bool operator==(const SizeField& a, const Field& b) {
    return a.place == b.place && a.width == b.width && a.value == b.value && a.part == b.part;
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
const std::string frame_or_pushes =
    "test %edi,%edi; je 1f; sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax; "
    "add $8,%rsp; .cfi_def_cfa_offset 8; ret; 1: push %rax; .cfi_def_cfa_offset 16; "
    "push %rax; .cfi_def_cfa_offset 24; push %rax; .cfi_def_cfa_offset 32; "
    "call *%rax; pop %rcx; .cfi_def_cfa_offset 24; pop %rcx; "
    ".cfi_def_cfa_offset 16; pop %rcx; .cfi_def_cfa_offset 8; ret";

TEST_F(StackFlow, OnlyTheNumbersOfTheFrameGrow) {
  EXPECT_EQ(pad(frame_or_pushes), PadReason::none);
  EXPECT_THAT(described(*functions_.front()), ElementsAre(16));
  EXPECT_EQ(functions_.front()->pad.above, 0) << "something lies there while the frame is not made";
  // Without the pushes, the place of the pad is known.
  EXPECT_EQ(pad("sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax; add $8,%rsp; "
                ".cfi_def_cfa_offset 8; ret"),
            PadReason::none);
  EXPECT_EQ(functions_.front()->pad.above, 8);
}

// Only the distance could tell where a jump through a table finds the stack pointer.
TEST_F(StackFlow, ADistanceMustTellWhetherTheFrameIsThere) {
  EXPECT_EQ(follow(frame_or_pushes + "; 2: .cfi_def_cfa_offset 16; call *%rax").reason,
            PadReason::none);
  EXPECT_EQ(follow("test %esi,%esi; je 3f; sub $8,%rsp; .cfi_def_cfa_offset 16; jmp *%rdx; "
                   "3: .cfi_def_cfa_offset 8; " +
                   frame_or_pushes)
                .reason,
            PadReason::description);
}

// A number must not hold both where the frame is there and where something else is pushed.
TEST_F(StackFlow, ANumberHasOneMeaning) {
  EXPECT_EQ(pad("test %edi,%edi; je 1f; sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax; jmp 2f; "
                "1: .cfi_def_cfa_offset 8; push %rax; .cfi_remember_state; .cfi_def_cfa_offset 16; "
                "call *%rax; pop %rcx; .cfi_restore_state; ret; "
                "2: .cfi_def_cfa_offset 16; add $8,%rsp; .cfi_def_cfa_offset 8; ret"),
            PadReason::none);
  EXPECT_THAT(described(*functions_.front()), ElementsAre(16, 16));
  EXPECT_EQ(pad("test %edi,%edi; je 1f; sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax; jmp 2f; "
                "3: call *%rax; pop %rcx; .cfi_def_cfa_offset 8; ret; "
                "1: push %rax; .cfi_def_cfa_offset 16; jmp 3b; "
                "2: add $8,%rsp; .cfi_def_cfa_offset 8; ret"),
            PadReason::description);
}

// No row may begin within an instruction: unwinders ask for the last byte of a call.
TEST_F(StackFlow, ARowBeginsWithAnInstruction) {
  const std::string begin = "sub $8,%rsp; .cfi_def_cfa_offset 16; ";
  const std::string end = "add $8,%rsp; .cfi_def_cfa_offset 8; ret";
  EXPECT_EQ(pad(begin + ".byte 0xff,0xd0; .cfi_def_cfa_offset 16; " + end), PadReason::none);
  EXPECT_EQ(pad(begin + ".byte 0xff; .cfi_def_cfa_offset 16; .byte 0xd0; " + end),
            PadReason::description);
}

const std::string make_frame =
    "push %rbx; .cfi_def_cfa_offset 16; .cfi_offset %rbx,-16; sub $24,%rsp; "
    ".cfi_def_cfa_offset 40; ";
const std::string drop_frame =
    "add $24,%rsp; .cfi_def_cfa_offset 16; pop %rbx; .cfi_def_cfa_offset 8; ret";
const std::string splits = make_frame + "test %edi,%edi; jne f.cold; call *%rax; 1: " + drop_frame;
const std::string in_frame = ".cfi_def_cfa_offset 40; .cfi_offset %rbx,-16; ";

TEST_F(StackFlow, GoesThroughAPart) {
  const FrameFlow ends = follow(splits, in_frame + "call *%rax");
  EXPECT_EQ(ends.reason, PadReason::none);
  EXPECT_THAT(ends.fields, ElementsAre(Field{4, 1, 24}, Field{18, 1, 24}));
  EXPECT_THAT(ends.below_entry, ElementsAre(0, 8, 32, 32, 32, 32, 8, 0, 32));
  const FrameFlow comes_back = follow(splits, in_frame + "call *%rax; jmp 1b");
  EXPECT_EQ(comes_back.reason, PadReason::none);
  EXPECT_THAT(comes_back.fields, ElementsAre(Field{4, 1, 24}, Field{18, 1, 24}));
  const FrameFlow returns = follow(splits, in_frame + "call *%rax; " + drop_frame);
  EXPECT_EQ(returns.reason, PadReason::none);
  EXPECT_THAT(returns.fields,
              testing::UnorderedElementsAre(Field{4, 1, 24}, Field{18, 1, 24}, Field{5, 1, 24, 1}));
  EXPECT_EQ(follow(splits, in_frame + "call *%rax; add $24,%rsp; .cfi_def_cfa_offset 16; "
                                      "pop %rbx; .cfi_def_cfa_offset 8; jmp *%rax")
                .reason,
            PadReason::none);
  // A part may have several blocks, and other states of the stack pointer.
  EXPECT_EQ(follow("test %esi,%esi; je f.cold; " + make_frame + "jmp 2f; 3: " + drop_frame,
                   "push %rax; .cfi_def_cfa_offset 16; call *%rax; 2: .cfi_def_cfa_offset 40; "
                   ".cfi_offset %rbx,-16; call *%rax; jmp 3b")
                .reason,
            PadReason::none);
}

TEST_F(StackFlow, APartIsPaddedWithItsFunction) {
  EXPECT_EQ(pad(splits, in_frame +
                            "push %rax; .cfi_def_cfa_offset 48; call *%rax; pop %rcx; "
                            ".cfi_def_cfa_offset 40; " +
                            drop_frame),
            PadReason::none);
  const StackPad& whole = functions_[0]->pad;
  const StackPad& part = functions_[1]->pad;
  EXPECT_EQ(whole.most, 64u);  // 48 and a pad are at most 127
  EXPECT_EQ(part.most, whole.most);
  EXPECT_EQ(part.step, whole.step);
  EXPECT_EQ(whole.above, 16);
  EXPECT_EQ(part.above, whole.above);
  EXPECT_THAT(whole.code_fields, ElementsAre(abi::code_field(4, 1), abi::code_field(18, 1)));
  EXPECT_THAT(part.code_fields, ElementsAre(abi::code_field(7, 1)));
  EXPECT_THAT(described(*functions_[0]), ElementsAre(40));
  EXPECT_THAT(described(*functions_[1]), ElementsAre(40, 48, 40));
}

TEST_F(StackFlow, APartMustBeUnderstood) {
  // It has no description, or another one than the jump.
  EXPECT_EQ(pad(splits, ".cfi_endproc; call *%rax; .cfi_startproc"), PadReason::parts);
  EXPECT_EQ(follow(splits, "call *%rax").reason, PadReason::description);
  EXPECT_EQ(follow(splits, ".cfi_def_cfa_offset 48; call *%rax").reason, PadReason::description);
  // The stack pointer has two values at its beginning.
  EXPECT_THAT(follow("test %esi,%esi; je f.cold; " + splits, in_frame + "call *%rax").reason,
              AnyOf(PadReason::unclear_flow, PadReason::description));
  // It runs past its end, or a jump leads into the middle of an instruction.
  EXPECT_EQ(follow(splits, in_frame + "call *%rax; mov %eax,%ecx").reason, PadReason::unclear_flow);
  EXPECT_EQ(follow(make_frame + "test %edi,%edi; jne f.cold+1; call *%rax; " + drop_frame,
                   in_frame + "call *%rax")
                .reason,
            PadReason::unclear_flow);
  // It leaves with the frame, or without a part of it.
  EXPECT_EQ(follow(splits, in_frame + "jmp elsewhere").reason, PadReason::unclear_flow);
  EXPECT_EQ(follow(splits, in_frame + "ret").reason, PadReason::unclear_flow);
  EXPECT_EQ(follow(splits, in_frame + "add $16,%rsp; .cfi_def_cfa_offset 24; call *%rax").reason,
            PadReason::unclear_stack);
  // Its frame has another size.
  EXPECT_EQ(follow("test %esi,%esi; je f.cold; " + make_frame + "call *%rax; " + drop_frame,
                   "sub $8,%rsp; .cfi_def_cfa_offset 16; call *%rax")
                .reason,
            PadReason::unclear_stack);
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
