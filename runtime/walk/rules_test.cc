// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "runtime/walk/description.h"
#include "runtime/walk/frame.h"
#include "runtime/walk/sample.h"

namespace stab::rt {
namespace {

using testing::Bytes;
using testing::describe;
using testing::joined;
using testing::usual_cie;
using testing::usual_fde;
using testing::usual_start;

struct Interpreted {
  bool ok = false;
  bool signal_frame = false;
  Row row = {};
};

Interpreted at(uint64_t offset, const Bytes& code, const Bytes& cie = usual_cie()) {
  Interpreted result;
  const Bytes fde = usual_fde(code);
  result.ok = interpret(describe(fde, cie), offset, result.row, result.signal_frame);
  return result;
}

TEST(FrameRules, HoldFromTheirInstructionOn) {
  // push rbp; mov rsp, rbp
  const Bytes code = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
  EXPECT_EQ(at(0, code).row.cfa_number, 8);
  EXPECT_EQ(at(0, code).row.rules[rbp], Rule::unspecified);
  EXPECT_EQ(at(1, code).row.cfa_number, 16);
  EXPECT_EQ(at(3, code).row.numbers[rbp], -16);
  EXPECT_EQ(at(3, code).row.cfa_register, rsp);
  EXPECT_EQ(at(4, code).row.cfa_register, rbp);
  EXPECT_EQ(at(4, code).row.rules[return_column], Rule::offset);
  EXPECT_EQ(at(4, code).row.numbers[return_column], -8);
}

TEST(FrameRules, AdvanceInAllSizes) {
  const Bytes code = {0x02, 100, 0x0e, 16, 0x03, 0, 1, 0x0e, 24, 0x04, 0, 0, 1, 0, 0x0e, 32};
  EXPECT_EQ(at(99, code).row.cfa_number, 8);
  EXPECT_EQ(at(100, code).row.cfa_number, 16);
  EXPECT_EQ(at(355, code).row.cfa_number, 16);
  EXPECT_EQ(at(356, code).row.cfa_number, 24);
  EXPECT_EQ(at(65891, code).row.cfa_number, 24);
  EXPECT_EQ(at(65892, code).row.cfa_number, 32);
}

TEST(FrameRules, AreRememberedAndRestored) {
  const Bytes code = {0x83, 2, 0x0e, 32, 0x0a, 0xc3, 0xd0, 0x0e, 8, 0x41, 0x0b};
  EXPECT_EQ(at(0, code).row.rules[3], Rule::unspecified);
  EXPECT_EQ(at(0, code).row.rules[return_column], Rule::offset);
  EXPECT_EQ(at(0, code).row.cfa_number, 8);
  EXPECT_EQ(at(1, code).row.numbers[3], -16);
  EXPECT_EQ(at(1, code).row.cfa_number, 32);
}

TEST(FrameRules, ComeInEveryForm) {
  EXPECT_EQ(at(0, {0x07, 16}).row.rules[return_column], Rule::undefined);
  EXPECT_EQ(at(0, {0x08, 3}).row.rules[3], Rule::same);
  EXPECT_EQ(at(0, {0x09, 16, 5}).row.numbers[return_column], 5);
  EXPECT_EQ(at(0, {0x05, 3, 2}).row.numbers[3], -16);
  EXPECT_EQ(at(0, {0x11, 3, 0x7e}).row.numbers[3], 16);
  EXPECT_EQ(at(0, {0x14, 3, 2}).row.rules[3], Rule::value_offset);
  EXPECT_EQ(at(0, {0x15, 3, 0x7e}).row.numbers[3], 16);
  EXPECT_EQ(at(0, {0x2f, 3, 2}).row.numbers[3], 16);
  EXPECT_EQ(at(0, {0x12, 6, 0x7e}).row.cfa_number, 16);
  EXPECT_EQ(at(0, {0x13, 0x7e}).row.cfa_number, 16);
  EXPECT_EQ(at(0, {0x2e, 5}).row.cfa_number, 8);
  EXPECT_TRUE(at(0, {0x90 + 17, 5, 0x05, 60, 9}).ok);  // a vector register
}

TEST(FrameRules, FindTheirExpressions) {
  const Bytes cie = usual_cie(joined(usual_start, {0x10, 3, 1, 0x77}));
  const Bytes fde = usual_fde({0x0f, 2, 0x30, 0x31, 0x16, 6, 1, 0x32});
  const FrameDescription description = describe(fde, cie);
  Row row;
  bool signal_frame = false;
  ASSERT_TRUE(interpret(description, 0, row, signal_frame));
  EXPECT_TRUE(row.cfa_is_expression);
  ByteReader cfa = expression_of(description, row.cfa_number);
  EXPECT_EQ(cfa.left(), 2u);
  EXPECT_EQ(cfa.byte(), 0x30);
  EXPECT_EQ(expression_of(description, row.numbers[3]).byte(), 0x77);
  EXPECT_EQ(expression_of(description, row.numbers[6]).byte(), 0x32);
}

TEST(FrameRules, ReadAugmentations) {
  Bytes cie = testing::entry(joined(
      {0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 'S', 0, 1, 0x78, 16, 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b},
      usual_start));
  const Bytes fde = testing::entry({1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 4, 9, 9, 9, 9, 0x0e, 40});
  Row row;
  bool signal_frame = false;
  ASSERT_TRUE(interpret(describe(fde, cie), 0, row, signal_frame));
  EXPECT_TRUE(signal_frame);
  EXPECT_EQ(row.cfa_number, 40);
  cie[10] = 'X';
  EXPECT_FALSE(interpret(describe(fde, cie), 0, row, signal_frame));
}

TEST(FrameRules, AreRefusedWhereTheyMakeNoSense) {
  EXPECT_FALSE(at(0, {0x01, 0, 0, 0, 0}).ok);                    // set_loc
  EXPECT_FALSE(at(0, {0x0b}).ok);                                // nothing was remembered
  EXPECT_FALSE(at(0, {0x0d, 17}).ok);                            // the CFA from no register
  EXPECT_FALSE(at(0, {0x3f}).ok);                                // no instruction
  EXPECT_FALSE(at(0, {0x83, 0xff, 0xff, 0xff, 0xff, 0x7f}).ok);  // far away
  EXPECT_FALSE(at(0, {0x10, 3, 100, 0x30}).ok);                  // longer than the description
  EXPECT_FALSE(at(0, {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}).ok);
  EXPECT_FALSE(at(0, {}, usual_cie({})).ok);      // no CFA
  EXPECT_FALSE(at(0, {}, usual_cie({0xc3})).ok);  // a CIE that restores
}

TEST(FrameRules, ReadNothingBeyondATruncation) {
  const Bytes cie = usual_cie();
  const Bytes fde = usual_fde({0x41, 0x0e, 16, 0x86, 2, 0x10, 3, 2, 0x77, 8, 0x43, 0x0d, 6});
  Row row;
  bool signal_frame = false;
  for (size_t size = 0; size < fde.size(); ++size) {
    const Bytes cut(fde.begin(), fde.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(interpret(describe(cut, cie), 9, row, signal_frame)) << size;
  }
  for (size_t size = 0; size < cie.size(); ++size) {
    const Bytes cut(cie.begin(), cie.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(interpret(describe(fde, cut), 9, row, signal_frame)) << size;
  }
}

// The PLT of GNU ld: rsp + 8, or 16 behind the push, which ends 11 bytes into the entry.
TEST(FrameExpression, IsThatOfThePlt) {
  const Bytes operations = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  Walk walk;
  for (uint64_t pc = 0x4000; pc < 0x4020; ++pc) {
    begin_walk(walk, pc, 0x10000);
    uint64_t cfa = 0;
    ASSERT_TRUE(evaluate(walk, ByteReader(operations.data(), operations.size()), nullptr, cfa));
    EXPECT_EQ(cfa, pc % 16 >= 11 ? 0x10010u : 0x10008u);
  }
}

bool computes(const Bytes& operations, uint64_t expected) {
  alignas(8) static const uint64_t stack[2] = {77, 78};
  Walk walk;
  begin_walk(walk, 0, reinterpret_cast<uint64_t>(stack));
  uint64_t result = 0;
  return evaluate(walk, ByteReader(operations.data(), operations.size()), nullptr, result) &&
         result == expected;
}

TEST(FrameExpression, Computes) {
  EXPECT_TRUE(computes({0x77, 8, 0x06}, 78));                        // deref
  EXPECT_TRUE(computes({0x92, 7, 0, 0x94, 8}, 77));                  // bregx, deref_size
  EXPECT_TRUE(computes({0x35, 0x23, 0x81, 1}, 134));                 // plus_uconst
  EXPECT_TRUE(computes({0x09, 0xff, 0x20}, 0));                      // const1s, not
  EXPECT_TRUE(computes({0x0a, 1, 2, 0x0c, 1, 0, 0, 0, 0x1c}, 512));  // const2u const4u minus
  EXPECT_TRUE(computes({0x10, 5, 0x11, 0x7f, 0x1e, 0x1f}, 5));       // mul neg
  EXPECT_TRUE(computes({0x32, 0x33, 0x16, 0x1c}, 1));                // swap
  EXPECT_TRUE(computes({0x32, 0x12, 0x22, 0x13, 0x31}, 1));          // dup plus drop
  EXPECT_TRUE(computes({0x09, 0x80, 0x33, 0x26}, static_cast<uint64_t>(-16)));  // shra
  EXPECT_TRUE(computes({0x31, 0x08, 70, 0x24}, 0));
  EXPECT_TRUE(computes({0x31, 0x32, 0x2d, 0x96}, 1));
}

TEST(FrameExpression, IsRefusedWhereItMakesNoSense) {
  EXPECT_FALSE(computes({}, 0));
  EXPECT_FALSE(computes({0x22}, 0));              // no operands
  EXPECT_FALSE(computes({0x30, 0x06}, 0));        // not on the stack
  EXPECT_FALSE(computes({0x77, 1, 0x06}, 77));    // not aligned
  EXPECT_FALSE(computes({0x76, 0}, 0));           // rbp is not known
  EXPECT_FALSE(computes({0x31, 0x2f, 0, 0}, 1));  // a branch
  EXPECT_FALSE(computes(Bytes(17, 0x31), 1));     // too many
  EXPECT_FALSE(computes({0x0e, 1, 2}, 0));        // cut off
}

bool is_call(const Bytes& code) {
  return ends_with_call(code.data() + code.size(), static_cast<uint32_t>(code.size()));
}

TEST(MachineCode, KnowsWhatEndsWithACall) {
  EXPECT_TRUE(is_call({0xe8, 1, 2, 3, 4}));
  EXPECT_TRUE(is_call({0xff, 0xd0}));                    // rax
  EXPECT_TRUE(is_call({0x41, 0xff, 0xd3}));              // r11
  EXPECT_TRUE(is_call({0xff, 0x10}));                    // (rax)
  EXPECT_TRUE(is_call({0xff, 0x14, 0xc8}));              // (rax, rcx, 8)
  EXPECT_TRUE(is_call({0xff, 0x50, 8}));                 // 8(rax)
  EXPECT_TRUE(is_call({0xff, 0x54, 0x24, 8}));           // 8(rsp)
  EXPECT_TRUE(is_call({0xff, 0x90, 0, 1, 0, 0}));        // 256(rax)
  EXPECT_TRUE(is_call({0xff, 0x15, 1, 2, 3, 4}));        // (rip)
  EXPECT_TRUE(is_call({0xff, 0x94, 0x24, 0, 1, 0, 0}));  // 256(rsp)
  EXPECT_TRUE(is_call({0xff, 0x14, 0xc5, 0, 1, 0, 0}));  // 256(, rax, 8)
  EXPECT_TRUE(is_call({0xff, 0x18}));                    // far
  EXPECT_FALSE(is_call({}));
  EXPECT_FALSE(is_call({0xe9, 1, 2, 3, 4}));
  EXPECT_FALSE(is_call({1, 2, 3, 4}));
  EXPECT_FALSE(is_call({0xff, 0xe0}));
  EXPECT_FALSE(is_call({0xff, 0x50}));
  EXPECT_FALSE(is_call({0xff, 0xd8}));
  EXPECT_FALSE(is_call({0xff, 0x14}));
}

int pushed(const Bytes& before, const Bytes& code) {
  Bytes window(2 * plt_window, 0);
  std::copy(before.begin(), before.end(),
            window.begin() + static_cast<std::ptrdiff_t>(plt_window - before.size()));
  std::copy(code.begin(), code.end(), window.begin() + plt_window);
  return plt_pushed(window.data() + plt_window);
}

TEST(MachineCode, KnowsThePlaceInAPlt) {
  const Bytes jump = {0xff, 0x25, 1, 2, 3, 4};
  const Bytes lazy = {0x68, 1, 0, 0, 0, 0xe9, 1, 2, 3, 4};
  const Bytes push = {0xff, 0x35, 1, 2, 3, 4};
  const Bytes endbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
  EXPECT_EQ(pushed({}, joined(jump, lazy)), 0);
  EXPECT_EQ(pushed(jump, lazy), 0);
  EXPECT_EQ(pushed({0x68, 1, 0, 0, 0}, {0xe9, 1, 2, 3, 4}), 8);
  EXPECT_EQ(pushed({}, joined(push, jump)), 8);
  EXPECT_EQ(pushed(push, jump), 16);
  EXPECT_EQ(pushed({}, joined(endbr64, jump)), 0);
  EXPECT_EQ(pushed({}, joined(endbr64, lazy)), 0);
  EXPECT_EQ(pushed({}, joined({0x41, 0xbb, 1, 0, 0, 0}, jump)), 0);
  EXPECT_EQ(pushed({}, joined({0x41, 0x53}, joined(push, jump))), 0);
  EXPECT_EQ(pushed({}, {0xe9, 1, 2, 3, 4}), plt_no);
  EXPECT_EQ(pushed({}, endbr64), plt_no);
  EXPECT_EQ(pushed({}, {0x90}), plt_no);
}

TEST(MachineCode, KnowsTrampolines) {
  const Bytes ours = {0xb8, 15, 0, 0, 0, 0x0f, 5};
  const Bytes glibcs = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 5};
  const Bytes other = {0xb8, 14, 0, 0, 0, 0x0f, 5};
  EXPECT_TRUE(is_trampoline(ours.data(), 7));
  EXPECT_TRUE(is_trampoline(glibcs.data(), 9));
  EXPECT_TRUE(is_trampoline_end(ours.data() + 5, 5));
  EXPECT_TRUE(is_trampoline_end(glibcs.data() + 7, 7));
  EXPECT_FALSE(is_trampoline(other.data(), 7));
  EXPECT_FALSE(is_trampoline(ours.data(), 6));
}

}  // namespace
}  // namespace stab::rt
