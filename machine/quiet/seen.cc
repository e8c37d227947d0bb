// SPDX-License-Identifier: MIT
#include "machine/quiet/seen.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "machine/migrations.h"
#include "machine/quality/observer.h"
#include "machine/quiet/rights.h"

namespace stab::machine {
namespace {

constexpr std::size_t longest_text = 64 << 10;
constexpr std::string_view paranoid_file = "/proc/sys/kernel/perf_event_paranoid";

struct Loss {
  std::string_view reading;
  Grade grade;
  std::string_view meaning;
  std::string_view mend;
};

// If there are two readings of a kind, such as the frequencies before and after a trial, only the
// second one is listed.
constexpr std::array losses{
    Loss{"steal-ns", Grade::fair,
         "time that the host takes from a trial looks like the trial's own time",
         "let this process see the kernel's /proc/stat"},
    Loss{"interrupts", Grade::fair, "trials disturbed by devices cannot be told from others",
         "let this process see the kernel's /proc/interrupts"},
    Loss{"softirqs", Grade::fair,
         "trials disturbed by the kernel's deferred work cannot be told from others",
         "let this process see the kernel's /proc/softirqs"},
    Loss{"other-cpus-busy-ns", Grade::fair, "trials do not record what else ran at the same time",
         "let this process see the kernel's /proc/stat"},
    Loss{"memory-pressure-ns", Grade::fair,
         "trials that wait for memory cannot be told from others, and blocks cannot wait for free "
         "memory",
         "boot a kernel that has CONFIG_PSI with psi=1"},
    Loss{"throttled", Grade::good,
         "trials slowed down by heat cannot be told from others; only Intel CPUs count this", ""},
    Loss{"frequency-after-khz", Grade::fair,
         "trials that run at another frequency cannot be told from others",
         "load a cpufreq driver, if this is a physical machine"},
    Loss{"temperature-after-c", Grade::good, "trials do not record how warm the CPU was",
         "load the driver of its sensor (coretemp, k10temp), if this is a physical machine"},
    Loss{"clocksource-changes", Grade::good,
         "trials do not record whether the kernel changed its clock",
         "let this process see /sys/devices/system/clocksource"},
};

constexpr Loss migrations{"cpu-migrations", Grade::fair,
                          "trials that were moved between CPUs cannot be told from others",
                          "boot a kernel that has CONFIG_SCHED_DEBUG"};

Finding finding_of(const Loss& loss, const std::string& reason) {
  return {.name = std::string(loss.reading),
          .grade = loss.grade,
          .found = "trials lack this reading: " + reason,
          .meaning = std::string(loss.meaning),
          .mend = std::string(loss.mend)};
}

// The error number with which the kernel refuses to count an event that always exists, which is
// this process's own time on the user side; 0 if the kernel counts it.
int refusal_to_count() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.exclude_kernel = 1;
  attr.disabled = 1;
  for (;;) {
    const Fd fd(
        static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (fd) return 0;
    if (errno != EINTR) return errno;
  }
}

}  // namespace

std::vector<Finding> missing_readings(const CpuSet& trial, const std::string& root) {
  std::vector<counters::Reading> readings;
  Observer observer(trial, root);
  observer.before();
  observer.after(readings);
  std::vector<Finding> findings;
  for (const counters::Reading& reading : readings) {
    const auto* loss = std::ranges::find(losses, reading.name, &Loss::reading);
    if (loss != losses.end() && reading.status == counters::Status::absent)
      findings.push_back(finding_of(*loss, reading.reason));
  }
  if (!migrations_in(read_file(root + "/proc/self/sched", longest_text).value_or("")))
    findings.push_back(finding_of(migrations, "this kernel does not show /proc/PID/sched"));
  if (findings.empty())
    findings.push_back({.name = "readings",
                        .grade = Grade::good,
                        .found = "trials have all readings that show how quiet the machine was",
                        .meaning = {},
                        .mend = {}});
  return findings;
}

Finding counting(const std::string& root) {
  Finding finding{.name = "counting", .grade = Grade::fair, .found = {}, .meaning = {}, .mend = {}};
  const auto text = read_file(root + std::string(paranoid_file), longest_text);
  if (!text) {
    finding.found = "not in this kernel";
    finding.meaning = "no counter can be read";
    finding.mend = "boot a kernel that has CONFIG_PERF_EVENTS";
    return finding;
  }
  const long level = std::strtol(text->c_str(), nullptr, 10);
  finding.found = fmt::format("perf_event_paranoid is {}", level);
  const int refusal = root.empty() ? refusal_to_count() : 0;
  if (level > 2) {
    finding.meaning = "users without privileges cannot count anything";
    finding.mend =
        way_to_set(std::string(paranoid_file), "1", root, "sysctl kernel.perf_event_paranoid=1");
  } else if (refusal == EMFILE || refusal == ENFILE) {
    finding.found += ", but too many files are open to try";
    finding.meaning = "it is not known whether anything can be counted";
    finding.mend = "raise the limit of open files (ulimit -n)";
  } else if (refusal != 0) {
    finding.found += fmt::format(", but this process may not count: {}", std::strerror(refusal));
    finding.meaning =
        "no trial can count anything: a system call filter blocks it, as in a container";
    finding.mend =
        "let the container call perf_event_open: start it with --cap-add PERFMON, or with a "
        "seccomp profile that allows it";
  } else {
    finding.grade = Grade::good;
    if (level > 1) finding.found += ": users can count what happens outside the kernel";
  }
  return finding;
}

}  // namespace stab::machine
