// SPDX-License-Identifier: MIT
#include "base/shown_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

#include "base/fd.h"

namespace stab {
namespace {

// The inode of a descriptor's file, because the descriptor's number may be reused for another file,
// and the child that holds the file.
struct Held {
  ino_t file = 0;
  pid_t holder = 0;
};

std::map<int, Held>& held() {
  static std::map<int, Held> all;
  return all;
}

ino_t file_behind(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

bool is_alive(pid_t holder) {
  return holder != 0 && waitpid(holder, nullptr, WNOHANG | __WALL) == 0;
}

void close_all_but(int low, int high) {
  const auto close_from_to = [](int first, unsigned last) {
    if (std::cmp_less_equal(first, last)) syscall(SYS_close_range, first, last, 0U);
  };
  if (low > 0) close_from_to(0, static_cast<unsigned>(low) - 1);
  close_from_to(low + 1, static_cast<unsigned>(high) - 1);
  close_from_to(high + 1, ~0U);
}

// The holder's code: it reads a pipe that nobody writes to, and so waits forever.
[[noreturn]] void hold(int file, int ready, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (syscall(SYS_getppid) != parent) _exit(1);
  setsid();
  prctl(PR_SET_NAME, "stab-files");
  close_all_but(std::min(file, ready), std::max(file, ready));
  std::array<int, 2> forever{};
  if (pipe2(forever.data(), O_CLOEXEC) != 0) _exit(1);
  prctl(PR_SET_DUMPABLE, 1);
  if (write(ready, "", 1) != 1) _exit(1);
  close(ready);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  char never = 0;
  for (;;) static_cast<void>(!read(forever[0], &never, 1));
}

// Like fork(), but the child sends no signal when it ends, so that a wait() for other children does
// not see it.
pid_t fork_unseen() {
  clone_args arguments{};
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

void end_holder(pid_t holder) {
  if (holder == 0) return;
  kill(holder, SIGKILL);
  while (waitpid(holder, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

// Returns 0 if no holder could be started.
pid_t start_holder(int file) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return 0;
  const Fd told(ends[0]);
  Fd ready(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork_unseen();
  if (child == 0) hold(file, ready.get(), parent);
  if (child < 0) return 0;
  ready.reset();
  char byte = 0;
  ssize_t size = 0;
  while ((size = read(told.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  if (size == 1) return child;
  end_holder(child);
  return 0;
}

// Pads the path to the same length for every pid: it is put into a program's environment, whose
// size moves the program's stack.
std::string path_in(pid_t process, int fd) {
  return fmt::format("/proc/{}{:/<{}}fd/{}", process, "",
                     std::max<std::size_t>(11 - fmt::formatted_size("{}", process), 1), fd);
}

}  // namespace

std::string path_for_others(int fd) {
  const ino_t file = file_behind(fd);
  if (file == 0) return "";
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1) return path_in(getpid(), fd);
  auto& all = held();
  const auto known = all.find(fd);
  if (known != all.end() && known->second.file == file && is_alive(known->second.holder))
    return path_in(known->second.holder, fd);
  std::erase_if(all, [fd](const auto& each) {
    const bool goes = each.first == fd || file_behind(each.first) != each.second.file;
    if (goes) end_holder(each.second.holder);
    return goes;
  });
  const pid_t holder = start_holder(fd);
  if (holder == 0) return "";
  all[fd] = {.file = file, .holder = holder};
  return path_in(holder, fd);
}

bool holds_our_files(pid_t process) {
  return std::ranges::any_of(held(),
                             [process](const auto& each) { return each.second.holder == process; });
}

}  // namespace stab
