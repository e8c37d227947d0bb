// SPDX-License-Identifier: MIT
// Threads that sleep in the kernel: of their registers only the program counter and the stack
// pointer can be had, from /proc. What the walker then finds is right, or it is lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "runtime/walk/test_tools.h"
#include "runtime/walk/walk.h"

namespace stab::rt {
namespace {

#define NEVER_INLINED __attribute__((noinline))
#define UNOPTIMIZED __attribute__((noinline, optnone))

int pipe_ends[2];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
std::atomic<bool> over;
std::atomic<bool> finished;

NEVER_INLINED void sleep_in_nanosleep() {
  const timespec time = {1000, 0};
  while (!over) nanosleep(&time, nullptr);
}
NEVER_INLINED void sleep_in_read() {
  char byte = 0;
  while (read(pipe_ends[0], &byte, 1) != 1 && errno == EINTR) {
  }
}
NEVER_INLINED void sleep_in_wait() {
  pthread_mutex_lock(&mutex);
  while (!over) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

using Sleep = void (*)();
volatile int sink;

// Each frame's own view of where it will return to.
struct Returns {
  uint64_t addresses[8];
  uint32_t count = 0;
  std::atomic<int> thread = 0;
};

UNOPTIMIZED int unoptimized(Sleep sleep, Returns& returns, int depth) {
  returns.addresses[returns.count++] = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  if (depth != 0) return unoptimized(sleep, returns, depth - 1) + 1;
  returns.thread = static_cast<int>(syscall(SYS_gettid));
  sleep();
  return sink;
}
NEVER_INLINED int optimized(Sleep sleep, Returns& returns, int depth) {
  returns.addresses[returns.count++] = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  if (depth != 0) return optimized(sleep, returns, depth - 1) + sink;
  returns.thread = static_cast<int>(syscall(SYS_gettid));
  sleep();
  return sink;
}

// False: it runs.
bool read_sleeper(int thread, uint64_t& pc, uint64_t& stack_pointer) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char text[300] = {};
  const auto size = read(file, text, sizeof text - 1);
  close(file);
  return size > 0 &&
         std::sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %lx %lx", &stack_pointer, &pc) == 2;
}

void end_sleep(std::thread& thread) {
  over = true;
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  while (!finished) {
    pthread_kill(thread.native_handle(), SIGUSR1);
    usleep(1000);
  }
  thread.join();
}

// The innermost frames first.
std::vector<uint64_t> expected(const Returns& returns) {
  return {std::make_reverse_iterator(returns.addresses + returns.count),
          std::make_reverse_iterator(returns.addresses)};
}

struct Result {
  Step end = Step::lost;
  std::vector<uint64_t> found;  // return addresses, from the first that the sleeper recorded
  bool slots_hold = true;
};

Result walk_sleeper(int thread, uint64_t innermost) {
  Result result;
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  while (!read_sleeper(thread, pc, stack_pointer)) usleep(1000);
  Walk walk;
  begin_walk(walk, pc, stack_pointer);
  do {
    result.slots_hold = result.slots_hold && testing::slots_hold(walk);
    if (walk.pc == innermost || !result.found.empty()) result.found.push_back(walk.pc);
    result.end = step(walk, testing::find_by_loader, nullptr);
  } while (result.end == Step::caller);
  return result;
}

using Function = int (*)(Sleep, Returns&, int);

Result run(Function function, Sleep sleep) {
  EXPECT_EQ(pipe(pipe_ends), 0);
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  over = finished = false;
  Returns returns;
  std::thread thread([&] {
    sink = function(sleep, returns, 4);
    finished = true;
  });
  while (returns.thread == 0) usleep(1000);
  const std::vector<uint64_t> right = expected(returns);
  Result result = walk_sleeper(returns.thread, right[0]);
  end_sleep(thread);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  // A prefix of what is right, all of it if the walk got to the end.
  const size_t count = std::min(result.found.size(), right.size());
  EXPECT_TRUE(
      std::equal(right.begin(), right.begin() + static_cast<long>(count), result.found.begin()));
  EXPECT_TRUE(result.end == Step::lost || count == right.size());
  EXPECT_TRUE(result.slots_hold);
  std::printf("%s after %zu of %zu\n", result.end == Step::lost ? "lost" : "bottom", count,
              right.size());
  return result;
}

TEST(WalkASleeper, OfOptimizedFunctionsToTheEnd) {
  if (testing::has_address_sanitizer || testing::has_thread_sanitizer)
    GTEST_SKIP() << "a sanitizer's functions between sleeper and kernel need their frame pointers";
  EXPECT_EQ(run(optimized, sleep_in_nanosleep).end, Step::bottom);
  EXPECT_EQ(run(optimized, sleep_in_read).end, Step::bottom);
  EXPECT_EQ(run(optimized, sleep_in_wait).end, Step::bottom);
}

// Frame pointers are known only if somebody saved one.
TEST(WalkASleeper, OfUnoptimizedFunctionsRightlyOrNotAtAll) {
  run(unoptimized, sleep_in_nanosleep);
  run(unoptimized, sleep_in_read);
  run(unoptimized, sleep_in_wait);
}

}  // namespace
}  // namespace stab::rt
