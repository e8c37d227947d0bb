// SPDX-License-Identifier: MIT
#include "machine/limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/fd.h"
#include "base/time.h"
#include "machine/processes.h"
#include "machine/trial_group.h"

namespace stab::machine {
namespace {

// The CPU time of a process and of children that it waited for, in ticks.
std::uint64_t cpu_ticks(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 65536);
  if (!text) return 0;
  const auto after = text->rfind(')');
  unsigned long long user = 0;
  unsigned long long system = 0;
  long long children_user = 0;
  long long children_system = 0;
  const int read = after == std::string::npos
                       ? 0
                       : std::sscanf(text->c_str() + after + 1,
                                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld"
                                     " %lld",
                                     &user, &system, &children_user, &children_system);
  return read == 4 ? user + system + static_cast<std::uint64_t>(children_user + children_system)
                   : 0;
}

struct Pages {
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;  // the part shared with files or other processes
};

Pages pages_in(const std::string& statm) {
  const auto text = read_file(statm, 4096);
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  if (!text || std::sscanf(text->c_str(), "%*u %llu %llu", &resident, &shared) != 2) return {};
  return {.resident = resident, .shared = std::min(shared, resident)};
}

// If the first thread has ended, it shows no pages. The other threads share the same memory.
Pages pages_of(pid_t pid) {
  const Pages first = pages_in(fmt::format("/proc/{}/statm", pid));
  if (first.resident != 0) return first;
  std::error_code gone;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", pid), gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone))
    if (const Pages pages = pages_in(thread->path() / "statm"); pages.resident != 0) return pages;
  return {};
}

}  // namespace

std::uint64_t shared_since(std::uint64_t before) {
  const std::uint64_t now = shared_memory_of_group();
  return now > before ? now - before : 0;
}

Use use_of_descendants(pid_t but, std::uint64_t before) {
  Use use;
  std::uint64_t ticks = 0;
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  for (const pid_t pid : descendants()) {
    if (pid == but) continue;
    const Pages pages = pages_of(pid);
    own += pages.resident - pages.shared;
    shared = std::max(shared, pages.shared);
    ++use.processes;
  }
  for (const pid_t pid : descendants(Which::all))
    if (pid != but) ticks += cpu_ticks(pid);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  use.memory = own * page + std::max(shared * page, shared_since(before));
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  use.cpu = std::chrono::nanoseconds(ticks * (1'000'000'000 / per_second));
  return use;
}

std::string passed_limit(const Limits& limits, const Use& use) {
  if (limits.memory != 0 && use.memory > limits.memory)
    return fmt::format("used more memory than its limit of {} bytes", limits.memory);
  if (limits.cpu.count() != 0 && use.cpu > limits.cpu)
    return fmt::format("used more CPU time than its limit of {}", format_duration(limits.cpu));
  if (limits.processes != 0 && use.processes > limits.processes)
    return fmt::format("had more processes than its limit of {}", limits.processes);
  return "";
}

}  // namespace stab::machine
