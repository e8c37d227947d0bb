// SPDX-License-Identifier: MIT
#include <asm/unistd.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/arch/signals.h"

namespace stab::rt {
namespace {

// What a handler would see behind this code, whose last instruction is `syscall`.
struct Interrupted {
  std::vector<std::uint8_t> code;
  ucontext_t context{};

  Interrupted(std::vector<std::uint8_t> before, long result) : code(32, 0x90) {
    code.insert(code.end(), before.begin(), before.end());
    code.push_back(0x0f);
    code.push_back(0x05);
    context.uc_mcontext.gregs[REG_RAX] = result;
    context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(code.data() + code.size());
  }
  [[nodiscard]] greg_t rax() const { return context.uc_mcontext.gregs[REG_RAX]; }
  [[nodiscard]] long back() const {
    return static_cast<long>(code.size()) -
           (context.uc_mcontext.gregs[REG_RIP] - reinterpret_cast<greg_t>(code.data()));
  }
};

TEST(Restart, StartsAWaitingCallAgain) {
  Interrupted poll({0xb8, __NR_poll, 0, 0, 0}, -EINTR);
  restart_system_call(poll.context, SIGUSR1);
  EXPECT_EQ(poll.rax(), __NR_poll);
  EXPECT_EQ(poll.back(), 2);
}

TEST(Restart, FindsTheNumberBehindOtherInstructions) {
  Interrupted futex({0xb8, 0xca, 0, 0, 0, 0x40, 0x80, 0xf6, 0x81}, -EINTR);
  restart_system_call(futex.context, SIGUSR1);
  EXPECT_EQ(futex.rax(), __NR_futex);
  Interrupted read({0x31, 0xc0}, -EINTR);
  restart_system_call(read.context, SIGUSR1);
  EXPECT_EQ(read.rax(), __NR_read);
}

TEST(Restart, TakesATimedWaitOfLibcByItsOperation) {
  Interrupted wait({0x44, 0x89, 0xe0}, -EINTR);
  wait.context.uc_mcontext.gregs[REG_RSI] = 0x189;
  restart_system_call(wait.context, SIGUSR1);
  EXPECT_EQ(wait.rax(), __NR_futex);
}

TEST(Restart, TakesTheCallThatTheKernelIsAboutToGoOnWith) {
  Interrupted poll({0xb8, __NR_poll, 0, 0, 0}, __NR_restart_syscall);
  poll.context.uc_mcontext.gregs[REG_RIP] -= 2;
  restart_system_call(poll.context, SIGUSR1);
  EXPECT_EQ(poll.rax(), __NR_poll);
  EXPECT_EQ(poll.back(), 2);
}

TEST(Restart, LeavesEverythingElseAlone) {
  Interrupted ended({0xb8, __NR_poll, 0, 0, 0}, 1);
  restart_system_call(ended.context, SIGUSR1);
  EXPECT_EQ(ended.rax(), 1);
  EXPECT_EQ(ended.back(), 0);
  Interrupted unknown({0x89, 0xd8}, -EINTR);
  restart_system_call(unknown.context, SIGUSR1);
  EXPECT_EQ(unknown.rax(), -EINTR);
  Interrupted close({0xb8, __NR_close, 0, 0, 0}, -EINTR);
  restart_system_call(close.context, SIGUSR1);
  EXPECT_EQ(close.rax(), -EINTR);
}

// The same at the beginning of a mapping, with nothing before it.
class AtTheBeginning : public testing::Test {
 protected:
  AtTheBeginning()
      : pages_(static_cast<std::uint8_t*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(pages_, page, PROT_NONE);
  }
  ~AtTheBeginning() override { munmap(pages_, 2 * page); }

  // What rax holds after a signal behind this code.
  greg_t after(const std::vector<std::uint8_t>& code, long result, std::size_t at) {
    std::ranges::copy(code, pages_ + page);
    ucontext_t context{};
    context.uc_mcontext.gregs[REG_RAX] = result;
    context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(pages_ + page + at);
    restart_system_call(context, SIGUSR1);
    return context.uc_mcontext.gregs[REG_RAX];
  }

 private:
  static constexpr std::size_t page = 4096;
  std::uint8_t* pages_;
};

TEST_F(AtTheBeginning, ReadsNothingBeforeACall) {
  EXPECT_EQ(after({0x0f, 0x05}, -EINTR, 2), -EINTR);
  EXPECT_EQ(after({0x0f, 0x05}, __NR_restart_syscall, 0), __NR_restart_syscall);
}

TEST_F(AtTheBeginning, FindsTheNumberInWhatCanBeRead) {
  EXPECT_EQ(after({0xb8, __NR_poll, 0, 0, 0, 0x0f, 0x05}, -EINTR, 7), __NR_poll);
  EXPECT_EQ(after({0x31, 0xc0, 0x0f, 0x05}, -EINTR, 4), __NR_read);
}

TEST_F(AtTheBeginning, ReadsNothingBeforeCodeThatIsNoCall) {
  EXPECT_EQ(after({0x90}, -EINTR, 0), -EINTR);
  EXPECT_EQ(after({0x90, 0x90}, -EINTR, 1), -EINTR);
}

// What `call` holds after a restart while this signal is pending.
long long restarted_while_pending(int signal) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_kill(pthread_self(), signal);
  Interrupted poll({0xb8, __NR_poll, 0, 0, 0}, -EINTR);
  restart_system_call(poll.context, SIGUSR1);
  const timespec now = {};
  sigtimedwait(&blocked, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return poll.rax();
}

void on_any(int /*number*/) {}

TEST(Restart, OnlySignalsThatTheProgramHandlesInterrupt) {
  EXPECT_EQ(restarted_while_pending(SIGUSR1), __NR_poll);
  EXPECT_EQ(restarted_while_pending(SIGCONT), __NR_poll);
  ASSERT_NE(signal(SIGUSR2, on_any), SIG_ERR);
  EXPECT_EQ(restarted_while_pending(SIGUSR2), -EINTR);
  signal(SIGUSR2, SIG_DFL);
}

// What a call holds that an alarm finds ended.
long long restarted_after_alarm(std::uint8_t low, std::uint8_t high) {
  Interrupted wait({0xb8, low, high, 0, 0}, -EINTR);
  restart_uninterrupted_call(wait.context, SIGUSR1);
  return wait.rax();
}

TEST(Restart, AnAlarmDoesNotUndoTheEndThatAHandlerBroughtAbout) {
  EXPECT_EQ(restarted_after_alarm(__NR_pause, 0), __NR_pause);
  ASSERT_NE(signal(SIGUSR2, on_any), SIG_ERR);
  EXPECT_EQ(restarted_after_alarm(__NR_pause, 0), -EINTR);
  EXPECT_EQ(restarted_after_alarm(__NR_io_uring_enter & 0xff, __NR_io_uring_enter >> 8),
            __NR_io_uring_enter);
  signal(SIGUSR2, SIG_DFL);
}

volatile sig_atomic_t handled;
std::atomic<bool> all_sent;  // two that are pending at once are one

void on_signal(int /*number*/, siginfo_t* /*info*/, void* context) {
  restart_system_call(*static_cast<ucontext_t*>(context), SIGUSR1);
  handled = handled + 1;
}

void* interrupt(void* thread) {
  for (int i = 0; i < 20; ++i) {
    const timespec pause = {0, 2000000};
    nanosleep(&pause, nullptr);
    pthread_kill(*static_cast<pthread_t*>(thread), SIGUSR1);
  }
  all_sent = true;
  return nullptr;
}

TEST(Restart, HidesTheSignalFromRealCalls) {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  pthread_t self = pthread_self();
  pthread_t other{};
  ASSERT_EQ(pthread_create(&other, nullptr, interrupt, &self), 0);
  int interrupted = 0;
  while (!all_sent || handled == 0) {
    if (poll(nullptr, 0, 10) != 0) ++interrupted;
    const timespec pause = {0, 3000000};
    if (nanosleep(&pause, nullptr) != 0) ++interrupted;
  }
  pthread_join(other, nullptr);
  EXPECT_EQ(interrupted, 0);
}

}  // namespace
}  // namespace stab::rt
