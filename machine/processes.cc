// SPDX-License-Identifier: MIT

#include "machine/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/shown_files.h"

namespace stab::machine {

std::optional<std::int64_t> migrations_in(std::string_view sched) {
  // The kernel pads the name and the number: "se.nr_migrations      :       3".
  constexpr std::string_view name = "se.nr_migrations ";
  const auto place = sched.find(name);
  if (place == std::string_view::npos || (place != 0 && sched[place - 1] != '\n'))
    return std::nullopt;
  std::string_view line = sched.substr(place + name.size());
  const auto end = line.find('\n');
  if (end == std::string_view::npos) return std::nullopt;  // the text was cut
  line = line.substr(0, end);
  const auto digits = line.find_first_not_of(" :\t");
  if (digits == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [stop, error] =
      std::from_chars(line.data() + digits, line.data() + line.size(), number);
  if (error != std::errc() || stop != line.data() + line.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<std::int64_t> migrations_of(pid_t process) {
  std::array<char, 32> path{"/proc/self/sched"};
  if (process != 0)
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/sched", process).out = 0;
  const Fd fd(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> text;  // the line is near the beginning
  const ssize_t size = fd ? read(fd.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  return migrations_in({text.data(), static_cast<std::size_t>(size)});
}

namespace {

using Clock = std::chrono::steady_clock;

struct Stat {
  char state = '?';
  pid_t parent = 0;
  unsigned flags = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t environment_end = 0;  // also 0 if we may not know it
};

// The command name may contain spaces and parentheses, but the fields after the last ')' don't.
std::optional<Stat> read_stat_of(const std::string& file) {
  const auto text = read_file(file, 65536);
  if (!text) return std::nullopt;
  const auto after = text->rfind(')');
  if (after == std::string::npos) return std::nullopt;
  Stat stat;
  unsigned long long start = 0;
  unsigned long long environment_end = 0;
  const int read = std::sscanf(text->c_str() + after + 1,
                               " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
                               " %*d %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u"
                               " %*u %*u %*d %*d %*u %*u %*u %*u %*d %*u %*u %*u %*u %*u %*u %llu",
                               &stat.state, &stat.parent, &stat.flags, &start, &environment_end);
  stat.start_ticks = start;
  stat.environment_end = environment_end;
  return read >= 4 ? std::optional(stat) : std::nullopt;
}

std::optional<Stat> read_stat(pid_t pid) {
  return read_stat_of(fmt::format("/proc/{}/stat", pid));
}

// The pids or thread ids among the entries of a folder in /proc.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir(folder.c_str()), closedir);
  if (!proc) return pids;
  while (const dirent* entry = readdir(proc.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

bool dead(char state) {
  return state == 'Z' || state == 'X';
}

bool has_living_thread(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  return std::ranges::any_of(numbers_in(folder), [&](pid_t thread) {
    const auto stat = read_stat_of(fmt::format("{}/{}/stat", folder, thread));
    return stat && !dead(stat->state);
  });
}

// The kernel's PF_EXITING and PF_KTHREAD.
constexpr unsigned exiting = 0x00000004;
constexpr unsigned kernel_thread = 0x00200000;

Result<std::string> environment_of(pid_t pid) {
  return read_file(fmt::format("/proc/{}/environ", pid), std::size_t{4} << 20);
}

// Each thread has its own list of children.
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
    const auto list = read_file(fmt::format("/proc/{}/task/{}/children", pid, thread), 1 << 20);
    if (!list) continue;
    std::istringstream words(*list);
    for (pid_t child = 0; words >> child;) children.push_back(child);
  }
  return children;
}

void reap_all() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool is_of_kernel(pid_t process) {
  const auto stat = read_stat(process);
  return stat && (stat->flags & kernel_thread) != 0;
}

bool is_ending(pid_t process) {
  const auto stat = read_stat(process);
  return stat && (stat->flags & exiting) != 0;
}

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = read_stat(pid);
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 256);
  if (!stat || !boot) return std::nullopt;
  return ProcessId{pid, stat->start_ticks, boot->substr(0, boot->find('\n'))};
}

Result<void> adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return fail_errno("cannot become the parent of orphaned processes");
  return {};
}

std::vector<pid_t> descendants(Which which) {
  std::vector<pid_t> found;
  std::vector<pid_t> open{getpid()};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const pid_t child : children_of(parent)) {
      if (holds_our_files(child)) continue;
      open.push_back(child);
      const auto stat = read_stat(child);
      if (!stat) continue;
      if (which == Which::all || !dead(stat->state) || has_living_thread(child))
        found.push_back(child);
    }
  }
  return found;
}

Result<unsigned> end_descendants(Containment containment, std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  unsigned ended = 0;
  bool first = true;
  for (;;) {
    reap_all();
    // Usually there are no children at all, and we need not walk through /proc.
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return ended;
    const std::vector<pid_t> living = descendants();
    if (std::exchange(first, false)) ended = static_cast<unsigned>(living.size());
    // In a namespace, one call reaches all processes, including those that are just being forked.
    if (containment == Containment::pid_namespace)
      kill(-1, SIGKILL);
    else
      for (const pid_t pid : living) kill(pid, SIGKILL);
    if (Clock::now() > end)
      return fail(fmt::format("process {} does not end after SIGKILL; it may hang in the kernel",
                              living.empty() ? 0 : living.front()));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

Result<bool> end_process(const ProcessId& process, std::chrono::milliseconds deadline) {
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd) return true;
  // The descriptor pins the process, so the process that we identify now is the one that gets the
  // signal.
  if (identify(process.pid) != process) return true;
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
    return fail_errno(fmt::format("cannot end process {}", process.pid));
  pollfd wait{pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(deadline.count())) != 0;
}

std::optional<int> reap(pid_t ended) {
  static std::vector<pid_t> kept;
  std::erase_if(kept, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
  int status = 0;
  if (waitpid(ended, &status, WNOHANG) == ended) return status;
  kept.push_back(ended);
  return std::nullopt;
}

void be_the_first_to_go() {
  const Fd fd(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) static_cast<void>(write_all(fd.get(), "1000"));
}

std::string how_it_ended(std::optional<int> status) {
  if (!status) return "ended with an exit status that only its tracer knows";
  if (WIFSIGNALED(*status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(*status),
                       strsignal(WTERMSIG(*status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(*status));
}

Result<unsigned> end_marked(std::string_view marker, std::chrono::milliseconds deadline) {
  // Any user's program may stay in exec for long, while its file is being read. So the wait for
  // those is bounded.
  constexpr auto execs = std::chrono::seconds(1);
  const auto begin = Clock::now();
  const std::string wanted = std::string(1, '\0') + std::string(marker) + std::string(1, '\0');
  // A killed process keeps its environment until it has run once more, so it may be found again.
  std::set<std::pair<pid_t, std::uint64_t>> ended;
  for (bool again = true; again;) {
    again = false;
    for (const pid_t pid : numbers_in("/proc")) {
      if (pid == getpid()) continue;
      auto environment = environment_of(pid);
      const auto stat = environment ? read_stat(pid) : std::nullopt;
      if (!stat || dead(stat->state)) continue;
      if (environment->empty() && (stat->flags & (exiting | kernel_thread)) == 0) {
        // The process is in exec. The new program's environment is set up last, and may be there
        // just now.
        again = again || (stat->environment_end == 0 && Clock::now() < begin + execs);
        if (stat->environment_end != 0) environment = environment_of(pid);
      }
      if (!environment) continue;
      const std::string all = std::string(1, '\0') + *environment;
      if (all.find(wanted) == std::string::npos) continue;
      again = true;
      if (kill(pid, SIGKILL) == 0) ended.emplace(pid, stat->start_ticks);
      if (Clock::now() > begin + deadline)
        return fail(fmt::format("process {} of an interrupted trial does not end", pid));
    }
    if (again) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return static_cast<unsigned>(ended.size());
}

}  // namespace stab::machine
