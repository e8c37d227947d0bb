// SPDX-License-Identifier: MIT
// S5: one process writes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// A process that holds the store until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    std::array<int, 2> ready{};
    if (pipe(ready.data()) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      const auto store = Store::open(path);
      const char told = store ? 'y' : 'n';
      if (write(ready[1], &told, 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char told = 'n';
    holds_ = read(ready[0], &told, 1) == 1 && told == 'y';
    close(ready[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { end(); }

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] bool holds() const { return holds_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  bool holds_ = false;
};

TEST(Lock, ASecondProcessIsRefusedWithThePidOfTheFirst) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  const Holder holder(path);
  ASSERT_TRUE(holder.holds());
  const auto store = Store::open(path);
  ASSERT_FALSE(store);
  EXPECT_FALSE(store.error().temporary);
  EXPECT_THAT(store.error().message,
              EndsWith("is in use by stabd with pid " + std::to_string(holder.pid())));
}

TEST(Lock, AnotherNameOfTheSameFileIsRefusedToo) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  const Holder holder(path);
  ASSERT_TRUE(holder.holds());
  ASSERT_EQ(symlink(path.c_str(), (directory / "alias.db").c_str()), 0);
  const auto store = Store::open(directory / "alias.db");
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("in use by stabd with pid"));
}

TEST(Lock, EndsWithItsHolderHoweverThatEnds) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Holder holder(path);
  ASSERT_TRUE(holder.holds());
  holder.end();
  EXPECT_TRUE(Store::open(path));
}

TEST(Lock, ASecondOpenInTheSameProcessIsRefusedUntilTheFirstIsClosed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  auto first = open_or_fail(path);
  const auto second = Store::open(path);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("pid " + std::to_string(getpid())));
  first.reset();
  EXPECT_TRUE(Store::open(path));
}

TEST(Lock, IsNotInheritedByAProgramThatAChildExecutes) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  auto store = open_or_fail(path);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "100", nullptr);
    _exit(127);
  }
  // The child has executed when its close-on-exec descriptors are gone: then the lock is free once
  // we close.
  store.reset();
  bool free = false;
  for (int i = 0; i < 6000 && !free; ++i) {
    free = Store::open(path).has_value();
    if (!free) usleep(10000);
  }
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the child must still be there";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(free);
}

}  // namespace
}  // namespace stab::store
