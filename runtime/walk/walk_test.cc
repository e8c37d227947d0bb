// SPDX-License-Identifier: MIT
// The walker against libgcc's unwinder, in signals that real frames send to themselves.
#include "runtime/walk/walk.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/walk/test_tools.h"

namespace stab::rt {
namespace {

using testing::Trace;

Trace ours;
Trace theirs;

void on_signal(int, siginfo_t*, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  testing::walk_from(interrupted, ours);
  testing::trace_by_libgcc(static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RIP]), theirs);
}

void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  ASSERT_EQ(sigaction(number, &action, nullptr), 0);
}

class WalkFromSignal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::has_thread_sanitizer) GTEST_SKIP() << "signals are put off";
    handle(SIGUSR1, on_signal);
    ours.count = 0;
    theirs.count = 0;
  }
};

void expect_same() {
  EXPECT_EQ(ours.end, Step::bottom);
  EXPECT_TRUE(ours.slots_hold);
  EXPECT_GT(ours.count, 5u);
  EXPECT_EQ(ours.count, theirs.count);
  EXPECT_EQ(testing::first_difference(ours, theirs), theirs.count);
}

#define NEVER_INLINED __attribute__((noinline))
#define UNOPTIMIZED __attribute__((noinline, optnone))

volatile int sink;

NEVER_INLINED int leaf(int n) {
  raise(SIGUSR1);
  return n | sink;
}
UNOPTIMIZED int with_frame_pointer(int n) {
  return leaf(n) ^ 1;
}
NEVER_INLINED int with_array(int n) {
  auto* bytes = static_cast<char*>(alloca(static_cast<size_t>(n)));
  std::memset(bytes, n, static_cast<size_t>(n));
  return with_frame_pointer(n) ^ bytes[n / 2];
}
NEVER_INLINED int over_aligned(int n) {
  alignas(256) volatile char bytes[300];
  bytes[n % 300] = static_cast<char>(n);
  return with_array(n) ^ bytes[n % 300];
}
UNOPTIMIZED int over_aligned_with_array(int n) {
  alignas(128) volatile char bytes[200];
  auto* more = static_cast<volatile char*>(alloca(static_cast<size_t>(n)));
  bytes[n % 200] = static_cast<char>(n);
  more[0] = 1;
  return over_aligned(n) ^ bytes[n % 200] ^ more[0];
}
NEVER_INLINED int deep(int n) {
  return n == 0 ? over_aligned_with_array(100) : deep(n - 1) | sink;
}
[[noreturn]] NEVER_INLINED void ends_with_its_call(int n) {
  sink = deep(n);
  pthread_exit(nullptr);
}

TEST_F(WalkFromSignal, FollowsFramesOfEveryShape) {
  sink = deep(10);
  expect_same();
  EXPECT_GT(ours.count, 16u);
}

TEST_F(WalkFromSignal, FollowsFramesOfLibc) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, [](const void* a, const void* b) {
    sink = deep(1);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  expect_same();
}

TEST_F(WalkFromSignal, EndsWhereAThreadBegins) {
  std::thread([] { sink = deep(3); }).join();
  expect_same();
}

TEST_F(WalkFromSignal, LooksUpTheCallAndNotWhatFollowsIt) {
  pthread_t thread = {};
  auto* start = +[](void*) -> void* { ends_with_its_call(2); };
  ASSERT_EQ(pthread_create(&thread, nullptr, start, nullptr), 0);
  pthread_join(thread, nullptr);
  expect_same();
}

TEST_F(WalkFromSignal, FollowsTenThousandFrames) {
  static uint64_t count;
  handle(SIGUSR1, [](int, siginfo_t*, void* context) {
    Walk walk;
    begin_walk(walk, *static_cast<ucontext_t*>(context));
    Step end = Step::caller;
    for (count = 0; end == Step::caller; ++count)
      end = step(walk, testing::find_by_loader, nullptr);
    if (end != Step::bottom) count = 0;
  });
  sink = deep(10000);
  EXPECT_GT(count, 10000u);
}

// A signal in a signal.
void on_outer(int, siginfo_t*, void*) {
  sink = deep(1);
}

TEST_F(WalkFromSignal, GoesOnBelowASignalFrame) {
  handle(SIGUSR2, on_outer);
  raise(SIGUSR2);
  expect_same();
}

TEST_F(WalkFromSignal, GoesOnFromAnAlternateStackAboveOrBelow) {
  constexpr size_t size = size_t{1} << 18;
  static char storage[size];  // below the program's stack
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  for (void* place : {static_cast<void*>(storage), mapped}) {
    const auto run = [place] {
      const stack_t stack = {place, 0, size};
      const stack_t none = {nullptr, SS_DISABLE, 0};
      sigaltstack(&stack, nullptr);
      raise(SIGUSR2);
      sigaltstack(&none, nullptr);
    };
    handle(SIGUSR2, on_outer, SA_ONSTACK);
    std::thread(run).join();
    expect_same();
    run();
    expect_same();
  }
  munmap(mapped, size);
}

// Like the runtime's own trampoline, in arch/signals.cc.
__attribute__((naked)) void short_trampoline() {
  __asm__ volatile("movl $15, %eax\n\tsyscall");
}

TEST_F(WalkFromSignal, KnowsTheRuntimesTrampoline) {
  struct Action {
    void (*handler)(int, siginfo_t*, void*);
    uint64_t flags;
    void (*restorer)();
    uint64_t mask;
  };
  const Action action = {on_outer, 0x04000004, short_trampoline, 0};
  ASSERT_EQ(syscall(13, SIGUSR2, &action, nullptr, 8), 0);
  raise(SIGUSR2);
  EXPECT_EQ(ours.end, Step::bottom);
  EXPECT_TRUE(ours.slots_hold);
  EXPECT_EQ(ours.frames[ours.count - 1].pc, [] {
    raise(SIGUSR1);
    return ours.frames[ours.count - 1].pc;
  }());
}

// Calls, and returns where it then runs.
__attribute__((naked)) uint64_t movable(void (*)()) {
  __asm__ volatile(
      "pushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_offset %rbx, -16\n\t"
      "call *%rdi\n\tleaq 0(%rip), %rax\n\t"
      "popq %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret");
}

constexpr uint64_t movable_size = 12;
uint64_t original;
uint64_t copy;

bool find_in_copy(uint64_t pc, FrameDescription& description, void*) {
  if (pc - copy >= movable_size) return testing::find_by_loader(pc, description, nullptr);
  if (!testing::find_by_loader(pc - copy + original, description, nullptr)) return false;
  description.function_start = copy;
  return true;
}

uint64_t frames_of_copy;
Step end_with_copy;

TEST_F(WalkFromSignal, MovesAFrameToACopyOfItsFunction) {
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  original = reinterpret_cast<uint64_t>(movable);
  copy = reinterpret_cast<uint64_t>(mapped) + 1024;
  std::memcpy(reinterpret_cast<void*>(copy), reinterpret_cast<void*>(original), movable_size);
  mprotect(mapped, 4096, PROT_READ | PROT_EXEC);
  frames_of_copy = 0;
  handle(SIGUSR1, [](int, siginfo_t*, void* context) {
    Walk walk;
    begin_walk(walk, *static_cast<ucontext_t*>(context));
    do {
      if (walk.pc - copy < movable_size) ++frames_of_copy;
      if (walk.pc - original < movable_size) *walk.pc_slot += copy - original;
      end_with_copy = step(walk, find_in_copy, nullptr);
    } while (end_with_copy == Step::caller);
  });
  const uint64_t at = movable([] {
    sink = deep(2);
    sink = deep(3);
  });
  EXPECT_LT(at - copy, movable_size);
  EXPECT_EQ(frames_of_copy, 1u);
  EXPECT_EQ(end_with_copy, Step::bottom);
  munmap(mapped, 4096);
}

// Walks 3 and Walks 4: what no call can have left there is no return address, and what was walked before
// is still known. Overwrites the return address of frame 4 for the time of a walk.
uint64_t overwriting;

void overwrite_and_walk(int, siginfo_t*, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  Walk walk;
  begin_walk(walk, interrupted);
  for (int i = 0; i < 4; ++i) step(walk, testing::find_by_loader, nullptr);
  uint64_t* slot = walk.pc_slot;
  const uint64_t right = *slot;
  *slot = overwriting == 1 ? right + 1 : overwriting;
  testing::walk_from(interrupted, ours);
  *slot = right;
}

TEST_F(WalkFromSignal, IsLostInAStackThatWasOverwritten) {
  handle(SIGUSR1, overwrite_and_walk);
  static char bytes[256];
  const auto data = reinterpret_cast<uint64_t>(&bytes[128]);
  for (const uint64_t value : {uint64_t{1}, uint64_t{2}, uint64_t{0x30}, uint64_t{5000}, data,
                               uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX}) {
    overwriting = value;
    ours.count = 0;
    sink = deep(3);
    EXPECT_EQ(ours.end, Step::lost);
    EXPECT_EQ(ours.count, 4u) << value;
  }
}

sigjmp_buf after_fault;

// Without a look at what is called.
__attribute__((noinline, no_sanitize("undefined"))) void call(uint64_t address) {
  reinterpret_cast<void (*)()>(address)();
}

TEST_F(WalkFromSignal, IsLostAfterACallOfNothing) {
  handle(SIGSEGV, [](int, siginfo_t*, void* context) {
    testing::walk_from(*static_cast<ucontext_t*>(context), ours);
    siglongjmp(after_fault, 1);
  });
  for (const uint64_t value : {uint64_t{0}, uint64_t{0x30}}) {
    ours.count = 0;
    if (sigsetjmp(after_fault, 1) == 0) call(value);
    EXPECT_EQ(ours.end, Step::lost);
    EXPECT_EQ(ours.count, 1u);
  }
  signal(SIGSEGV, SIG_DFL);
}

}  // namespace
}  // namespace stab::rt
