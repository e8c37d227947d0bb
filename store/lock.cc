// SPDX-License-Identifier: MIT
#include "store/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

namespace stab::store {
namespace {

constexpr int max_tries = 20;  // each takes about 100 ms, see holder()

bool passes_with_time(int number) {
  return number == ENOSPC || number == EDQUOT || number == EROFS || number == EIO ||
         number == ENOMEM || number == EMFILE || number == ENFILE;
}

std::unexpected<StoreError> lock_error(const std::string& what, int number) {
  return std::unexpected(StoreError{.message = fmt::format("{}: {}", what, std::strerror(number)),
                                    .temporary = passes_with_time(number)});
}

pid_t pid_in(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = pread(fd, text.data(), text.size(), 0);
  pid_t pid = 0;
  if (length > 0) std::from_chars(text.data(), text.data() + length, pid);
  return pid;
}

// The holder writes its pid right after it has taken the lock. Until then the file is empty or has
// an earlier holder's pid.
pid_t holder(int fd) {
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = pid_in(fd);
    if (pid > 0 && (kill(pid, 0) == 0 || errno == EPERM)) return pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return pid_in(fd);
}

std::unexpected<StoreError> in_use(const std::string& database_path, int fd) {
  const pid_t pid = holder(fd);
  const std::string who = pid > 0 ? fmt::format("stabd with pid {}", pid) : "another process";
  return std::unexpected(
      StoreError{.message = fmt::format("{} is in use by {}", database_path, who)});
}

}  // namespace

Outcome<Lock> Lock::take(const std::string& database_path) {
  const std::string path = database_path + ".lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return lock_error(fmt::format("cannot create the lock file {}", path), errno);
  // If a holder is killed while it starts a child, that child keeps the lock for a moment.
  for (int tries = 0; flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return lock_error(fmt::format("cannot lock {}", path), errno);
    const pid_t pid = holder(fd.get());
    const bool gone = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    if (!gone || tries == max_tries) return in_use(database_path, fd.get());
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd.get(), 0) != 0) return lock_error(fmt::format("cannot write {}", path), errno);
  if (auto written = write_all(fd.get(), pid); !written)
    return lock_error(fmt::format("cannot write {}", path), errno);
  return Lock(std::move(fd));
}

}  // namespace stab::store
