// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace stab::instrumenter {
namespace {

constexpr std::uint64_t here = 0x1000;

DecodedFunction decode(std::initializer_list<std::uint8_t> bytes) {
  const std::vector<std::uint8_t> code(bytes);
  return decode_function(code, here);
}

struct Seen {
  std::uint32_t offset;
  std::uint32_t size;
  std::uint64_t target;
  Operand::Use use;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> operands(const DecodedFunction& function) {
  std::vector<Seen> seen;
  seen.reserve(function.operands.size());
  for (const Operand& o : function.operands) seen.push_back({o.offset, o.size, o.target, o.use});
  return seen;
}

using testing::ElementsAre;
using Use = Operand::Use;

TEST(Decoder, FindsCallsAndJumps) {
  // call +0x10; jne +5 (long); jmp +2 (short); ret
  const auto f = decode({0xe8, 0x10, 0, 0, 0, 0x0f, 0x85, 5, 0, 0, 0, 0xeb, 0x00, 0xc3});
  EXPECT_TRUE(f.complete);
  EXPECT_FALSE(f.open_end);
  EXPECT_TRUE(f.calls);
  EXPECT_FALSE(f.calls_anywhere);
  EXPECT_TRUE(decode({0xff, 0xd0, 0xc3}).calls_anywhere);              // call *%rax; ret
  EXPECT_TRUE(decode({0xff, 0x15, 0, 0, 0, 0, 0xc3}).calls_anywhere);  // call *0(%rip); ret
  EXPECT_FALSE(decode({0xeb, 0, 0xc3}).calls);                         // jmp +0; ret
  EXPECT_THAT(operands(f),
              ElementsAre(Seen{1, 4, here + 5 + 0x10, Use::call},
                          Seen{7, 4, here + 11 + 5, Use::jump}, Seen{12, 1, here + 13, Use::jump}));
}

// The branches that references_of() finds in code that is not decoded.
TEST(Decoder, EachBranchHasItsDistanceBehindItsOpcode) {
  const auto field = [](std::vector<std::uint8_t> opcode, std::uint32_t size) {
    const auto at = static_cast<std::uint32_t>(opcode.size());
    opcode.resize(at + size);
    const auto read = read_instruction(opcode, here);
    const auto found = read ? pc_relative_field(*read) : std::nullopt;
    return found && found->is_branch() && found->offset == at && found->size == size;
  };
  for (std::uint8_t low = 0; low < 16; ++low) {
    EXPECT_TRUE(field({static_cast<std::uint8_t>(0x70 + low)}, 1));        // jo to jg
    EXPECT_TRUE(field({0x0f, static_cast<std::uint8_t>(0x80 + low)}, 4));  // the same
  }
  for (const std::uint8_t opcode : {0xe0, 0xe1, 0xe2, 0xe3, 0xeb})  // loops, jrcxz and jmp
    EXPECT_TRUE(field({opcode}, 1));
  EXPECT_TRUE(field({0xe8}, 4));         // call
  EXPECT_TRUE(field({0xe9}, 4));         // jmp
  EXPECT_TRUE(field({0xc7, 0xf8}, 4));   // xbegin
  EXPECT_FALSE(field({0xff, 0x15}, 4));  // call *0(%rip)
  EXPECT_FALSE(field({0x8d, 0x05}, 4));  // lea 0(%rip),%eax
  EXPECT_FALSE(field({0xb8}, 4));        // mov $0,%eax
}

TEST(Decoder, KnowsTheAlignmentThatAccessesNeed) {
  // vmovaps %ymm0,(%rsp); ret
  EXPECT_EQ(decode({0xc5, 0xfc, 0x29, 0x04, 0x24, 0xc3}).needs_alignment, 32u);
  // vmovups %ymm0,(%rsp); ret
  EXPECT_EQ(decode({0xc5, 0xfc, 0x11, 0x04, 0x24, 0xc3}).needs_alignment, 0u);
  // vmovaps %xmm0,(%rsp); ret
  EXPECT_EQ(decode({0xc5, 0xf8, 0x29, 0x04, 0x24, 0xc3}).needs_alignment, 0u);
  // vmovaps %ymm0,(%rdi); ret: rdi may lead into a caller's frame
  EXPECT_EQ(decode({0xc5, 0xfc, 0x29, 0x07, 0xc3}).needs_alignment, 32u);
  // vmovaps %ymm0,0(%rip); ret
  EXPECT_EQ(decode({0xc5, 0xfc, 0x29, 0x05, 0, 0, 0, 0, 0xc3}).needs_alignment, 0u);
  // and $-32,%rsp; vmovaps %ymm0,(%rsp); ret
  EXPECT_EQ(decode({0x48, 0x83, 0xe4, 0xe0, 0xc5, 0xfc, 0x29, 0x04, 0x24, 0xc3}).needs_alignment,
            0u);
  // mov %rsp,%rbp; and $-32,%rsp; vmovaps %ymm0,-32(%rbp); ret, and the same without the and
  EXPECT_EQ(decode({0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0xc5, 0xfc, 0x29, 0x45, 0xe0, 0xc3})
                .needs_alignment,
            0u);
  EXPECT_EQ(decode({0x48, 0x89, 0xe5, 0xc5, 0xfc, 0x29, 0x45, 0xe0, 0xc3}).needs_alignment, 32u);
}

TEST(Decoder, FindsRegistersThatGetMoreThanAddresses) {
  constexpr std::uint32_t rax = 1, rcx = 2, rbx = 8, rbp = 32, rsp = 16, r12 = 1u << 12;
  EXPECT_EQ(decode({0xb3, 7, 0xc3}).values & ~rsp, rbx);                      // mov $7,%bl
  EXPECT_EQ(decode({0xb7, 7, 0xc3}).values & ~rsp, rbx);                      // mov $7,%bh
  EXPECT_EQ(decode({0x66, 0xbb, 7, 0, 0xc3}).values & ~rsp, rbx);             // mov $7,%bx
  EXPECT_EQ(decode({0x41, 0x0f, 0x94, 0xc4, 0xc3}).values & ~rsp, r12);       // sete %r12b
  EXPECT_EQ(decode({0x86, 0xd9, 0xc3}).values & ~rsp, rbx | rcx);             // xchg %bl,%cl
  EXPECT_EQ(decode({0xf6, 0xf3, 0xc3}).values & ~rsp, rax);                   // div %bl
  EXPECT_EQ(decode({0x0f, 0xb0, 0x0b, 0xc3}).values & ~rsp, rax);             // cmpxchg %cl,(%rbx)
  EXPECT_EQ(decode({0x48, 0x89, 0xc3, 0xc3}).values & ~rsp, rbx);             // mov %rax,%rbx
  EXPECT_EQ(decode({0x48, 0x8b, 0x1f, 0xc3}).values & ~rsp, rbx);             // mov (%rdi),%rbx
  EXPECT_EQ(decode({0x48, 0xff, 0xc3, 0xc3}).values & ~rsp, rbx);             // inc %rbx
  EXPECT_EQ(decode({0x48, 0x8d, 0x1f, 0xc3}).values & ~rsp, rbx);             // lea (%rdi),%rbx
  EXPECT_EQ(decode({0xc9, 0xc3}).values & ~rsp, rbp);                         // leave
  EXPECT_EQ(decode({0x48, 0x8d, 0x1d, 0, 1, 0, 0, 0xc3}).values & ~rsp, 0u);  // lea 256(%rip),%rbx
  EXPECT_EQ(decode({0x5b, 0x41, 0x5c, 0xc3}).values & ~rsp, 0u);              // pop %rbx; pop %r12
  EXPECT_EQ(decode({0x50, 0x5b, 0xc3}).values & ~rsp, rbx);                   // push %rax; pop %rbx
  EXPECT_EQ(decode({0x6a, 7, 0x5b, 0xc3}).values & ~rsp, rbx);                // push $7; pop %rbx
  EXPECT_EQ(decode({0xbb, 7, 0, 0, 0, 0xc3}).values & ~rsp, 0u);              // mov $7,%ebx
  EXPECT_EQ(decode({0x0f, 0xb6, 0xdb, 0xc3}).values & ~rsp, 0u);              // movzbl %bl,%ebx
  EXPECT_EQ(decode({0x88, 0x1f, 0xc3}).values & ~rsp, 0u);                    // mov %bl,(%rdi)
  EXPECT_EQ(decode({0x41, 0xbc, 7, 0, 0, 0, 0xc3}).values & ~rsp, 0u);        // mov $7,%r12d
}

TEST(Decoder, ARegisterThatIsPoppedAsItWasPushedKeepsItsValue) {
  constexpr std::uint32_t rcx = 2, rbx = 8, rsp = 16;
  // push %rbx; sub $24,%rsp; push %rax; call; pop %rcx; add $24,%rsp; pop %rbx; ret; add $24,%rsp; pop %rbx; ret
  EXPECT_EQ(decode({0x53, 0x48, 0x83, 0xec, 24,   0x50, 0xe8, 0,    0,    0,  0,    0x59,
                    0x48, 0x83, 0xc4, 24,   0x5b, 0xc3, 0x48, 0x83, 0xc4, 24, 0x5b, 0xc3})
                    .values &
                ~rsp,
            rcx);
  // push %rbx; push %rax; add $8,%rsp; pop %rbx; ret
  EXPECT_EQ(decode({0x53, 0x50, 0x48, 0x83, 0xc4, 8, 0x5b, 0xc3}).values & ~rsp, 0u);
  // push %rax; popcnt %rcx,%rcx; pop %rbx; ret
  EXPECT_EQ(decode({0x50, 0xf3, 0x48, 0x0f, 0xb8, 0xc9, 0x5b, 0xc3}).values & ~rsp, rbx | rcx);
  // push %rbx; mov %rax,(%rsp); pop %rbx; ret, and the same with 8(%rsp)
  EXPECT_EQ(decode({0x53, 0x48, 0x89, 0x04, 0x24, 0x5b, 0xc3}).values & ~rsp, rbx);
  EXPECT_EQ(decode({0x53, 0x48, 0x89, 0x44, 0x24, 8, 0x5b, 0xc3}).values & ~rsp, 0u);
  // push %rbx; sub $8,%rsp; pop %rbx: what was stored there
  EXPECT_EQ(decode({0x53, 0x48, 0x83, 0xec, 8, 0x5b, 0xc3}).values & ~rsp, rbx);
}

TEST(Decoder, TellsLeaFromAccess) {
  // lea 0x100(%rip),%rax; mov 0x200(%rip),%rcx; ret
  const auto f = decode({0x48, 0x8d, 0x05, 0, 1, 0, 0, 0x48, 0x8b, 0x0d, 0, 2, 0, 0, 0xc3});
  EXPECT_THAT(operands(f), ElementsAre(Seen{3, 4, here + 7 + 0x100, Use::address},
                                       Seen{10, 4, here + 14 + 0x200, Use::access}));
}

TEST(Decoder, FindsTheFieldBeforeAnImmediate) {
  // cmpl $0x12345678, 0x40(%rip); movb $7, 0x40(%rip); ret
  const auto f = decode(
      {0x81, 0x3d, 0x40, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0xc6, 0x05, 0x40, 0, 0, 0, 7, 0xc3});
  EXPECT_THAT(operands(f), ElementsAre(Seen{2, 4, here + 10 + 0x40, Use::access},
                                       Seen{12, 4, here + 17 + 0x40, Use::access}));
}

TEST(Decoder, IsNotFooledByAnImmediateThatEqualsTheDisplacement) {
  // movl $0x40, 0x40(%rip): the field is the first of the two.
  const auto f = decode({0xc7, 0x05, 0x40, 0, 0, 0, 0x40, 0, 0, 0, 0xc3});
  EXPECT_THAT(operands(f), ElementsAre(Seen{2, 4, here + 10 + 0x40, Use::access}));
}

TEST(Decoder, IgnoresAbsoluteAndRegisterOperands) {
  // mov %fs:0xfffffff8,%eax; mov 8(%rax),%rcx; mov $0x1234,%edx; ret
  const auto f = decode({0x64, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x48, 8, 0xba,
                         0x34, 0x12, 0, 0, 0xc3});
  EXPECT_TRUE(f.complete);
  EXPECT_TRUE(f.operands.empty());
}

TEST(Decoder, FindsFieldsOfVectorInstructions) {
  // vmovaps 0x20(%rip),%ymm0; vaddps 0x40(%rip){1to16},%zmm1,%zmm2; ret
  const auto f = decode({0xc5, 0xfc, 0x28, 0x05, 0x20, 0, 0, 0, 0x62, 0xf1, 0x74, 0x58, 0x58, 0x15,
                         0x40, 0, 0, 0, 0xc3});
  EXPECT_TRUE(f.complete);
  EXPECT_THAT(operands(f), ElementsAre(Seen{4, 4, here + 8 + 0x20, Use::access},
                                       Seen{14, 4, here + 18 + 0x40, Use::access}));
}

TEST(Decoder, FindsACallBehindPrefixes) {
  // addr32 call, as a relaxed call through the GOT; ret
  EXPECT_THAT(operands(decode({0x67, 0xe8, 1, 0, 0, 0, 0xc3})),
              ElementsAre(Seen{2, 4, here + 7, Use::call}));
}

TEST(Decoder, MarksStartsOfInstructions) {
  const auto f = decode({0x48, 0x89, 0xf8, 0x90, 0xc3});
  EXPECT_THAT(f.starts, ElementsAre(true, false, false, true, true));
}

TEST(Decoder, SeesWhereCodeRunsOn) {
  EXPECT_TRUE(decode({0x90}).open_end);
  EXPECT_TRUE(decode({0x48, 0x89, 0xf8}).open_end);
  EXPECT_TRUE(decode({0x74, 0x00}).open_end);                     // je
  EXPECT_FALSE(decode({0xe8, 0, 0, 0, 0}).open_end);              // a call that may not return
  EXPECT_FALSE(decode({0x0f, 0x0b}).open_end);                    // ud2
  EXPECT_FALSE(decode({0xc3, 0x0f, 0x1f, 0x40, 0x00}).open_end);  // ret and padding
  EXPECT_FALSE(decode({0xff, 0xe0}).open_end);                    // jmp *%rax
  EXPECT_FALSE(decode({0xf3, 0xc3}).open_end);                    // rep ret
}

TEST(Decoder, SaysWhenBytesAreNoInstruction) {
  EXPECT_FALSE(decode({0x06, 0xc3}).complete);
  EXPECT_FALSE(decode({0xc3, 0xe8, 0, 0}).complete);  // cut off
  EXPECT_FALSE(decode({'O', 'G', 'A', 'M', 'S'}).complete);
  EXPECT_TRUE(decode({}).complete);
}

}  // namespace
}  // namespace stab::instrumenter
