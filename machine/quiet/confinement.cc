// SPDX-License-Identifier: MIT
#include "machine/quiet/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "machine/processes.h"
#include "machine/topology.h"

namespace stab::machine {
namespace {

constexpr std::size_t limit = 1 << 20;
// A process may start others while it is moved, or be slow to end.
constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds pause{1};
using Clock = std::chrono::steady_clock;

Result<std::string> line_of(const std::string& path) {
  auto content = read_file(path, limit);
  if (!content) return std::unexpected(content.error());
  return content->substr(0, content->find('\n'));
}

Result<void> put(const std::string& path, const std::string& value) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd || write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail_errno(fmt::format("{} does not accept {}", path, value));
  return {};
}

std::vector<pid_t> processes_in(const std::string& folder) {
  constexpr std::size_t most = std::size_t{64} << 20;
  std::istringstream list(read_file(folder + "/cgroup.procs", most).value_or(""));
  std::vector<pid_t> processes;
  for (pid_t process = 0; list >> process;) processes.push_back(process);
  return processes;
}

std::string name_of(pid_t process) {
  const auto name = line_of(fmt::format("/proc/{}/comm", process));
  return fmt::format("process {} ({})", process, name ? one_line(*name, 20) : "gone");
}

CpuSet affinity_of(pid_t thread) {
  std::vector<cpu_set_t> set(64);
  CpuSet cpus;
  const std::size_t bytes = set.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(thread, bytes, set.data()) != 0) return cpus;
  for (unsigned cpu = 0; cpu < bytes * CHAR_BIT; ++cpu)
    if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(cpu);
  return cpus;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

// Processes may bind themselves to CPUs, and kernels before 6.2 forget that when a process is
// moved. So a process that has bound itself to some of `cpus` stays where it is, and one that is
// bound to other CPUs is an error.
Result<bool> is_to_move(pid_t process, const CpuSet& all, const CpuSet& cpus) {
  bool bound = false;
  for (const pid_t thread : threads_of(process)) {
    const CpuSet affinity = affinity_of(thread);
    if (affinity.empty() || std::ranges::includes(affinity, all)) continue;
    if (!std::ranges::includes(cpus, affinity))
      return fail(
          fmt::format("{} is already bound to the CPUs {}", name_of(process), to_string(affinity)));
    bound = true;
  }
  return !bound;
}

// Repeats a round until it finds nothing to do. A round moves the processes that it finds, and
// returns whether there were any.
Result<void> repeat(const std::function<Result<bool>()>& round) {
  for (const auto end = Clock::now() + patience;;) {
    const auto any = round();
    if (!any) return std::unexpected(any.error());
    if (!*any) return {};
    if (Clock::now() > end) return fail("processes start faster than they can be moved");
    std::this_thread::sleep_for(pause);
  }
}

// Processes of other pid namespaces are listed as 0, and writing 0 would move ourselves.
Result<void> refuse_unknown(const std::vector<pid_t>& processes) {
  if (std::ranges::find(processes, 0) == processes.end()) return {};
  return fail("some processes belong to another pid namespace, so they cannot be moved");
}

Result<void> move_process(pid_t process, const std::string& to) {
  auto moved = put(to + "/cgroup.procs", std::to_string(process));
  if (moved || errno == ESRCH) return {};
  return fail(fmt::format("{} cannot be moved: {}", name_of(process), moved.error().message));
}

Result<void> let_go(const std::string& folder) {
  const std::string above = std::filesystem::path(folder).parent_path();
  return repeat([&]() -> Result<bool> {
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return false;
    if (errno != EBUSY) return fail_errno(fmt::format("cannot remove {}", folder));
    const auto processes = processes_in(folder);
    if (auto known = refuse_unknown(processes); !known) return std::unexpected(known.error());
    for (const pid_t process : processes)
      if (auto moved = move_process(process, above); !moved) return std::unexpected(moved.error());
    return true;
  });
}

Result<void> hold(const std::string& folder, const std::string& cpus,
                  const std::function<bool(pid_t)>& whom) {
  const std::string above = std::filesystem::path(folder).parent_path();
  const auto memory = line_of(above + "/cpuset.mems");
  if (!memory) return std::unexpected(memory.error());
  const auto all = line_of(above + "/cpuset.effective_cpus");
  if (!all) return std::unexpected(all.error());
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot make {}", folder));
  if (auto set = put(folder + "/cpuset.mems", *memory); !set) return set;
  if (auto set = put(folder + "/cpuset.cpus", cpus); !set) return set;
  return repeat([&]() -> Result<bool> {
    const auto processes = processes_in(above);
    if (auto known = refuse_unknown(processes); !known) return std::unexpected(known.error());
    bool any = false;
    for (const pid_t process : processes) {
      if (is_of_kernel(process) || is_ending(process) || !whom(process)) continue;
      const auto moves = is_to_move(process, cpus_in(*all), cpus_in(cpus));
      if (!moves) return moves;
      if (!*moves) continue;
      any = true;
      if (auto moved = move_process(process, folder); !moved) return std::unexpected(moved.error());
    }
    return any;
  });
}

}  // namespace

Result<std::string> confined_to(const std::string& folder) {
  std::error_code gone;
  if (!std::filesystem::exists(folder, gone)) return std::string(everywhere);
  auto cpus = line_of(folder + "/cpuset.cpus");
  // A cpuset without CPUs can't contain any process.
  if (cpus && cpus->empty()) return std::string(everywhere);
  return cpus;
}

bool is_other(pid_t process) {
  const auto ours = descendants();
  // If our session is outside of our pid namespace, getsid() returns 0 for it and for all other
  // such sessions. So every process in them counts as ours.
  return process != getpid() && getsid(process) != getsid(0) &&
         std::ranges::find(ours, process) == ours.end();
}

Result<void> confine(const std::string& folder, const std::string& cpus,
                     const std::function<bool(pid_t)>& whom) {
  if (cpus == everywhere) return let_go(folder);
  auto held = hold(folder, cpus, whom);
  if (!held) (void)let_go(folder);
  return held;
}

}  // namespace stab::machine
