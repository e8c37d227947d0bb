// SPDX-License-Identifier: MIT
// isolation_cost [ROUNDS]: measures the cost of keeping trials apart. Prints medians over the
// rounds (default: 400) of the differences within a round, with 95 % intervals by the sign test.
// Needs root. In each round, every arm runs once on one CPU, in random order.
//
//   page faults   a program that only touches new pages, in a trial's cgroup and at the top of the
//                 cgroup tree. Both are compared with the cgroup that would contain stabd. Prints
//                 the ratio of CPU time.
//   one trial     the time from the start of /bin/true to its end, in namespaces or a cgroup of its
//                 own, compared with a start without them. Prints the difference in microseconds,
//                 which is the least that such a start can cost.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/fd.h"
#include "bench/paired/median.h"
#include "machine/trial_group.h"

namespace {

using namespace stab;

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

bool enter(const std::vector<std::string>& doors) {
  return std::ranges::all_of(doors, [](const std::string& door) {
    const Fd file(open(door.c_str(), O_WRONLY | O_CLOEXEC));
    return file && write_all(file.get(), "0").has_value();
  });
}

// Microseconds of CPU time.
double touch_new_pages() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const double begin = now(CLOCK_THREAD_CPUTIME_ID);
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  munmap(memory, bytes);
  return now(CLOCK_THREAD_CPUTIME_ID) - begin;
}

// A process that touches pages when it is asked.
class Toucher {
 public:
  explicit Toucher(const std::vector<std::string>& doors) {
    std::array<int, 2> asks{};
    std::array<int, 2> says{};
    if (pipe2(asks.data(), O_CLOEXEC) != 0 || pipe2(says.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(asks[1]);
      if (!enter(doors)) _exit(1);
      touch_new_pages();
      for (char asked = 0; read(asks[0], &asked, 1) == 1;) {
        const double took = touch_new_pages();
        if (write(says[1], &took, sizeof took) != sizeof took) _exit(1);
      }
      _exit(0);
    }
    asks_ = Fd(asks[1]);
    says_ = Fd(says[0]);
    close(asks[0]);
    close(says[1]);
  }
  Toucher(const Toucher&) = delete;
  Toucher& operator=(const Toucher&) = delete;
  ~Toucher() {
    asks_.reset();
    waitpid(pid_, nullptr, 0);
  }
  // Nothing: it could not enter its cgroup.
  std::optional<double> touch() {
    double took = 0;
    if (write(asks_.get(), "", 1) != 1 || read(says_.get(), &took, sizeof took) != sizeof took)
      return std::nullopt;
    return took;
  }

 private:
  pid_t pid_ = 0;
  Fd asks_;
  Fd says_;
};

using Arms = std::map<std::string, std::function<std::optional<double>()>>;

// Prints each arm's `compared` with `base`.
int compare(const Arms& arms, const std::string& base, std::size_t rounds,
            const std::function<double(double, double)>& compared, const char* format) {
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::string> order;
  for (const auto& [name, run] : arms) order.push_back(name);
  std::map<std::string, std::vector<double>> differences;
  std::vector<double> of_base;
  for (std::size_t i = 0; i < rounds; ++i) {
    std::ranges::shuffle(order, random);
    std::map<std::string, double> took;
    for (const std::string& name : order)
      if (const auto time = arms.at(name)()) took[name] = *time;
    if (!took.contains(base)) return 1;
    of_base.push_back(took[base]);
    for (const auto& [name, time] : took)
      if (name != base) differences[name].push_back(compared(time, took[base]));
  }
  fmt::print("  {}: {:.0f} us\n", base, bench::median(of_base, 0.05)->value);
  for (const std::string& name : order)
    if (name != base && differences[name].size() != rounds)
      fmt::print("  {}: not possible here\n", name);
  for (const auto& [name, values] : differences) {
    const auto median = bench::median(values, 0.05);
    const auto interval = median->interval.value_or(stats::Interval{0, 0});
    fmt::print(fmt::runtime(format), name, median->value, interval.low, interval.high);
  }
  return 0;
}

int page_faults(std::size_t rounds) {
  auto group = machine::TrialGroup::make("bench");
  if (!group) {
    fmt::print(stderr, "isolation_cost: {}\n", group.error().message);
    return 1;
  }
  std::vector<std::string> top;
  for (const char* door :
       {"/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"})
    if (access(door, W_OK) == 0) top.emplace_back(door);
  if (top.empty()) top.emplace_back("/sys/fs/cgroup/cgroup.procs");
  Toucher in_group((*group)->doors());
  Toucher in_own({});
  Toucher at_top(top);
  fmt::print("page faults, CPU time of touching 64 MiB:\n");
  return compare(
      {{"stabd's own cgroup", [&] { return in_own.touch(); }},
       {"a trial's cgroup", [&] { return in_group.touch(); }},
       {"the top of the tree", [&] { return at_top.touch(); }}},
      "stabd's own cgroup", rounds, [](double a, double b) { return a / b; },
      "  {}: {:.4f} [{:.4f}, {:.4f}] times that\n");
}

void run_true() {
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  waitpid(child, nullptr, 0);
}

// In a process that shares our memory and is the first one of the new namespaces.
std::optional<double> in_namespaces(int flags) {
  static const std::unique_ptr<char[]> stack(new char[1 << 16]);
  const double begin = now(CLOCK_MONOTONIC);
  const auto first = [](void* mounts) -> int {
    if (mounts != nullptr && (mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
                              mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV, nullptr) != 0))
      _exit(1);
    run_true();
    _exit(0);
  };
  static int with_mounts = 0;
  const pid_t child = clone(first, stack.get() + (1 << 16), CLONE_VM | flags | SIGCHLD,
                            (flags & CLONE_NEWNS) != 0 ? &with_mounts : nullptr);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return std::nullopt;
  return now(CLOCK_MONOTONIC) - begin;
}

std::optional<double> in_new_group() {
  const double begin = now(CLOCK_MONOTONIC);
  auto group = machine::TrialGroup::make("bench");
  if (!group) return std::nullopt;
  const std::vector<std::string> doors = (*group)->doors();
  const pid_t child = vfork();
  if (child == 0) {
    for (const std::string& door : doors) {
      const int file = open(door.c_str(), O_WRONLY | O_CLOEXEC);
      if (write(file, "0", 1) != 1) _exit(1);
    }
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  group->reset();
  if (status != 0) return std::nullopt;
  return now(CLOCK_MONOTONIC) - begin;
}

int one_trial(std::size_t rounds) {
  fmt::print("one trial of /bin/true:\n");
  return compare(
      {{"without",
        []() -> std::optional<double> {
          const double begin = now(CLOCK_MONOTONIC);
          run_true();
          return now(CLOCK_MONOTONIC) - begin;
        }},
       {"a pid namespace", [] { return in_namespaces(CLONE_NEWPID); }},
       {"a pid namespace with its own /proc",
        [] { return in_namespaces(CLONE_NEWPID | CLONE_NEWNS); }},
       {"a pid namespace with its own /proc and IPC",
        [] { return in_namespaces(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC); }},
       {"a new cgroup", in_new_group}},
      "without", rounds, [](double a, double b) { return a - b; },
      "  {}: {:.0f} [{:.0f}, {:.0f}] us more\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 400;
  if (geteuid() != 0 || rounds == 0) {
    fmt::print(stderr, "isolation_cost: needs root, and at least one round\n");
    return 1;
  }
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&one) == 0; --cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  const int faults = page_faults(rounds);
  return std::max(faults, one_trial(rounds));
}
