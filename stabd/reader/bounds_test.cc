// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "stabd/archive.h"
#include "stabd/reader/reader_process.h"
#include "store/test_support.h"

namespace stab::reader {
namespace {

// How a process ends that does this within the bounds.
int status_of(const Bounds& bounds, const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    keep_within(bounds);
    _exit(action());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

constexpr Bounds wide{
    .memory = std::uint64_t{1} << 40, .cpu = std::chrono::hours(1), .written = 1 << 20};

TEST(Bounds, MemoryBeyondThemIsRefused) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer needs more addresses than there are";
#endif
  const auto takes = [](std::size_t bytes) {
    return [bytes] {
      try {
        const auto block = std::make_unique<char[]>(bytes);
        return block[bytes - 1] == 0 ? 0 : 1;
      } catch (const std::bad_alloc&) {
        return 2;
      }
    };
  };
  Bounds bounds = wide;
  bounds.memory = bounds_for(0).memory;
  EXPECT_EQ(WEXITSTATUS(status_of(bounds, takes(std::size_t{64} << 20))), 0);
  EXPECT_EQ(WEXITSTATUS(status_of(bounds, takes(std::size_t{600} << 20))), 2);
}

TEST(Bounds, TimeBeyondThemEndsIt) {
  Bounds bounds = wide;
  bounds.cpu = std::chrono::seconds(1);
  const int status = status_of(bounds, [] {
    for (volatile int i = 0;; i = i + 1) {
    }
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGXCPU);
}

TEST(Bounds, AFileBeyondThemIsNotWritten) {
  const int status = status_of(wide, [] {
    std::string name = testing::TempDir() + "bounds-XXXXXX";
    const Fd file(mkostemp(name.data(), O_CLOEXEC));
    unlink(name.c_str());
    if (!write_all(file.get(), std::string(1 << 20, 'x'))) return 1;
    return !write_all(file.get(), "x") && errno == EFBIG ? 0 : 2;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Bounds, GrowWithTheFileButForTheMemory) {
  const Bounds small = bounds_for(0);
  const Bounds large = bounds_for(std::uint64_t{1} << 30);
  EXPECT_EQ(small.memory, large.memory);
  EXPECT_EQ(large.cpu - small.cpu, std::chrono::seconds(1024));
  EXPECT_GT(large.written, std::uint64_t{8} << 30);
}

TEST(Bounds, WhoOnlyComputesReachesNothingThroughTheKernel) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer needs system calls of its own";
#endif
  std::string name = testing::TempDir() + "alone-XXXXXX";
  const Fd file(mkostemp(name.data(), O_CLOEXEC));
  // The log of a daemon that runs without a service manager.
  std::string log_name = testing::TempDir() + "log-XXXXXX";
  const Fd log(mkostemp(log_name.data(), O_CLOEXEC));
  ASSERT_TRUE(log && write_all(log.get(), "a line\n"));
  const int status = status_of(wide, [&] {
    if (dup2(log.get(), STDOUT_FILENO) < 0 || dup2(log.get(), STDERR_FILENO) < 0) return 10;
    const bool root = geteuid() == 0;
    if (!only_compute(root ? 61234 : geteuid(), root ? 61234 : getegid())) return 1;
    if (open("/etc/passwd", O_RDONLY) != -1 || errno != EPERM) return 2;
    if (open(name.c_str(), O_RDWR) != -1) return 3;
    if (socket(AF_UNIX, SOCK_STREAM, 0) != -1 || errno != EPERM) return 4;
    if (fork() != -1 || kill(getpid(), 0) != -1 || setuid(0) != -1) return 5;
    std::vector<char> memory(std::size_t{8} << 20, 'x');
    if (!write_all(file.get(), std::string_view(memory.data(), 1000))) return 6;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (ftruncate(stream, 0) != -1) return 7;
      static_cast<void>(write_all(stream, "\x1b[2Jforged\n"));
    }
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_file(log_name, 1000).value_or(""), "a line\n");
  unlink(name.c_str());
  unlink(log_name.c_str());
}

constexpr std::uint32_t trials = 250;

// An archive with more than fits into SQLite's cache or a log that is never emptied, and attempts
// that are not the last ones.
void make_archive(const store::TemporaryDirectory& directory, const std::string& plan) {
  const auto store = store::Store::open(directory / "stabd.db");
  ASSERT_TRUE(store);
  store::Experiment row = store::example_experiment();
  row.plan = plan;
  row.state = "done";
  row.trials = trials;
  row.machine = (*store)->add_machine(store::example_machine()).value();
  const store::Id id = (*store)->add_experiment(row).value();
  ASSERT_TRUE((*store)->add_calibrations({store::example_calibration(row.machine, id)}));
  std::vector<store::Trial> all;
  for (std::uint32_t position = 0; position < trials; ++position)
    for (const std::uint32_t attempt : {0U, 1U}) {
      all.push_back(store::example_trial(id, position, attempt));
      all.back().last = attempt == 1;
      all.back().stderr_tail.assign(30'000, 'x');
    }
  ASSERT_TRUE((*store)->add_trials(all));
  ASSERT_TRUE(archive::write(directory / "stabd.db", id, directory / "archive"));
}

// What SQLite does with an archive needs no file that is not open yet. The folder is one that the
// user cannot enter, as the daemon's.
TEST(Bounds, AnArchiveIsReadByAProcessThatOnlyUsesOpenFiles) {
  const std::string plan =
      "[experiment]\nname = \"sort\"\n[[benchmark]]\nname = \"sort\"\nrun = [\"true\"]\n";
  for (const bool earlier : {false, true}) {
    const store::TemporaryDirectory directory;
    if (earlier) {
      store::Experiment row = store::example_experiment();
      row.plan = plan;
      row.state = "done";
      row.trials = trials;
      store::make_version_6(directory / "archive", trials, row);
    } else {
      make_archive(directory, plan);
    }
    if (HasFatalFailure()) return;
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const Fd said(ends[0]);
    Fd say(ends[1]);
    const int status = status_of(bounds_for(std::uint64_t{16} << 20), [&] {
      const bool root = geteuid() == 0;
      const auto taken = archive::take_apart(
          directory / "archive", {.uid = 7, .name = "sent"}, directory / "parts",
          [&] { return only_use_open_files(root ? 61234 : geteuid(), root ? 61234 : getegid()); });
      if (!taken) static_cast<void>(write_all(say.get(), taken.error().message));
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
      if (open("/etc/passwd", O_RDONLY) != -1 || errno != EPERM) return 2;
      if (unlink((directory / "archive").c_str()) != -1 || errno != EPERM) return 3;
      if (symlink("/etc/passwd", (directory / "link").c_str()) != -1) return 4;
      if (socket(AF_UNIX, SOCK_STREAM, 0) != -1 || errno != EPERM) return 5;
      if (fork() != -1 || kill(getpid(), 0) != -1 || setuid(0) != -1) return 6;
#endif
      return taken ? 0 : 1;
    });
    say.reset();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << read_piece(said, 1000).value_or("");
    auto intake = archive::Intake::open(directory / "parts", {.uid = 7});
    ASSERT_TRUE(intake) << intake.error().message;
    const auto store = store::Store::open(directory / "new.db");
    ASSERT_TRUE(store);
    for (;;) {
      const auto more = intake->step(**store);
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) break;
    }
    EXPECT_EQ((*store)->content(intake->id())->trials, earlier ? trials : 2 * trials);
  }
}

}  // namespace
}  // namespace stab::reader
