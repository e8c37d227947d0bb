// SPDX-License-Identifier: MIT
#include "machine/quiet/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/fd.h"
#include "machine/observer.h"
#include "machine/processes.h"

namespace stab::machine {
namespace {

constexpr std::size_t largest_file = 16 << 20;
constexpr std::string_view release_file = "/proc/sys/kernel/osrelease";

class Examination {
 public:
  Examination(const Topology& topology, std::string root)
      : topology_(topology), root_(std::move(root)) {}

  std::vector<Finding> all(unsigned trial_cpus) {
    const auto choice = topology_.choose_cpus(trial_cpus);
    look_at_cpus(choice);
    look_at_the_host();
    look_at_the_kernel();
    look_at_load();
    look_at_clock();
    look_at_heat();
    look_at_power();
    look_at_swap();
    look_at_counters();
    look_at_isolation();
    if (choice && !choice->trial.empty())
      std::ranges::move(missing_readings(choice->trial, root_), std::back_inserter(findings_));
    look_at_rights(choice ? *choice : CpuChoice{});
    for (const Knob& knob : knobs())
      if (!knob.moves_processes) look_at(knob, choice ? *choice : CpuChoice{});
    return std::move(findings_);
  }

 private:
  void add(std::string name, Grade grade, std::string found, std::string meaning = "",
           std::string mend = "") {
    findings_.push_back({.name = std::move(name),
                         .grade = grade,
                         .found = std::move(found),
                         .meaning = std::move(meaning),
                         .mend = std::move(mend)});
  }

  [[nodiscard]] std::optional<std::string> content(const std::string& path) const {
    auto text = read_file(root_ + path, largest_file);
    if (!text) return std::nullopt;
    return *text;
  }
  [[nodiscard]] std::optional<std::string> line(const std::string& path) const {
    const auto text = content(path);
    if (!text) return std::nullopt;
    return value_in(*text, Form::word);
  }
  [[nodiscard]] std::vector<std::string> files(const std::string& pattern) const {
    return files_like(pattern, root_);
  }

  void look_at_cpus(const Result<CpuChoice>& choice) {
    const std::string allowed =
        fmt::format("CPUs {}", stab::machine::to_string(topology_.allowed()));
    if (!choice) return add("cpus", Grade::poor, allowed, choice.error().message);
    if (choice->shared)
      return add("cpus", Grade::poor, allowed, "trials share their CPU with all other processes",
                 "give this process at least two CPUs (nproc shows how many it has)");
    const std::string which = fmt::format(
        "trials run on CPU {}, everything else runs on CPU {}: {}",
        stab::machine::to_string(choice->trial), stab::machine::to_string(choice->others),
        fmt::join(topology_.reasons(*choice), "; "));
    if (choice->siblings)
      return add("cpus", Grade::fair, which,
                 "these CPUs are in the same core and slow each other down",
                 "let this process use CPUs of at least two cores");
    add("cpus", Grade::good, which);
  }

  void look_at_the_host() {
    const auto cpuinfo = content("/proc/cpuinfo");
    if (!cpuinfo || !cpuinfo->contains(" hypervisor"))
      return add("host", Grade::good, "no hypervisor detected");
    const auto stat = content("/proc/stat");
    std::istringstream words(stat.value_or(""));
    std::string name;
    words >> name;
    std::uint64_t total = 0;
    std::uint64_t steal = 0;
    // The columns are: user nice system idle iowait irq softirq steal.
    for (int column = 0; column < 8; ++column) {
      std::uint64_t ticks = 0;
      words >> ticks;
      total += column == 3 || column == 4 ? 0 : ticks;
      if (column == 7) steal = ticks;
    }
    const double share =
        total == 0 ? 0 : 100.0 * static_cast<double>(steal) / static_cast<double>(total);
    add("host", share >= 1 ? Grade::poor : Grade::fair,
        fmt::format("this is a virtual machine; its host has taken {:.2g} % of the CPU time so far",
                    share),
        "other work on the host slows trials down, and this machine can't stop it",
        "measure on a physical machine, or use 'stabctl check --noise' to learn which changes you "
        "can detect");
  }

  void look_at_the_kernel() {
    if (const std::string limit = limit_of_kernel(root_); !limit.empty())
      add("kernel", Grade::fair, "Linux " + line(std::string(release_file)).value_or(""), limit,
          "boot Linux 5.10 or later");
  }

  void look_at_load() {
    const auto load = line("/proc/loadavg");
    if (!load) return;
    const double average = std::strtod(load->c_str(), nullptr);
    const auto cpus = std::max<std::size_t>(topology_.allowed().size(), 1);
    const std::string found = fmt::format("load {:.2f} on {} CPUs", average, cpus);
    // One CPU is reserved for trials.
    const double room = static_cast<double>(cpus) - 1;
    if (average < 0.3) return add("load", Grade::good, found);
    add("load", average > room ? Grade::poor : Grade::fair, found,
        "other programs take CPU time, caches and memory bandwidth from trials",
        "use top to find these programs, and end the ones that are not needed");
  }

  void look_at_clock() {
    const auto clock = line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (!clock)
      return add("clock", Grade::fair, "unknown", "stabd cannot tell how precise the clock is");
    const bool quick = *clock == "tsc" || *clock == "kvm-clock" ||
                       *clock == "hyperv_clocksource_tsc_page" || *clock == "arch_sys_counter";
    if (quick) return add("clock", Grade::good, *clock);
    add("clock", Grade::fair, *clock,
        "reading the clock takes at least as long as a system call, so programs that often read "
        "the clock are slower",
        "boot with tsc=reliable if the CPU's time stamp counter runs at a constant rate");
  }

  void look_at_heat() {
    std::uint64_t times = 0;
    const auto counts =
        files("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count");
    for (const std::string& file : counts)
      times += std::strtoull(line(file).value_or("0").c_str(), nullptr, 10);
    if (counts.empty())
      return add("heat", Grade::good, "this machine does not report whether it was throttled");
    if (times == 0) return add("heat", Grade::good, "never throttled since boot");
    add("heat", Grade::fair, fmt::format("throttled {} times since boot", times),
        "a hot CPU lowers its frequency",
        "improve cooling, or set a lower scaling_max_freq that the CPU can sustain");
  }

  void look_at_power() {
    for (const std::string& file : files("/sys/class/power_supply/*/online")) {
      const std::string type = file.substr(0, file.rfind('/')) + "/type";
      if (line(type) != "Mains" || line(file) != "0") continue;
      return add("power", Grade::poor, "on battery",
                 "to save energy, the firmware runs the CPU below its full speed", "plug it in");
    }
  }

  void look_at_swap() {
    const auto swaps = content("/proc/swaps");
    if (!swaps) return;
    std::istringstream rows(*swaps);
    std::string row;
    std::getline(rows, row);
    std::uint64_t used = 0;
    while (std::getline(rows, row)) {
      std::istringstream words(row);
      std::string name;
      std::string type;
      std::uint64_t size = 0;
      std::uint64_t in_use = 0;
      if (words >> name >> type >> size >> in_use) used += in_use;
    }
    if (used < 1024) return add("swap", Grade::good, "not in use");
    add("swap", Grade::fair, fmt::format("{} MiB in use", used / 1024),
        "swapped-out memory is read back from a disk while trials run",
        "end programs that are not needed, then: " + as_root("swapoff -a"));
  }

  void look_at_counters() {
    const auto hardware = files("/sys/bus/event_source/devices/cpu*");
    if (hardware.empty())
      add("counters", Grade::fair, "no hardware counters",
          "cycles, cache misses and similar events cannot be measured, but times can",
          "in a virtual machine, ask its operator for a virtual PMU");
    else
      add("counters", Grade::good,
          fmt::format("hardware counters exist ({})",
                      hardware.front().substr(hardware.front().rfind('/') + 1)));
    findings_.push_back(counting(root_));
  }

  void look_at_isolation() {
    const auto isolated = line("/sys/devices/system/cpu/isolated");
    if (isolated && !isolated->empty())
      return add("isolation", Grade::good, "CPUs " + *isolated + " reserved by isolcpus");
    const auto controllers = line("/sys/fs/cgroup/cgroup.controllers");
    if (controllers && (" " + *controllers + " ").contains(" cpuset ")) {
      const auto passed_on = line("/sys/fs/cgroup/cgroup.subtree_control");
      const bool on = passed_on && (" " + *passed_on + " ").contains(" cpuset ");
      return add(
          "isolation", Grade::fair,
          on ? "cpusets of cgroup v2"
             : "this system has cgroup v2, but its cpusets are switched off",
          "other programs may run on the trials' CPUs until a cpuset forbids it",
          std::string(on ? "" : "echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control, then ") +
              "add other_processes to a plan's machine.knobs, or boot with isolcpus=LIST");
    }
    if (!files("/sys/fs/cgroup/cpuset/cpuset.cpus").empty())
      return add("isolation", Grade::fair, "cpusets of cgroup v1",
                 "other programs may run on the trials' CPUs until a cpuset forbids it",
                 "add other_processes to a plan's machine.knobs, or boot with isolcpus=LIST");
    add("isolation", Grade::fair, "none", "other programs may run on the trials' CPUs",
        "boot with isolcpus=LIST");
  }

  // Checks only the rights for settings that are not quiet, because the others need not be changed.
  void look_at_rights(const CpuChoice& cpus) {
    std::size_t loud = 0;
    std::size_t refused = 0;
    Access why = Access::allowed;  // the greatest obstacle
    std::string example;
    for (const Knob& knob : knobs()) {
      if (knob.moves_processes || knob.loud == Grade::good) continue;
      for (const Setting& setting : read_knob(knob, cpus, root_)) {
        if (setting.is_quiet()) continue;
        ++loud;
        const Access access = access_to(root_ + setting.file);
        if (access != Access::allowed) ++refused;
        if (access <= why) continue;
        why = access;
        example = setting.file;
      }
    }
    if (refused == 0)
      return add("rights", Grade::good,
                 loud == 0 ? "nothing needs to change" : "this process may change settings");
    const std::string found = fmt::format(
        "{} settings can disturb trials, and this process lacks the right to change {} of them, "
        "such as {}",
        loud, refused, example);
    const auto say = [&](const char* meaning, const std::string& mend) {
      add("rights", Grade::fair, found, meaning, mend);
    };
    if (why == Access::read_only)
      return say(
          "the file is mounted read-only (for example in a container), so even root cannot change "
          "it",
          "change the settings on the host, or start the container with --privileged");
    if (why == Access::nobody)
      return say(
          "this process runs as root, but without the rights of the machine's root, for example in "
          "a user "
          "namespace",
          "change the settings on the host");
    say("stabd and 'stabctl quiet apply' can change settings only as root",
        "run the command as root: sudo stabctl quiet apply");
  }

  [[nodiscard]] std::string way_to_quiet(const std::string& knob, const Setting& setting,
                                         bool alone) const {
    return way_to_set(setting.file, setting.quiet, root_,
                      alone ? "" : "stabctl quiet apply --knobs " + knob);
  }

  void look_at(const Knob& knob, const CpuChoice& cpus) {
    const auto settings = read_knob(knob, cpus, root_);
    const std::string name(knob.name);
    if (settings.empty())
      return add(name, knob.missing, "not on this machine",
                 knob.missing == Grade::good ? ""
                                             : "this setting can be neither read nor changed; in a "
                                               "virtual machine, the host controls it");
    const auto loud = [](const Setting& setting) { return !setting.is_quiet(); };
    const auto first = std::ranges::find_if(settings, loud);
    if (first == settings.end()) return add(name, Grade::good, settings.front().found);
    if (!first->error.empty())
      return add(name, knob.loud, first->error, std::string(knob.effect),
                 geteuid() == 0 ? "" : "check again as root: sudo stabctl doctor");
    const auto count = std::ranges::count_if(settings, loud);
    std::string found =
        settings.size() == 1
            ? first->found
            : fmt::format("{} of {} settings can disturb trials; the first is {} ({})", count,
                          settings.size(), first->file, first->found);
    std::string mend = way_to_quiet(name, *first, settings.size() == 1);
    if (!knob.boot.empty()) mend += fmt::format("; or boot with {}", knob.boot);
    if (knob.loud == Grade::good)
      return add(name, Grade::good, found + ": " + std::string(knob.effect));
    add(name, knob.loud, std::move(found), std::string(knob.effect), std::move(mend));
  }

  const Topology& topology_;
  std::string root_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::good:
      return "good";
    case Grade::fair:
      return "fair";
    case Grade::poor:
      return "poor";
  }
  return "";
}

std::vector<Finding> examine(const Topology& topology, const std::string& root,
                             unsigned trial_cpus) {
  return Examination(topology, root).all(trial_cpus);
}

Grade overall(std::span<const Finding> findings) {
  Grade worst = Grade::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.grade);
  return worst;
}

std::string summary(std::span<const Finding> findings) {
  std::string text = fmt::format("{} for measurements", to_string(overall(findings)));
  std::string_view before = ": ";
  for (const Grade grade : {Grade::poor, Grade::fair})
    for (const Finding& finding : findings)
      if (finding.grade == grade)
        text += fmt::format("{}{} ({})", std::exchange(before, ", "), finding.name, finding.found);
  return text;
}

Access access_to(const std::string& path) {
  // This comes first, so that nobody is told to get rights that would not help.
  struct statvfs mounted{};
  if (statvfs(path.c_str(), &mounted) == 0 && (mounted.f_flag & ST_RDONLY) != 0)
    return Access::read_only;
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return Access::allowed;
  return geteuid() == 0 ? Access::nobody : Access::others;
}

std::string as_root(const std::string& command) {
  return (geteuid() == 0 ? "" : "sudo ") + command;
}

std::string way_to_set(const std::string& file, const std::string& value, const std::string& root,
                       const std::string& command) {
  switch (access_to(root + file)) {
    case Access::read_only:
      return fmt::format("set {} to {} on the host, because the file is mounted read-only here",
                         file, value);
    case Access::nobody:
      return fmt::format("set {} to {} on the host, because even root cannot write the file here",
                         file, value);
    case Access::allowed:
    case Access::others:
      break;
  }
  if (!command.empty()) return as_root(command);
  return fmt::format("echo {} | {}", value, as_root("tee " + file));
}

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
         "if the host takes CPU time from a trial, the lost time looks like the trial's own time",
         "let this process see the kernel's own /proc/stat instead of a container's"},
    Loss{"interrupts", Grade::fair, "stabd cannot tell which trials were disturbed by devices",
         "let this process see the kernel's own /proc/interrupts instead of a container's"},
    Loss{"softirqs", Grade::fair,
         "stabd cannot tell which trials were disturbed by the kernel's deferred work",
         "let this process see the kernel's own /proc/softirqs instead of a container's"},
    Loss{"other-cpus-busy-ns", Grade::fair, "trials do not record what else ran at the same time",
         "let this process see the kernel's own /proc/stat instead of a container's"},
    Loss{"memory-pressure-ns", Grade::fair,
         "stabd cannot tell which trials waited for memory, and cannot wait for free memory before "
         "a block",
         "boot a kernel that was built with CONFIG_PSI, and add psi=1 to its command line"},
    Loss{"throttled", Grade::good,
         "stabd cannot tell which trials were slowed down by heat; only Intel CPUs count such "
         "slowdowns",
         ""},
    Loss{"frequency-after-khz", Grade::fair,
         "stabd cannot tell whether trials ran at different CPU frequencies",
         "load a cpufreq driver, if this is a physical machine"},
    Loss{"temperature-after-c", Grade::good, "trials do not record how warm the CPU was",
         "load the driver for the CPU's temperature sensor (coretemp, k10temp), if this is a "
         "physical machine"},
    Loss{"clocksource-changes", Grade::good,
         "trials do not record whether the kernel changed its clock",
         "let this process see /sys/devices/system/clocksource"},
};

constexpr Loss migrations{"cpu-migrations", Grade::fair,
                          "stabd cannot tell which trials were moved between CPUs",
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
                        .found = "trials record all readings that show how quiet the machine was",
                        .meaning = {},
                        .mend = {}});
  return findings;
}

std::string limit_of_kernel(const std::string& root) {
  // runtime/epoch/one_epoch.cc gives up below this version.
  constexpr std::pair least{5, 10};
  const std::string text = read_file(root + std::string(release_file), largest_file).value_or("");
  std::pair version{0, 0};
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return "";
  if (std::from_chars(major.ptr + 1, end, version.second).ec != std::errc()) return "";
  if (version >= least) return "";
  return fmt::format(
      "with Linux {}.{}, szc's runtime stops moving functions when a program starts its second "
      "thread, so a run of a program with several threads has one layout",
      version.first, version.second);
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
    finding.meaning = "users without privileges cannot count any events";
    finding.mend =
        way_to_set(std::string(paranoid_file), "1", root, "sysctl kernel.perf_event_paranoid=1");
  } else if (refusal == EMFILE || refusal == ENFILE) {
    finding.found += ", but too many files are open to try";
    finding.meaning = "stabd cannot tell whether events can be counted";
    finding.mend = "raise the limit on open files (ulimit -n)";
  } else if (refusal != 0) {
    finding.found += fmt::format(", but this process may not count: {}", std::strerror(refusal));
    finding.meaning =
        "trials cannot count events, because a filter, such as a container's, blocks the system "
        "call perf_event_open";
    finding.mend =
        "start the container with --cap-add PERFMON, or with a seccomp profile that allows "
        "perf_event_open";
  } else {
    finding.grade = Grade::good;
    if (level > 1) finding.found += ": users can count what happens outside the kernel";
  }
  return finding;
}

}  // namespace stab::machine
