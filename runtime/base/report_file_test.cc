// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "runtime/base/os.h"
#include "runtime/base/output_files.h"

namespace stab::rt {
namespace {

TEST(Report, IsEndedByOneThreadUntilItIsResumed) {
  constexpr int thread_count = 8;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ended = 0;
    std::barrier start(thread_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        if (end_report()) ++ended;
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(ended, 1);
    resume_report();
  }
}

TEST(Report, GivesNoSignalIfNobodyReadsThePipe) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto is_pending = [] {
    sigset_t pending = {};
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
  };
  sigset_t broken_pipe = {};
  sigset_t mask = {};
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  EXPECT_FALSE(os::write_all_without_signal(ends[1], "line", 4));
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &broken_pipe, &mask), 0);
  EXPECT_FALSE(os::write_all_without_signal(ends[1], "line", 4));
  EXPECT_FALSE(is_pending());
  // The program's own signal stays.
  EXPECT_EQ(raise(SIGPIPE), 0);
  EXPECT_FALSE(os::write_all_without_signal(ends[1], "line", 4));
  ASSERT_TRUE(is_pending());
  int number = 0;
  EXPECT_EQ(sigwait(&broken_pipe, &number), 0);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  close(ends[1]);
}

}  // namespace
}  // namespace stab::rt
