// SPDX-License-Identifier: MIT
// Every instruction of ordinary work as the place of an interrupt: the processor's trap flag gives
// a signal after each. Where libgcc's unwinder can be asked, both walks are the same.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "runtime/walk.h"
#include "runtime/walk_test_tools.h"

namespace stab::rt {
namespace {

using testing::Trace;

struct Tally {
  uint64_t walks = 0;
  uint64_t lost = 0;
  uint64_t compared = 0;
  uint64_t different = 0;
  uint64_t bad_slots = 0;
  Trace ours;  // of the first difference
  Trace theirs;
};

Tally tally;
Trace ours;
Trace theirs;
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
  if (!described || !may_ask_libgcc(pc)) return;
  testing::trace_by_libgcc(pc, theirs);
  ++tally.compared;
  if (testing::same(ours, theirs)) return;
  if (tally.different++ != 0) return;
  tally.ours = ours;
  tally.theirs = theirs;
}

class WalkAtEveryInstruction : public ::testing::Test {
 protected:
  void SetUp() override {
    find_library(reinterpret_cast<const void*>(_Unwind_Backtrace), libgcc_start, libgcc_end);
    find_library(dlsym(RTLD_DEFAULT, "__tls_get_addr"), loader_start, loader_end);
    struct sigaction action = {};
    action.sa_sigaction = on_interrupt;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
    tally = Tally();
  }

  void TearDown() override {
    std::printf("%lu walks, %lu compared, %lu lost (%.4f %%)\n", tally.walks, tally.compared,
                tally.lost,
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

volatile int sink;

void format() {
  char text[200];
  sink = std::snprintf(text, sizeof text, "%d %s %.3f %lx %*d", 42, "text", 3.14159, 0xffUL, 9, 7);
}
void use_strings() {
  std::string text = "a";
  for (int i = 0; i < 8; ++i) text += text + "some more text";
  sink = static_cast<int>(text.find("not there") + std::strlen(text.c_str()));
  char copy[3000];
  std::memmove(copy, text.data(), std::min(sizeof copy, text.size()));
  sink = std::memcmp(copy, text.data(), 2000);
  sink = std::atoi("123") + static_cast<int>(std::strtod("1.5e10", nullptr));
}
void allocate() {
  std::vector<void*> blocks;
  for (size_t size = 1; size < 300000; size = size * 9 + 7) {
    blocks.push_back(std::malloc(size));
    blocks.back() = std::realloc(blocks.back(), size * 2);
  }
  for (void* block : blocks) std::free(block);
}
int compare_ints(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
void sort() {
  std::vector<int> numbers;
  for (int i = 0; i < 30; ++i) numbers.push_back(i * 7919 % 101);
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_ints);
  std::map<std::string, int> map;
  for (const int n : numbers) ++map[std::to_string(n % 10)];
  sink = static_cast<int>(map.size());
}
__attribute__((noinline)) void throw_below(int n) {
  std::string local(static_cast<size_t>(n) * 10, 'x');
  if (n == 0) throw std::string("thrown");
  throw_below(n - 1);
}
void throw_and_catch() {
  try {
    throw_below(2);
  } catch (const std::string& text) {
    sink = static_cast<int>(text.size());
  }
}
__attribute__((noinline)) void over_align(int n) {
  alignas(128) volatile char bytes[200];
  auto* more = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(n)));
  bytes[n % 200] = 1;
  more[n - 1] = 1;
  if (n > 100) over_align(n / 2);
}
__attribute__((noinline, optnone)) int unoptimized(int n) {
  return n <= 1 ? n : unoptimized(n - 1) + unoptimized(n - 2);
}
void use_frames() {
  over_align(1000);
  sink = unoptimized(10);
}
void jump() {
  jmp_buf target;
  if (setjmp(target) == 0) longjmp(target, 1);
}
void send_signal() {
  struct sigaction action = {};
  action.sa_handler = [](int n) { sink = n; };
  sigaction(SIGUSR2, &action, nullptr);
  raise(SIGUSR2);
}
void look_up_symbols() {
  sink = dlsym(RTLD_DEFAULT, "strtoull") != nullptr;
  FILE* file = std::fopen("/dev/null", "w");
  std::fprintf(file, "%s", "text");
  std::fclose(file);
}

TEST_F(WalkAtEveryInstruction, OfFormatting) {
  step_through(format);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfStrings) {
  step_through(use_strings);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfAllocation) {
  step_through(allocate);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfSorting) {
  step_through(sort);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfExceptions) {
  throw_and_catch();
  step_through(throw_and_catch);
  EXPECT_LT(tally.lost, tally.walks / 200);  // on the way from the unwinder to a landing pad
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfFramesOfEveryShape) {
  step_through(use_frames);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_GT(tally.compared, 1000u);
}

TEST_F(WalkAtEveryInstruction, OfJumps) {
  step_through(jump);
  EXPECT_LT(tally.lost, 15u);  // where longjmp has half changed the registers
}

TEST_F(WalkAtEveryInstruction, OfSignals) {
  step_through(send_signal);
  EXPECT_EQ(tally.lost, 0u);
}

TEST_F(WalkAtEveryInstruction, OfTheLoader) {
  step_through(look_up_symbols);
  EXPECT_EQ(tally.lost, 0u);
}

}  // namespace
}  // namespace stab::rt
