// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/stack_switches.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/elf/elf_file.h"

namespace stab::instrumenter {
namespace {

class Switches : public testing::Test {
 protected:
  Switches() {
    std::string name = (std::filesystem::temp_directory_path() / "switches-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Switches() override { std::filesystem::remove_all(folder_); }

  // Whether assembly, as one function, may switch stacks. `more` says what else is known of it.
  bool switches(const std::string& assembly, bool compiled = false, const CodePart& more = {}) {
    const ElfFile file = assemble(assembly);
    const CodePart part = part_of(file, more);
    const bool interesting = decode_function(part.code, part.start).sets_stack_pointer;
    return interesting && find_switch({&part, 1}, compiled).has_value();
  }

  StackUse use(const std::string& assembly) {
    const ElfFile file = assemble(assembly);
    const CodePart part = part_of(file, {});
    return find_stack_use({&part, 1});
  }

  ElfFile assemble(const std::string& assembly) {
    std::ofstream(folder_ / "a.s") << ".text\nf:\n" << assembly << "\n";
    const std::string output = (folder_ / "a.so").string();
    const std::string command = fmt::format("clang-22 -nostdlib -shared -fuse-ld=lld {} -o {}",
                                            (folder_ / "a.s").string(), output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    auto file = ElfFile::parse(*read_file(output, std::size_t{1} << 20));
    EXPECT_TRUE(file);
    return std::move(*file);
  }

  static CodePart part_of(const ElfFile& file, const CodePart& more) {
    const Elf64_Shdr* text = file.section(".text");
    CodePart part = more;
    part.start = text->sh_addr;
    part.code = file.contents(*text);
    return part;
  }

  std::filesystem::path folder_;
};

TEST_F(Switches, AValueFromMemoryIsAnotherStack) {
  EXPECT_TRUE(switches("mov %rsp,(%rdi); mov (%rsi),%rsp; ret"));
  EXPECT_TRUE(
      switches("push %rbx; mov %rsi,%rbx; mov %rsp,(%rdi); mov (%rbx),%rsp; pop %rbx; ret"));
  EXPECT_TRUE(switches("pop %rsp; ret"));
  EXPECT_TRUE(switches("mov %rsp,%rax; mov %rax,(%rdi); mov (%rsi),%rax; mov %rax,%rsp; ret"));
}

// Of code that compilers leave behind: what follows a call that never returns, and a jump to the end.
TEST_F(Switches, WhatIsNeverReachedDoesNotCount) {
  // What follows the call is reached by the branch as well.
  const char* ends =
      "push %rbx; mov %rsp,%rbx; test %edi,%edi; je 1f; mov %rsi,%rbx; call *%rax; "
      "1: mov %rbx,%rsp; pop %rbx; ret";
  CodePart part;
  EXPECT_TRUE(switches(ends, false, part));
  part.behind_ends = {13};
  EXPECT_FALSE(switches(ends, false, part));
  // Nothing else leads there: as if the call returned.
  const char* alone = "push %rbx; mov %rsi,%rbx; call *%rax; mov %rbx,%rsp; pop %rbx; ret";
  part.behind_ends = {6};
  EXPECT_TRUE(switches(alone, false, part));
  const char* jumps =
      "push %rbx; mov %rsp,%rcx; sub %rdi,%rsp; test %esi,%esi; je 1f; mov "
      "%rcx,%rsp; pop %rbx; ret; 1: jmp 2f; 2:";
  part = {};
  EXPECT_TRUE(switches(jumps, false, part));
  part.ends_in_nothing = true;
  EXPECT_FALSE(switches(jumps, false, part));
}

TEST_F(Switches, ARegisterIsAnotherStackUnlessItWasMadeOfThisOne) {
  EXPECT_TRUE(switches("mov %rdi,%rsp; ret"));
  EXPECT_TRUE(switches("lea (%rdi),%rsp; ret"));
  EXPECT_TRUE(switches("lea 8(%rdi),%rsp; ret"));
  EXPECT_TRUE(switches("xchg %rsp,%rdi; ret"));
  EXPECT_FALSE(switches("mov %rsp,%r11; sub $64,%rsp; mov %r11,%rsp; ret"));
  EXPECT_FALSE(switches("lea 16(%rsp),%r11; sub $64,%rsp; lea -16(%r11),%rsp; ret"));
}

TEST_F(Switches, AddingADistanceIsASwitch) {
  EXPECT_TRUE(switches("add %rdi,%rsp; ret"));
  EXPECT_TRUE(switches("mov (%rsi),%rcx; sub %rsp,%rcx; add %rcx,%rsp; ret"));
  EXPECT_TRUE(switches("mov %rsp,%rcx; sub (%rsi),%rcx; sub %rcx,%rsp; mov %rbp,%rsp; ret"));
  EXPECT_TRUE(switches("lea (%rsp,%rdi),%rsp; ret"));
}

TEST_F(Switches, AFramePointerMustBeThatOfThisCall) {
  EXPECT_TRUE(switches("mov (%rsi),%rbp; leave; ret"));
  EXPECT_TRUE(switches("leave; ret"));
  EXPECT_FALSE(switches("push %rbp; mov %rsp,%rbp; sub %rdi,%rsp; leave; ret"));
  EXPECT_FALSE(
      switches("push %rbp; mov %rsp,%rbp; push %rbx; sub %rdi,%rsp; call f; lea -8(%rbp),%rsp; "
               "pop %rbx; pop %rbp; ret"));
  EXPECT_TRUE(switches("push %rbp; mov %rsp,%rbp; mov (%rsi),%rbp; mov %rbp,%rsp; pop %rbp; ret"));
}

TEST_F(Switches, EnterIsNotUnderstood) {
  EXPECT_TRUE(switches("push %rbp; mov %rsp,%rbp; enter $16,$0; mov %rbp,%rsp; pop %rbp; ret"));
}

TEST_F(Switches, WhatWasLoweredMustBeRestored) {
  EXPECT_TRUE(switches("sub %rdi,%rsp; ret"));
  EXPECT_TRUE(switches("sub %rdi,%rsp; jmp elsewhere"));
  EXPECT_TRUE(
      switches("push %rbp; mov %rsp,%rbp; test %rdi,%rdi; je 1f; sub %rdi,%rsp; "
               "1: pop %rbp; ret"));
}

TEST_F(Switches, ClangsAllocaGoesThroughTwoRegisters) {
  EXPECT_FALSE(
      switches("push %rbp; mov %rsp,%rbp; push %rbx; push %rax; mov %rsp,%rcx; mov %rcx,%rbx; "
               "sub %rax,%rbx; mov %rbx,%rsp; call f; lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret"));
}

TEST_F(Switches, AlignedFramesRememberWhereTheyCameFrom) {
  // gcc
  EXPECT_FALSE(
      switches("lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; "
               "mov %rsp,%rbp; push %r10; sub $72,%rsp; lea -64(%rbp),%rdi; call f; "
               "mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret"));
  EXPECT_TRUE(
      switches("mov %rsp,%rax; and $-32,%rsp; mov %rax,(%rsp); mov %rdi,(%rsp); "
               "mov %rsp,%rbp; mov %rbp,%rsp; pop %rsp; ret"));
}

// As nasm's code for images has it: the stack pointer of before lies where rbp leads to.
class AligningByNasm : public Switches {
 protected:
  bool switches_around(const std::string& body) { return switches(begin + body + end); }

  const std::string saved = "push %rbp; mov %rsp,%rax; sub $4,%rsp; and $-32,%rsp; ";
  const std::string begin =
      saved + "mov %rax,(%rsp); mov %rsp,%rbp; lea -0x100(%rbp),%rsp; push %r11; mov %rsi,%r11; ";
  const std::string end = "pop %r11; mov %rbp,%rsp; pop %rsp; pop %rbp; ret";
  const std::string again = "add $0x80,%rdi; dec %rcx; jnz 1b; ";
};

TEST_F(AligningByNasm, IsUnderstood) {
  EXPECT_FALSE(switches_around(""));
  EXPECT_FALSE(switches_around("mov (%rbp),%rax; call f; mov %eax,(%r11,%rcx,4); "));
  EXPECT_FALSE(switches_around("vmovdqa %ymm0,-32(%rbp); movdqa %xmm0,-16(%rbp); "));
  EXPECT_FALSE(switches_around("vmovdqa64 %zmm0,-64(%rbp); fstpt -10(%rbp); "));
  EXPECT_FALSE(
      switches_around("push %rdi; 1: push %rcx; movdqu %xmm0,(%rdi); pop %rcx; dec %rcx; "
                      "jnz 1b; pop %rdi; "));
  EXPECT_FALSE(switches_around("lea -64(%rbp),%rdi; call f; "));
}

TEST_F(AligningByNasm, IsASwitchWhereTheSavedOneMayBeOverwritten) {
  EXPECT_TRUE(switches_around("mov %rdi,(%rbp); "));
  EXPECT_TRUE(switches_around("mov %dil,7(%rbp); "));
  EXPECT_TRUE(switches_around("vmovdqa %ymm0,-24(%rbp); "));
  EXPECT_TRUE(switches_around("vmovdqu64 %xmm17,-8(%rbp); "));
  EXPECT_TRUE(switches_around("vextractf128 $1,%ymm0,-8(%rbp); "));
  EXPECT_TRUE(switches_around("fstpt -8(%rbp); "));
  EXPECT_TRUE(switches_around("fxsave -504(%rbp); "));
  EXPECT_TRUE(switches_around("xsave -504(%rbp); "));
  EXPECT_TRUE(switches_around("vpscatterdd %zmm0,-64(%rbp,%zmm1){%k1}; "));
  EXPECT_TRUE(switches_around("bts %rdi,-64(%rbp); "));
  EXPECT_TRUE(switches_around("mov %rdi,-64(%rbp,%rcx,8); "));
  EXPECT_TRUE(switches_around("lea -64(%rbp),%rdi; mov $9,%ecx; rep stosq; "));
  EXPECT_TRUE(switches_around("mov %rbp,%rdi; call f; "));
  EXPECT_TRUE(switches_around("lea 16(%rbp),%rsp; call f; lea -0x108(%rbp),%rsp; "));
}

TEST_F(AligningByNasm, IsASwitchWhereAnInstructionStoresWithoutSayingSo) {
  for (const char* store :
       {"maskmovdqu %xmm0,%xmm1", "vmaskmovdqu %xmm0,%xmm1", "maskmovq %mm0,%mm1",
        "movdir64b (%rsi),%rdi", "enqcmd (%rsi),%rdi", "xstore", "rep xcryptcbc"})
    EXPECT_TRUE(switches_around(std::string("lea -8(%rbp),%rdi; ") + store + "; ")) << store;
  EXPECT_TRUE(switches_around("mov %rbp,%rax; clzero; "));
  for (const char* store : {"sgdt", "sidt", "str", "sldt", "smsw", "vmptrst",
                            "vextractf32x8 $1,%zmm0,", "vextracti64x2 $1,%ymm0,"})
    EXPECT_TRUE(switches_around(std::string(store) + " -1(%rbp); ")) << store;
  // They read.
  for (const char* read : {"lea -1(%rbp),%rdi", "nopl -1(%rbp)", "mulsd -1(%rbp),%xmm0",
                           "maskmovdqu %xmm0,%xmm1", "mov %rsi,%rdi; movdir64b -32(%rbp),%rdi"})
    EXPECT_FALSE(switches_around(std::string(read) + "; ")) << read;
}

TEST_F(AligningByNasm, IsASwitchWhereItsPlaceIsKeptInOtherRegisters) {
  const std::string kept = "lea (%rbp),%rdi; movq %rdi,%xmm0; ";
  EXPECT_TRUE(switches_around(kept + "movq %xmm0,%rax; mov %rsi,(%rax); "));
  EXPECT_TRUE(
      switches_around("lea (%rbp),%rdi; add %rdi,(%rsi); mov (%rsi),%rax; mov %rcx,(%rax); "));
  EXPECT_FALSE(switches_around(kept));
}

TEST_F(AligningByNasm, IsASwitchWhereAPointerMayLeadToTheSavedOne) {
  // Nobody knows where a loop ends.
  EXPECT_TRUE(
      switches_around("lea -0x100(%rbp),%rdi; mov $2,%ecx; 1: movaps %xmm0,(%rdi); test %rax,%rax; "
                      "jz 2f; movaps %xmm1,0x70(%rdi); 2: " +
                      again));
  EXPECT_TRUE(
      switches_around("lea -0x100(%rbp),%rdi; 1: add $8,%rdi; mov %rsi,(%rdi); mov %rdi,%rdx; "
                      "add $8,%rdx; mov %rsi,(%rdx); cmp %rbp,%rdi; jne 1b; "));
  const std::string either = "lea -64(%rbp),%rdi; test %rsi,%rsi; jz 1f; lea -72(%rbp),%rdi; 1: ";
  EXPECT_FALSE(switches_around(either + "add $48,%rdi; mov %rsi,(%rdi); "));
  EXPECT_TRUE(switches_around(either + "add $64,%rdi; mov %rsi,(%rdi); "));
  EXPECT_TRUE(switches_around(either + "lea 72(%rdi),%rdi; mov %rsi,(%rdi); "));
  EXPECT_TRUE(switches_around(either + "mov %rsi,64(%rdi); "));
  EXPECT_TRUE(switches_around(either + "lea 64(%rdi),%rdi; call f; "));
  EXPECT_TRUE(switches_around("lea -0x100(%rbp),%rdi; 1: mov %rsi,0x100(%rdi); " + again));
  EXPECT_TRUE(
      switches_around("lea -64(%rbp),%rdi; test %rsi,%rsi; jz 1f; lea 64(%rbp),%rdi; "
                      "1: mov %rsi,(%rdi); "));
  // What is made of the frame's address and a number that nobody knows.
  EXPECT_TRUE(switches_around("lea -64(%rbp,%rcx,8),%rdi; mov %rax,(%rdi); "));
  EXPECT_TRUE(switches_around("lea (%rcx,%rbp),%rdi; mov %rax,-8(%rdi); "));
  EXPECT_TRUE(switches_around("lea -64(%rbp),%rdi; add %rcx,%rdi; movaps %xmm0,(%rdi); "));
  EXPECT_TRUE(switches_around("lea -64(%rbp,%rcx,8),%rdi; mov %rax,(%rsi,%rdi); "));
  EXPECT_TRUE(switches_around("lea -64(%rbp,%rcx,8),%rdi; rep stosq; "));
  EXPECT_FALSE(switches_around("lea -64(%rbp,%rcx,8),%rdi; mov (%rdi),%rax; mov %rax,(%rsi); "));
  // Down, and further than through an object.
  EXPECT_TRUE(
      switches_around("lea 64(%rbp),%rdi; 1: mov %rsi,(%rdi); sub $16,%rdi; dec %rcx; "
                      "jnz 1b; "));
  EXPECT_TRUE(
      switches_around("lea -0x100(%rbp),%rdi; 1: mov %rsi,(%rdi); add $0x90,%rdi; dec %rcx; "
                      "jnz 1b; "));
}

TEST_F(AligningByNasm, IsASwitchWhereItIsDoneInAnotherWay) {
  const std::string pop = "mov %rbp,%rsp; pop %rsp; pop %rbp; ret";
  EXPECT_FALSE(switches(saved + "mov %rax,(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "mov %rdi,(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "mov %eax,(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "mov %rax,8(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "call f; mov %rax,(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "add %rdi,%rax; mov %rax,(%rsp); mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved + "test %rdi,%rdi; jz 1f; mov %rax,(%rsp); 1: mov %rsp,%rbp; " + pop));
  EXPECT_TRUE(switches(saved +
                       "mov %rax,(%rsp); test %rdi,%rdi; jz 1f; mov %rdi,(%rsp); "
                       "1: mov %rsp,%rbp; " +
                       pop));
  EXPECT_TRUE(switches_around("mov %rdi,%rbp; "));
  EXPECT_TRUE(switches_around("add $8,%rbp; "));
  EXPECT_TRUE(switches_around("test %rdi,%rdi; jz 1f; mov (%rdi),%rbp; 1: "));
  EXPECT_TRUE(switches(begin + "pop %r11; mov %rbp,%rsp; pop %rax; pop %rsp; pop %rbp; ret"));
}

TEST_F(Switches, AWordOfTheFrameCountsUntilOthersMayWriteIt) {
  const std::string begin = "push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rsp,-8(%rbp); ";
  const std::string end = "mov -8(%rbp),%rsp; mov %rbp,%rsp; pop %rbp; ret";
  EXPECT_FALSE(switches(begin + "sub %rdi,%rsp; call f; " + end));
  EXPECT_TRUE(switches(begin + "mov %rdi,-8(%rbp); " + end));
  EXPECT_TRUE(switches(begin + "mov %edi,-6(%rbp); " + end));
  EXPECT_TRUE(switches(begin + "lea -16(%rbp),%rdi; call f; " + end));
  EXPECT_TRUE(switches(begin + "mov %rdi,-32(%rbp,%rsi,8); " + end));
  EXPECT_FALSE(switches(begin + "lea -16(%rbp),%rdi; call f; " + end, true));
  EXPECT_TRUE(switches(begin + "mov %rdi,-8(%rbp); " + end, true));
}

TEST_F(Switches, WhatLiesInOneOfTwoLoweredPartsIsNoWordAboveThem) {
  const std::string either =
      "push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rsp,-8(%rbp); test %rdx,%rdx; jz 1f; "
      "sub %rdi,%rsp; mov %rsp,%rcx; jmp 2f; 1: sub %rsi,%rsp; ";
  const std::string end =
      " 2: lea (%rcx,%rdx),%rdi; mov %rax,(%rdi); call f; mov -8(%rbp),%rsp; mov %rbp,%rsp; "
      "pop %rbp; ret";
  EXPECT_FALSE(switches(either + "mov %rsp,%rcx;" + end));
  EXPECT_TRUE(switches(either + "lea -32(%rbp),%rcx;" + end));
}

TEST_F(Switches, ANumberMadeOfWhatMayBeAPlaceIsNoSizeOfAnObject) {
  const std::string begin = "push %rbp; mov %rsp,%rbp; sub $64,%rsp; mov %rsp,-24(%rbp); ";
  const std::string end = "sub %rdi,%rsp; call f; mov %rbp,%rsp; pop %rbp; ret";
  // Others may have written over the word, or one path has.
  EXPECT_TRUE(switches(begin + "lea -64(%rbp),%rdi; call f; mov -24(%rbp),%rdi; " + end));
  EXPECT_TRUE(switches(begin + "jz 1f; movq $8,-24(%rbp); 1: mov -24(%rbp),%rdi; " + end));
  EXPECT_TRUE(switches(begin + "movl $8,-24(%rbp); mov -24(%rbp),%rdi; " + end));
  EXPECT_FALSE(switches(begin + "movq $8,-24(%rbp); mov -24(%rbp),%rdi; " + end));
  // By way of memory, as by none.
  const std::string distance = "mov %rsp,%rdx; sub %rdi,%rdx; ";
  EXPECT_TRUE(switches(begin + distance + "mov %rdx,%rdi; " + end));
  EXPECT_TRUE(switches(begin + distance + "mov %rdx,-16(%rbp); mov -16(%rbp),%rdi; " + end));
}

TEST_F(Switches, AnAlignedPartMayBeginWhereTheOneAboveEnds) {
  const std::string either =
      "push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rsp,-8(%rbp); test %rdx,%rdx; jz 1f; "
      "and $-32,%rsp; mov %rsp,%rcx; jmp 2f; 1: and $-64,%rsp; mov %rsp,%rcx; 2: ";
  EXPECT_FALSE(switches(either + "mov -8(%rbp),%rsp; leave; ret"));
  EXPECT_TRUE(switches(either + "mov %rsi,24(%rcx); mov -8(%rbp),%rsp; leave; ret"));
}

TEST_F(Switches, WhatIsPushedOrSavedElsewhereIsGivenAway) {
  const std::string begin = "push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rsp,-8(%rbp); ";
  const std::string end = "call f; mov -8(%rbp),%rsp; leave; ret";
  EXPECT_FALSE(switches(begin + "lea -16(%rbp),%rax; " + end));
  EXPECT_TRUE(switches(begin + "lea -16(%rbp),%rax; push %rax; " + end));
  EXPECT_TRUE(switches(begin + "mov %rsp,(%rdi); " + end));
}

TEST_F(Switches, ALoopThatProbesIsNone) {
  EXPECT_FALSE(
      switches("lea -0x8000(%rsp),%r11; 1: sub $0x1000,%rsp; orq $0,(%rsp); "
               "cmp %r11,%rsp; jne 1b; add $0x8000,%rsp; ret"));
}

TEST_F(Switches, AJumpBehindACallThatNeverReturnsIsNone) {
  // clang at -O0, behind __cxa_throw: to the end of the function, with a lowered stack pointer.
  const std::string lowered = "push %rbp; mov %rsp,%rbp; sub %rdi,%rsp; call f; ";
  const std::string end = "jmp 1f; leave; ret; 1:";
  CodePart known;
  known.landings_known = true;
  known.behind_ends = {12};
  CodePart returns = known;
  returns.behind_ends = {};
  CodePart lands = known;
  lands.landings_known = false;
  EXPECT_FALSE(switches(lowered + end, false, known));
  EXPECT_TRUE(switches(lowered + end, false, returns));
  EXPECT_TRUE(switches(lowered + end, false, lands));  // perhaps there
  // Something else leads there.
  EXPECT_TRUE(switches(lowered + "2: jmp 1f; jne 2b; leave; jmp *%rax; 1:", false, known));
  EXPECT_TRUE(
      switches("push %rbp; mov %rsp,%rbp; sub %rdi,%rsp; call f; 2: jmp 1f; "
               "3: jne 2b; leave; ret; 1:",
               false, known));
  // What follows is no jump, and counts.
  EXPECT_TRUE(switches(lowered + "mov %rsi,%rsp; ret", false, known));
}

class Uses : public Switches {
 protected:
  // A frame of 40 bytes below one saved register, so the highest place in it is at -16.
  StackUse use_in_frame(const std::string& body) {
    return use("push %rbx; sub $40,%rsp; " + body + "; add $40,%rsp; pop %rbx; ret");
  }
};

TEST_F(Uses, FollowTheStackPointer) {
  const StackUse found = use_in_frame("push %rax; call f; pop %rcx");
  EXPECT_TRUE(found.is_followed);
  EXPECT_EQ(found.highest, INT64_MIN);
  EXPECT_THAT(found.below_entry, testing::ElementsAre(0, 8, 48, 56, 56, 48, 8, 0));
  EXPECT_FALSE(use("push %rbp; mov %rsp,%rbp; sub %rdi,%rsp; call f; leave; ret").is_followed);
}

TEST_F(Uses, AreAccessesAndAddresses) {
  EXPECT_EQ(use_in_frame("mov 8(%rsp),%rax").highest, -40);
  EXPECT_EQ(use_in_frame("lea 32(%rsp),%rdi; call f").highest, -16);
  EXPECT_EQ(use_in_frame("mov %rsp,%rdi; call f").highest, -48);
  EXPECT_EQ(use_in_frame("mov %rsp,%rdi; mov 56(%rdi),%rax").highest, 8);
  EXPECT_EQ(use_in_frame("lea 16(%rsp),%rax; add $40,%rax; call f").highest, 8);
  EXPECT_EQ(use_in_frame("lea 16(%rsp),%rax; mov %rax,(%rsp); mov (%rsp),%rcx; mov 40(%rcx),%rdx")
                .highest,
            8);
  EXPECT_EQ(use("lea 8(%rsp),%r10; push %rbx; call f; pop %rbx; ret").highest, 8);
  EXPECT_EQ(use_in_frame("lea 8(%rsp),%rdi; mov $4,%ecx; rep stosq; call f").highest, -40);
  EXPECT_TRUE(use_in_frame("lea 8(%rsp),%rdi; mov $4,%ecx; rep stosq; call f").is_followed);
  // A frame pointer of somebody else, and what does not lie on the stack.
  const StackUse other = use_in_frame("mov 8(%rbp,%rax,8),%rcx; mov %rcx,(%rdi,%rsi)");
  EXPECT_TRUE(other.is_followed);
  EXPECT_EQ(other.highest, INT64_MIN);
}

// The compiler may mean an object above the frame, and count from a place below it.
TEST_F(Uses, ThatDependOnNumbersAreNotFollowed) {
  EXPECT_FALSE(use_in_frame("mov 8(%rsp,%rdi,8),%rax").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp,%rdi,8),%rax").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; mov (%rax,%rdi),%ecx").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; mov (%rdi,%rax),%ecx").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; add %rdi,%rax").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; and $-32,%rax").is_followed);
  EXPECT_FALSE(use_in_frame("mov %rsp,%rax; sub %rax,%rdi").is_followed);
  EXPECT_FALSE(use_in_frame("lea -500(%rsp),%rax; mov %rax,(%rdi)").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%eax").is_followed);
  EXPECT_FALSE(
      use_in_frame("lea 8(%rsp),%rax; 1: movl $0,(%rax); add $4,%rax; cmp %rax,%rdi; jne 1b")
          .is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; test %edi,%edi; cmovne %rax,%rcx; mov (%rcx),%edx")
                   .is_followed);
}

// The called function may be one that leaves the register alone, and the compiler may know.
TEST_F(Uses, InRegistersThatCallsMayLoseAreNotFollowed) {
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rsi; call f; mov 48(%rsi),%rax").is_followed);
  EXPECT_TRUE(use_in_frame("lea 8(%rsp),%rsi; call f; mov 48(%rax),%rax").is_followed);
  EXPECT_TRUE(use_in_frame("lea 8(%rsp),%rsi; call f; mov $1,%esi; mov %rsi,(%rsp)").is_followed);
  EXPECT_EQ(use_in_frame("lea 8(%rsp),%rbx; call f; mov 56(%rbx),%rax").highest, 16);
}

TEST_F(Uses, InVectorRegistersAreNotFollowed) {
  EXPECT_TRUE(use_in_frame("lea 8(%rsp),%rax; movq %rax,%xmm0; movups %xmm0,16(%rsp)").is_followed);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; movq %rax,%xmm0; movq %xmm0,%rcx").is_followed);
}

TEST_F(Uses, MayRememberAPlace) {
  const std::string store = "lea 8(%rsp),%rax; mov %rax,(%rdi); ";
  const std::string compare = "lea 8(%rsp),%rax; cmp (%rsi),%rax; ";
  EXPECT_FALSE(use_in_frame(store).remembers);
  EXPECT_FALSE(use_in_frame(compare).remembers);
  EXPECT_TRUE(use_in_frame(store + compare).remembers);
  EXPECT_TRUE(use_in_frame(store + "mov (%rsi),%rcx; cmp %rcx,%rax").remembers);
  EXPECT_FALSE(use_in_frame(store + "lea 16(%rsp),%rcx; cmp %rcx,%rax").remembers);
  EXPECT_FALSE(use_in_frame("lea 8(%rsp),%rax; mov %rax,(%rsp); cmp (%rsi),%rax").remembers);
}

TEST_F(Switches, OrderMatters) {
  // The register is saved, but not at the time.
  EXPECT_TRUE(switches("mov %rdi,%rsp; mov %rsp,%rdi; ret"));
  EXPECT_TRUE(switches("mov %rsp,%rbx; call f; mov %rax,%rbx; mov %rbx,%rsp; ret"));
  EXPECT_TRUE(switches("mov %rsp,%rcx; call f; mov %rcx,%rsp; ret"));
}

}  // namespace
}  // namespace stab::instrumenter
