// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace stab::rt
