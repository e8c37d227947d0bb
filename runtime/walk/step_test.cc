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

bool may_ask_libgcc(uint64_t pc) {
  return pc - libgcc_start >= libgcc_end - libgcc_start &&
         pc - loader_start >= loader_end - loader_start;
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

// The frames from `ours` up are those from `theirs` up.
bool continues(uint32_t from, uint32_t other) {
  if (ours.count - from != before.count - other) return false;
  for (uint32_t i = 0; from + i < ours.count; ++i)
    if (ours.frames[from + i].pc != before.frames[other + i].pc) return false;
  return true;
}

// In a PLT: the frames above are those of the instruction that called it or jumped to it.
bool same_as_before() {
  constexpr uint64_t longest_call = 8;
  const bool called = ours.frames[1].pc - before.frames[0].pc <= longest_call;
  return (called && continues(2, 1)) || continues(1, 1);
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
  EXPECT_LT(tally.lost, tally.walks / 100);  // on the way from the unwinder to a landing pad
  EXPECT_GT(tally.compared, 1000u);
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
  EXPECT_LT(tally.lost, tally.walks / 100);
  EXPECT_GT(tally.compared, 500u);
}

}  // namespace
}  // namespace stab::rt
