// SPDX-License-Identifier: MIT
// Functions that another compiler split: gcc puts blocks that rarely run into a part of their own
// (`.cold`). The function and the part have the same pad, or neither has one.
#include <gmock/gmock.h>

#include "instrumenter/postlink/test_binary.h"

namespace stab::instrumenter {
namespace {

using testing::HasSubstr;

// A function with a frame of 24 bytes, at a place that is `behind` a multiple of 16.
std::string whole_function(const std::string& name, const std::string& body, unsigned behind = 0) {
  return fmt::format(R"(
.section .text.{0}, "ax", @progbits
.p2align 4
.skip {2}, 0x90
.globl {0}
.type {0}, @function
{0}: .cfi_startproc
  sub $24, %rsp
  .cfi_def_cfa_offset 32
  {1}
.Lback_{0}:
  add $24, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
.size {0}, .-{0}
)",
                     name, body, behind);
}

// A part that begins in this frame.
std::string part_of(const std::string& name, const std::string& body, unsigned behind = 0) {
  return fmt::format(R"(
.section .text.unlikely.{0}, "ax", @progbits
.p2align 4
.skip {2}, 0x90
.type {0}.cold, @function
{0}.cold: .cfi_startproc
  .cfi_def_cfa_offset 32
  {1}
  .cfi_endproc
.size {0}.cold, .-{0}.cold
)",
                     name, body, behind);
}

constexpr const char* note = ".section .note.GNU-stack, \"\", @progbits\n";
constexpr const char* jumps = "test %edi, %edi; jne split.cold; call puts";
constexpr const char* comes_back = "call puts; jmp .Lback_split";
constexpr const char* goes_to_labels =
    "lea .Ltable(%rip), %rax; jmp *(%rax,%rdi,8); .Lfirst: call puts";
constexpr const char* has_a_label = "nop; .Lsecond: call puts; jmp .Lback_split";

std::string table_of(const std::string& labels) {
  return ".section .data.rel.ro, \"aw\"\n.p2align 3\n.Ltable: .quad " + labels + "\n";
}
constexpr std::uint32_t room = 80;  // 32, the larger one of the numbers, and a pad are at most 127

class Parts : public PostLink {
 protected:
  const ExplainedFunction& look_at(const std::string& assembly, const std::string& flags = "") {
    explained_ = explain_with(assembly + note, flags);
    return function(explained_, "split");
  }
  [[nodiscard]] const ExplainedFunction& part() const { return function(explained_, "split.cold"); }

  void expect_pads(const ExplainedFunction& whole) const {
    EXPECT_EQ(whole.fixed_frame, "");
    EXPECT_EQ(whole.largest_pad, room);
    EXPECT_FALSE(whole.is_part);
    EXPECT_EQ(part().fixed_frame, "");
    EXPECT_EQ(part().largest_pad, room);
    EXPECT_TRUE(part().is_part);
  }
  // `why` is the beginning of the reason.
  void expect_none(const ExplainedFunction& whole, const std::string& why) const {
    EXPECT_EQ(whole.largest_pad, 0U);
    EXPECT_EQ(whole.pinned, "");
    EXPECT_THAT(whole.fixed_frame, testing::StartsWith(why));
    EXPECT_EQ(part().largest_pad, 0U);
    EXPECT_FALSE(part().is_part);
  }

  Explanation explained_;
};

constexpr const char* lies_elsewhere = "a part of the function lies elsewhere";
constexpr const char* unclear = "szc does not understand all paths";
constexpr const char* entered = "other code jumps into the function";

TEST_F(Parts, HaveThePadsOfTheirFunctions) {
  expect_pads(look_at(whole_function("split", jumps) + part_of("split", comes_back)));
  EXPECT_THAT(to_text(explained_), HasSubstr("split: pads of up to 80 bytes\n"));
  EXPECT_THAT(to_text(explained_), HasSubstr("split.cold: pads of up to 80 bytes, with its"));
  // The part ends with a call that never returns, or leaves the frame itself.
  expect_pads(look_at(whole_function("split", jumps) + part_of("split", "call abort")));
  const std::string leaves = "call puts; add $24, %rsp; .cfi_def_cfa_offset 8; ";
  expect_pads(look_at(whole_function("split", jumps) + part_of("split", leaves + "ret")));
  expect_pads(look_at(whole_function("split", jumps) + part_of("split", leaves + "jmp puts")));
  // Only the part calls something.
  expect_pads(look_at(whole_function("split", "test %edi, %edi; jne split.cold") +
                      part_of("split", comes_back)));
  // Jumps go to several places of the part.
  expect_pads(look_at(
      whole_function("split", "test %edi, %edi; jne split.cold; js .Lother; call puts") +
      part_of("split", "call puts; jmp .Lback_split; .Lother: call puts; jmp .Lback_split")));
}

TEST_F(Parts, CountAsOneFrame) {
  look_at(whole_function("split", jumps) + part_of("split", comes_back));
  const auto with_parts = std::pair(explained_.framed, explained_.padded);
  look_at(whole_function("split", "call puts"));
  EXPECT_EQ(std::pair(explained_.framed, explained_.padded), with_parts);
}

TEST_F(Parts, MayHaveLabelsInTables) {
  const std::string jumps_or_goes =
      std::string("test %edi, %edi; jne split.cold; ") + goes_to_labels;
  const std::string table = table_of(".Lfirst, .Lsecond");
  expect_pads(
      look_at(whole_function("split", jumps_or_goes) + part_of("split", has_a_label) + table));
  // The original may run, and goes to the copies' labels.
  expect_none(
      look_at(whole_function("split", jumps_or_goes, 1) + part_of("split", has_a_label, 1) + table),
      lies_elsewhere);
  // A jump through an unknown table may lead anywhere.
  expect_none(
      look_at(whole_function("split", "test %edi, %edi; jne split.cold; call puts; jmp *%rax") +
              part_of("split", comes_back)),
      unclear);
}

TEST_F(Parts, BelongToOneFunction) {
  const std::string both = whole_function("split", jumps) + whole_function("second", jumps);
  expect_none(look_at(both + part_of("split", "call abort")), unclear);
  EXPECT_THAT(function(explained_, "second").fixed_frame, HasSubstr(unclear));
  EXPECT_THAT(part().fixed_frame, HasSubstr(entered));
  expect_none(look_at(both + part_of("split", comes_back)), entered);
  EXPECT_THAT(function(explained_, "second").fixed_frame, HasSubstr(unclear));
  // Something else jumps into the middle of the part.
  expect_none(look_at(whole_function("split", jumps) +
                      whole_function("second", "test %edi, %edi; jne .Linside; call puts") +
                      part_of("split", "call puts; .Linside: call abort")),
              unclear);
}

TEST_F(Parts, AreEnteredOnlyByJumpsOfTheirFunctions) {
  const std::string usual = whole_function("split", jumps) + part_of("split", comes_back);
  expect_none(look_at(whole_function("split", "test %edi, %edi; jne split.cold; call split.cold") +
                      part_of("split", comes_back)),
              lies_elsewhere);
  expect_none(look_at(usual + ".data\n.quad split.cold\n"), lies_elsewhere);
  expect_none(look_at(usual + ".globl split.cold\n", "-rdynamic"), lies_elsewhere);
  // Nobody knows what code does that cannot be decoded.
  const std::string undecoded =
      ".text\n.p2align 4\n.type odd, @function\nodd: jmp split.cold\n.byte 6, 6, 6, 6\n"
      ".size odd, .-odd\n";
  EXPECT_EQ(look_at(usual + undecoded).largest_pad, 0U);
  EXPECT_EQ(part().largest_pad, 0U);
}

// The original of a function runs if its entry has no room for a jump to the copy. The original of
// the part must run then, too.
TEST_F(Parts, HaveNoPadsIfAnOriginalEntersACopy) {
  expect_none(look_at(whole_function("split", jumps, 1) + part_of("split", comes_back)),
              lies_elsewhere);
  expect_pads(look_at(whole_function("split", jumps, 1) + part_of("split", comes_back, 1)));
  expect_pads(look_at(whole_function("split", jumps) + part_of("split", comes_back, 1)));
}

// The same is true of labels in one function.
TEST_F(PostLink, GivesNoPadIfAnOriginalGoesToTheCopysLabels) {
  const std::string table = table_of(".Lfirst, .Lback_split") + note;
  const Explanation aligned = explain_with(whole_function("split", goes_to_labels) + table);
  EXPECT_EQ(function(aligned, "split").largest_pad, room);
  const Explanation odd = explain_with(whole_function("split", goes_to_labels, 1) + table);
  EXPECT_EQ(function(odd, "split").pinned, "");
  EXPECT_THAT(function(odd, "split").fixed_frame, testing::StartsWith(entered));
}

TEST_F(Parts, MustBeUnderstoodWithTheirFunctions) {
  const std::string whole = whole_function("split", jumps);
  // The end falls through into other code.
  EXPECT_EQ(look_at(whole + part_of("split", "call puts; mov %eax, %ecx")).largest_pad, 0U);
  EXPECT_THAT(part().pinned, HasSubstr("falls through"));
  // The description does not agree with the function's, or does not exist.
  expect_none(look_at(whole + part_of("split", ".cfi_def_cfa_offset 40; call abort")),
              "the function's code and its frame description disagree");
  expect_none(look_at(whole + part_of("split", ".cfi_endproc; call abort; .cfi_startproc")),
              lies_elsewhere);
  // A table may lead to the part's beginning.
  const std::string by_distances =
      "lea .Ltable(%rip), %rax; movslq (%rax,%rdi,4), %rcx; add %rax, %rcx; jmp *%rcx";
  look_at(whole_function("split", by_distances) + part_of("split", comes_back) +
          ".section .rodata\n.p2align 2\n.Ltable: .long split.cold - .Ltable\n");
  EXPECT_NE(part().pinned, "");
  // The part uses the stack above its function's frame.
  expect_none(look_at(whole + part_of("split", "mov 40(%rsp), %rdi; call abort")),
              "the function uses the stack pointer to access memory above its frame");
}

// Without a live frame, the function and the part are like two functions.
TEST_F(Parts, MayHaveFramesOfTheirOwn) {
  std::string whole = whole_function("split", "call puts");
  whole.replace(whole.find("  sub $24"), 2, "  test %edi, %edi; jne split.cold\n  ");
  const std::string own =
      ".cfi_def_cfa_offset 8; sub $40, %rsp; .cfi_def_cfa_offset 48; call abort";
  const ExplainedFunction& split = look_at(whole + part_of("split", own));
  EXPECT_EQ(split.largest_pad, room);
  EXPECT_EQ(part().largest_pad, 0U);
  EXPECT_FALSE(part().is_part);
}

TEST_F(Parts, OfACalledFunctionDoNotReachIntoTheCallersFrame) {
  const std::string caller = whole_function("caller", "call split");
  const std::string second_block =
      "call puts; jmp .Lback_split; .Lother: call puts; jmp .Lback_split";
  const std::string whole = whole_function("split", "test %edi, %edi; js .Lother; call puts");
  look_at(whole + caller + part_of("split", second_block));
  EXPECT_EQ(function(explained_, "caller").fixed_frame, "");
  // The part accesses its function's caller's frame.
  look_at(whole + caller + part_of("split", "call puts; .Lother: mov 56(%rsp), %rdi; call abort"));
  EXPECT_THAT(function(explained_, "caller").fixed_frame, HasSubstr("above the place of the pad"));
  // The jump to the part finds the stack in another way than the part expects.
  look_at(whole + caller +
          part_of("split", ".cfi_def_cfa_offset 24; .Lother: mov %edi, %eax; call abort"));
  EXPECT_THAT(function(explained_, "caller").fixed_frame, HasSubstr("above the place of the pad"));
}

}  // namespace
}  // namespace stab::instrumenter
