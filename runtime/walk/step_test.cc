// SPDX-License-Identifier: MIT
// Every instruction of ordinary work as the place of an interrupt: the processor's trap flag gives
// a signal after each. Where libgcc's unwinder can be asked, both walks are the same.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/walk/test_tools.h"
#include "runtime/walk/test_work.h"
#include "runtime/walk/walk.h"

namespace stab::rt {
namespace {

using testing::sink;
using testing::Trace;

struct Tally {
  uint64_t walks = 0;
  uint64_t lost = 0;
  uint64_t compared = 0;
  uint64_t different = 0;
  uint64_t bad_slots = 0;
  uint64_t undescribed = 0;
  uint64_t inside_libgcc = 0;
  uint64_t different_above_libgcc = 0;
  Trace ours;  // of the first difference
  Trace theirs;
};

Tally tally;
Trace ours;
Trace theirs;
bool stepping;
Trace before;  // what called the code without description
uint64_t libgcc_start;
uint64_t libgcc_end;
uint64_t loader_start;
uint64_t loader_end;

void find_library(const void* inside, uint64_t& start, uint64_t& end) {
  dl_find_object found = {};
  ASSERT_EQ(_dl_find_object(const_cast<void*>(inside), &found), 0);
  start = reinterpret_cast<uint64_t>(found.dlfo_map_start);
  end = reinterpret_cast<uint64_t>(found.dlfo_map_end);
}

bool is_in_libgcc(uint64_t pc) {
  return pc - libgcc_start < libgcc_end - libgcc_start;
}

bool may_ask_libgcc(uint64_t pc) {
  return !is_in_libgcc(pc) && pc - loader_start >= loader_end - loader_start;
}

void print_lost(const Trace& trace) {
  static int printed;
  if (std::getenv("WALK_VERBOSE") == nullptr || printed++ > 40) return;
  const uint64_t pc = trace.frames[trace.count - 1].pc;
  Dl_info info = {};
  dladdr(reinterpret_cast<void*>(pc), &info);
  std::fprintf(stderr, "lost after %u at %lx %s+%lx %s\n", trace.count, pc,
               info.dli_fname == nullptr ? "?" : info.dli_fname,
               pc - reinterpret_cast<uint64_t>(info.dli_fbase),
               info.dli_sname == nullptr ? "?" : info.dli_sname);
}

constexpr uint64_t longest_call = 8;

// The frames from `ours` up are those from `theirs` up.
bool continues(uint32_t from, uint32_t other) {
  if (ours.count - from != before.count - other) return false;
  for (uint32_t i = 0; from + i < ours.count; ++i)
    if (ours.frames[from + i].pc != before.frames[other + i].pc) return false;
  return true;
}

// In a PLT: the frames above are those of the instruction that called it or jumped to it.
bool same_as_before() {
  const bool called = ours.frames[1].pc - before.frames[0].pc <= longest_call;
  return (called && continues(2, 1)) || continues(1, 1);
}

// The index of the first frame above all frames of libgcc.
uint32_t first_above_libgcc(const Trace& trace) {
  uint32_t i = trace.count;
  while (i > 0 && !is_in_libgcc(trace.frames[i - 1].pc)) --i;
  return i;
}

// libgcc can't be asked about itself, but the frames above it are the same as at the instruction
// before. If libgcc was just entered, that was a call, or a jump in a PLT or in the loader.
bool same_above_libgcc() {
  const uint32_t from = first_above_libgcc(ours);
  const uint32_t other = first_above_libgcc(before);
  if (other != 0) return continues(from, other);
  const bool called = ours.frames[from].pc - before.frames[0].pc <= longest_call;
  return (called && continues(from + 1, 1)) || continues(from, 1);
}

void on_interrupt(int, siginfo_t*, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  const auto pc = static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RIP]);
  testing::walk_from(interrupted, ours);
  ++tally.walks;
  if (!ours.slots_hold) ++tally.bad_slots;
  if (ours.end != Step::bottom) {
    ++tally.lost;
    print_lost(ours);
    return;
  }
  FrameDescription description;
  const bool described = testing::find_by_loader(pc, description, nullptr);
  if (!described) {
    ++tally.undescribed;
    if (stepping && !same_as_before()) ++tally.different;
    return;
  }
  if (stepping && is_in_libgcc(pc)) {
    ++tally.inside_libgcc;
    if (!same_above_libgcc()) ++tally.different_above_libgcc;
  }
  before = ours;
  if (!may_ask_libgcc(pc)) return;
  testing::trace_by_libgcc(pc, theirs);
  ++tally.compared;
  if (testing::same(ours, theirs)) return;
  if (tally.different++ != 0) return;
  tally.ours = ours;
  tally.theirs = theirs;
}

class WalkInterrupted : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::has_address_sanitizer || testing::has_thread_sanitizer)
      GTEST_SKIP() << "a sanitizer's own instructions are too many, or can't be interrupted";
    find_library(reinterpret_cast<const void*>(_Unwind_Backtrace), libgcc_start, libgcc_end);
    find_library(dlsym(RTLD_DEFAULT, "__tls_get_addr"), loader_start, loader_end);
    struct sigaction action = {};
    action.sa_sigaction = on_interrupt;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
    ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
    tally = Tally();
    stepping = true;
  }

  void TearDown() override {
    if (IsSkipped()) return;
    std::printf("%lu walks, %lu compared, %lu in a PLT, %lu lost (%.4f %%)\n", tally.walks,
                tally.compared, tally.undescribed, tally.lost,
                100.0 * static_cast<double>(tally.lost) / static_cast<double>(tally.walks));
    EXPECT_EQ(tally.bad_slots, 0u);
    EXPECT_EQ(tally.different, 0u) << describe_difference();
    EXPECT_EQ(tally.different_above_libgcc, 0u);
  }

  static std::string describe_difference() {
    const uint32_t at = testing::first_difference(tally.ours, tally.theirs);
    char text[200];
    std::snprintf(text, sizeof text, "interrupted at %lx, frame %u of %u: %lx, of %u: %lx",
                  tally.ours.frames[0].pc, at, tally.ours.count, tally.ours.frames[at].pc,
                  tally.theirs.count, tally.theirs.frames[at].pc);
    return text;
  }
};

class WalkAtEveryInstruction : public WalkInterrupted {};
class WalkAtRandom : public WalkInterrupted {};

// The trap flag is bit 8. Described in full, since these are walked as well.
__attribute__((naked)) void set_trap_flag() {
  __asm__ volatile(
      "pushfq\n\t.cfi_adjust_cfa_offset 8\n\torq $0x100, (%rsp)\n\t"
      "popfq\n\t.cfi_adjust_cfa_offset -8\n\tret");
}
__attribute__((naked)) void clear_trap_flag() {
  __asm__ volatile(
      "pushfq\n\t.cfi_adjust_cfa_offset 8\n\tandq $~0x100, (%rsp)\n\t"
      "popfq\n\t.cfi_adjust_cfa_offset -8\n\tret");
}

template <class Work>
__attribute__((noinline)) void step_through(const Work& work) {
  set_trap_flag();
  work();
  clear_trap_flag();
}

TEST_F(WalkAtEveryInstruction, OfFormatting) {
  step_through(testing::format);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfStrings) {
  step_through(testing::use_strings);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfAllocation) {
  step_through(testing::allocate);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfSorting) {
  step_through(testing::sort);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfExceptions) {
  testing::throw_and_catch();
  step_through(testing::throw_and_catch);
  // Functions with a frame pointer can't be left while libgcc may have overwritten its saved value.
  EXPECT_LT(tally.lost, tally.walks / 10 * 7);
  EXPECT_GT(tally.compared, 1000u);
}

extern "C" [[noreturn]] void throw_number() {
  throw 1;
}

struct Cleanup {
  ~Cleanup() { sink = 1; }
};

// Its cleanup ends by a call of _Unwind_Resume.
extern "C" [[noreturn]] void throw_past_cleanup() {
  const Cleanup cleanup;
  throw_number();
}

// Defines a function that calls `thrower` and catches everything. Its landing pad follows a call of
// _Unwind_Resume that never runs. At that call, the frame would be larger by the caller's frame, so
// a walk that takes the landing pad for a return address misses the caller.
#define CATCHER(name, thrower)                                     \
  extern "C" void name();                                          \
  __asm__(                                                         \
      ".text\n"                                                    \
      ".globl " #name "\n" #name                                   \
      ":\n"                                                        \
      ".cfi_startproc\n"                                           \
      "pushq %rbx\n.cfi_adjust_cfa_offset 8\n"                     \
      "call .L" #name                                              \
      "\n"                                                         \
      "popq %rbx\n.cfi_adjust_cfa_offset -8\n"                     \
      "ret\n.cfi_endproc\n"                                        \
      ".L" #name                                                   \
      ":\n"                                                        \
      ".cfi_startproc\n"                                           \
      ".cfi_personality 0x9b, DW.ref.__gxx_personality_v0\n"       \
      ".cfi_lsda 0x1b, .L" #name                                   \
      "_table\n"                                                   \
      ".cfi_def_cfa_offset 8\n"                                    \
      "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                  \
      ".L" #name                                                   \
      "_call:\n"                                                   \
      "call " #thrower                                             \
      "\n"                                                         \
      ".L" #name                                                   \
      "_called:\n"                                                 \
      "ud2\n"                                                      \
      ".cfi_adjust_cfa_offset 16\n"                                \
      "call _Unwind_Resume@PLT\n"                                  \
      ".cfi_adjust_cfa_offset -16\n"                               \
      ".L" #name                                                   \
      "_landing:\n"                                                \
      "movq %rax, %rdi\n"                                          \
      "call __cxa_begin_catch@PLT\n"                               \
      "call __cxa_end_catch@PLT\n"                                 \
      "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"                 \
      "ret\n.cfi_endproc\n"                                        \
      ".section .gcc_except_table, \"a\", @progbits\n.p2align 2\n" \
      ".L" #name                                                   \
      "_table:\n"                                                  \
      ".byte 0xff, 0x03\n"                                         \
      ".uleb128 .L" #name "_types - .L" #name                      \
      "_header\n"                                                  \
      ".L" #name                                                   \
      "_header:\n"                                                 \
      ".byte 1\n"                                                  \
      ".uleb128 .L" #name "_actions - .L" #name                    \
      "_sites\n"                                                   \
      ".L" #name                                                   \
      "_sites:\n"                                                  \
      ".uleb128 .L" #name "_call - .L" #name                       \
      "\n"                                                         \
      ".uleb128 .L" #name "_called - .L" #name                     \
      "_call\n"                                                    \
      ".uleb128 .L" #name "_landing - .L" #name                    \
      "\n"                                                         \
      ".uleb128 1\n"                                               \
      ".L" #name                                                   \
      "_actions:\n"                                                \
      ".byte 1, 0\n"                                               \
      ".p2align 2\n"                                               \
      ".long 0\n"                                                  \
      ".L" #name                                                   \
      "_types:\n"                                                  \
      ".text\n");
CATCHER(catch_thrown, throw_number)
CATCHER(catch_resumed, throw_past_cleanup)

// Before libgcc jumps to a landing pad, it copies the registers of the frame that catches over those
// that it has saved, and writes the address of the landing pad over a return address.
TEST_F(WalkAtEveryInstruction, OfLandingPadsThatFollowCalls) {
  for (void (*const work)() : {catch_thrown, catch_resumed}) {
    work();
    step_through(work);
  }
  EXPECT_LT(tally.lost, tally.walks / 2);
  EXPECT_GT(tally.inside_libgcc, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfFramesOfEveryShape) {
  step_through(testing::use_frames);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

// This program is linked by lld, which does not describe its PLT.
TEST_F(WalkAtEveryInstruction, OfThePlt) {
  step_through([] { sink = std::abs(static_cast<int>(std::strtol("-12", nullptr, 10))) + rand(); });
  step_through([] { sink = rand(); });
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.undescribed, 4u);
}

TEST_F(WalkAtEveryInstruction, OfJumps) {
  step_through(testing::jump);
  EXPECT_LT(tally.lost, 15u);  // where longjmp has half changed the registers
}

TEST_F(WalkAtEveryInstruction, OfSignals) {
  step_through(testing::send_signal);
  EXPECT_EQ(tally.lost, 0u);
}

TEST_F(WalkAtEveryInstruction, OfTheLoader) {
  step_through(testing::look_up_symbols);
  EXPECT_EQ(tally.lost, 0u);
}

void every(int microseconds) {
  const itimerval period = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &period, nullptr);
}

TEST_F(WalkAtRandom, InAProgramThatDoesAllOfThis) {
  stepping = false;
  every(150);
  while (tally.walks < 3000) {
    testing::format();
    testing::use_strings();
    testing::allocate();
    testing::sort();
    testing::throw_and_catch();
    testing::use_frames();
    testing::jump();
    testing::look_up_symbols();
  }
  every(0);
  EXPECT_LT(tally.lost, tally.walks / 5);  // most of them in exceptions
  EXPECT_GT(tally.compared, 500u);
}

}  // namespace
}  // namespace stab::rt
