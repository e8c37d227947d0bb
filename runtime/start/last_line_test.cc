// SPDX-License-Identifier: MIT
#include "runtime/start/last_line.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace stab::rt {
namespace {

constexpr std::uint64_t second = 1000 * 1000 * 1000;

bool begins_elsewhere(LastLine& line) {
  bool began = false;
  std::thread([&] { began = line.begin(); }).join();
  return began;
}

TEST(LastLine, IsWrittenByOneThreadAndTheOthersWaitForIt) {
  constexpr int thread_count = 8;
  for (int round = 0; round < 200; ++round) {
    LastLine line(1000 * second);
    std::atomic<int> writers = 0;
    std::atomic<int> early = 0;
    std::atomic<bool> is_written = false;
    std::barrier start(thread_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        if (line.begin()) {
          ++writers;
          std::this_thread::yield();
          is_written = true;
          line.end();
        } else if (!is_written) {
          ++early;
        }
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(writers, 1);
    ASSERT_EQ(early, 0);
  }
}

TEST(LastLine, IsWrittenByAHandlerThatInterruptsItsOwnThread) {
  LastLine line(second);
  EXPECT_TRUE(line.begin());
  EXPECT_TRUE(line.begin());
  line.end();
  EXPECT_FALSE(line.begin());
  EXPECT_FALSE(begins_elsewhere(line));
}

TEST(LastLine, IsNotWaitedForForEver) {
  LastLine line(1000);
  EXPECT_TRUE(line.begin());
  EXPECT_FALSE(begins_elsewhere(line));
}

TEST(LastLine, OfAChildIsItsOwnWhateverTheParentWasAt) {
  for (const bool is_written : {false, true}) {
    LastLine line(1000 * second);
    EXPECT_TRUE(line.begin());
    if (is_written) line.end();
    const pid_t child = fork();
    if (child == 0) _exit(line.begin() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace stab::rt
