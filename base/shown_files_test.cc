// SPDX-License-Identifier: MIT
#include "base/shown_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "base/fd.h"

namespace stab {
namespace {

Fd file_with(const std::string& text) {
  Fd file(memfd_create("shown", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), text)) std::abort();
  return file;
}

// Whether a process of the same user reads this there, and writes a word behind it.
bool is_open_to_others(const std::string& path, const std::string& text) {
  const std::string command =
      fmt::format("test \"$(cat {0})\" = '{1}' && echo -n ! >>{0}", path, text);
  return std::system(command.c_str()) == 0;
}

// The process whose descriptor the path names.
pid_t holder_in(const std::string& path) {
  return static_cast<pid_t>(std::stol(path.substr(sizeof "/proc/" - 1)));
}

bool ends(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    usleep(10'000);
  }
  return false;
}

// Runs this in a process that nobody may look into, of a user without rights; its exit code.
template <class What>
int hidden(What what) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t somebody = 61234;
    if (geteuid() == 0 &&
        (setgroups(0, nullptr) != 0 || setresuid(somebody, somebody, somebody) != 0))
      _exit(100);
    if (prctl(PR_SET_DUMPABLE, 0) != 0) _exit(101);
    _exit(what());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ShownFiles, OfAProcessThatOthersSeeAreItsOwn) {
  const Fd file = file_with("here");
  const std::string path = path_for_others(file.get());
  EXPECT_TRUE(path.starts_with(fmt::format("/proc/{}/", getpid()))) << path;
  EXPECT_TRUE(is_open_to_others(path, "here"));
  EXPECT_TRUE(is_open_to_others(path, "here!"));
  EXPECT_FALSE(holds_our_files(getpid()));
  EXPECT_EQ(path_for_others(-1), "");
}

TEST(ShownFiles, OfAHiddenProcessAreOpenAllTheSameAndNothingElseOfItIs) {
  EXPECT_EQ(hidden([] {
              const Fd secret = file_with("secret");
              const Fd file = file_with("here");
              const std::string path = path_for_others(file.get());
              const auto its = [](pid_t process, const Fd& fd) {
                return fmt::format("/proc/{}/fd/{}", process, fd.get());
              };
              if (!is_open_to_others(path, "here")) return 1;
              if (is_open_to_others(its(getpid(), secret), "secret")) return 2;
              if (is_open_to_others(its(holder_in(path), secret), "secret")) return 3;
              const auto open =
                  std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", holder_in(path)));
              if (std::distance(begin(open), end(open)) != 3)
                return 4;  // and the pipe for which it waits
              return 0;
            }),
            0);
}

TEST(ShownFiles, KeepTheirPathsAndNobodyWaitsForWhoHoldsThem) {
  EXPECT_EQ(hidden([] {
              const Fd first = file_with("first");
              const std::string path = path_for_others(first.get());
              if (path_for_others(first.get()) != path || !holds_our_files(holder_in(path)))
                return 1;
              if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) return 2;
              Fd second = file_with("second");
              const int number = second.get();
              if (!is_open_to_others(path_for_others(number), "second")) return 3;
              if (!is_open_to_others(path, "first") || path_for_others(first.get()) != path)
                return 4;
              // The same number, another file.
              second = Fd();
              second = file_with("third");
              if (second.get() != number) return 5;
              if (!is_open_to_others(path_for_others(number), "third")) return 6;
              if (!is_open_to_others(path, "first!")) return 7;
              return 0;
            }),
            0);
}

TEST(ShownFiles, AreShownAgainWhenSomebodyHasEndedTheChild) {
  EXPECT_EQ(hidden([] {
              const Fd file = file_with("here");
              const std::string first = path_for_others(file.get());
              const pid_t before = holder_in(first);
              kill(before, SIGKILL);
              siginfo_t how{};
              if (waitid(P_PID, static_cast<id_t>(before), &how, WEXITED | WNOWAIT | __WALL) != 0)
                return 1;
              const std::string path = path_for_others(file.get());
              if (path.size() != first.size() || path == first) return 2;
              return is_open_to_others(path, "here") ? 0 : 3;
            }),
            0);
}

TEST(ShownFiles, AreGoneWithTheProcessHoweverItEnds) {
  std::array<int, 2> ends_of_pipe{};
  ASSERT_EQ(pipe2(ends_of_pipe.data(), O_CLOEXEC), 0);
  const Fd told(ends_of_pipe[0]);
  const Fd tells(ends_of_pipe[1]);
  EXPECT_EQ(hidden([&] {
              const Fd file = file_with("here");
              const pid_t holder = holder_in(path_for_others(file.get()));
              if (!write_all(tells.get(), {reinterpret_cast<const char*>(&holder), sizeof holder}))
                return 1;
              raise(SIGKILL);
              return 2;
            }),
            -SIGKILL);
  pid_t holder = 0;
  ASSERT_EQ(read(told.get(), &holder, sizeof holder), ssize_t{sizeof holder});
  EXPECT_TRUE(ends(holder));
}

}  // namespace
}  // namespace stab
