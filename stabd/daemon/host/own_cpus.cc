// SPDX-License-Identifier: MIT
#include "stabd/daemon/host/own_cpus.h"

#include <sched.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>

namespace stab::daemon {

std::vector<unsigned> current_cpus() {
  cpu_set_t set;
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void run_on(const std::vector<unsigned>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (!cpus.empty() && sched_setaffinity(0, sizeof set, &set) != 0)
    spdlog::warn("stabd cannot move off the trials' CPU: {}", std::strerror(errno));
}

}  // namespace stab::daemon
