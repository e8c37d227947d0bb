// SPDX-License-Identifier: MIT
#include "counters/events/counting.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

namespace stab::counters {
namespace {

// The call waits while the process is in exec, and a signal interrupts that wait.
int open_raw(perf_event_attr& attr, pid_t process, int leader) {
  long fd = -1;
  do {
    fd = syscall(SYS_perf_event_open, &attr, process, -1, leader, PERF_FLAG_FD_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return static_cast<int>(fd);
}

// Whether this user can count the user side of their own programs.
bool counts_user_side() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  attr.exclude_kernel = 1;
  attr.disabled = 1;
  return static_cast<bool>(Fd(open_raw(attr, 0, -1)));
}

// The number of accesses to try. Some hosts lose one of 10,000, and a trial may have that many.
constexpr std::uint64_t tried_accesses = 50'000;

// Runs in a process of its own: counts writes to a word, and exits with 0 if all of them were
// counted.
[[noreturn]] void try_accesses() {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  static volatile std::uint32_t word;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_W;
  attr.bp_addr = reinterpret_cast<std::uintptr_t>(&word);
  attr.bp_len = HW_BREAKPOINT_LEN_4;
  attr.exclude_kernel = 1;
  const int fd = open_raw(attr, 0, -1);
  if (fd < 0) _exit(0);  // opening the requested event will give the reason
  for (std::uint64_t i = 0; i < tried_accesses; ++i) word = static_cast<std::uint32_t>(i);
  std::uint64_t count = 0;
  _exit(read(fd, &count, sizeof count) == sizeof count && count == tried_accesses ? 0 : 1);
}

// Some virtual machines let a program set the CPU's address registers but never report an access.
// Others report accesses, but now and then without naming the register, and the kernel then kills
// the program with SIGTRAP. So this is tried once, in a child process.
bool are_accesses_told() {
  static const bool told = [] {
    const pid_t child = fork();
    if (child == 0) try_accesses();
    if (child < 0) return false;
    int status = 0;
    pid_t ended = -1;
    do ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return told;
}

std::string reason_of_rights(const Event& event) {
  const auto text = read_file(paranoid_file, 64);
  const int level = text ? std::atoi(text->c_str()) : 0;
  const bool has_side = event.is_of_kernel() || event.has_side();
  const char* const for_root =
      geteuid() == 0 ? "; experiment.privileges in one of root's plans also allows it" : "";
  if (counts_user_side())
    return fmt::format(
        "perf_event_paranoid is {}, so users without capabilities cannot count events in the "
        "kernel{}; to allow this, run sudo sysctl kernel.perf_event_paranoid=1{}",
        level, has_side ? "" : fmt::format(": measure '{}'", event.on_program_side()), for_root);
  if (level > 2)
    return fmt::format(
        "perf_event_paranoid is {}, so only users with capabilities can count events; to let users "
        "count events in their own programs, run sudo sysctl kernel.perf_event_paranoid=2{}",
        level, for_root);
  return "a filter blocks perf events for this user, perhaps the filter of a container";
}

Reading none_of(const Event& event, std::string reason) {
  return absent(event.name, std::string(event.unit()), std::move(reason));
}

constexpr std::chrono::microseconds a_moment{100};

constexpr const char* never_had_one =
    "the event never got a counter, because other events use all counters; measure fewer events at "
    "once, or free a counter with sudo sysctl kernel.nmi_watchdog=0";

Reading read_one(const Event& event, const std::expected<Fd, std::string>& open) {
  if (!open) return none_of(event, open.error());
  Counted counted;
  const ssize_t size = read(open->get(), &counted, sizeof counted);
  // A size of 0 means that the event is in an error state, because it is pinned or its group does
  // not fit.
  if (size != sizeof counted)
    return none_of(event, size < 0 ? std::strerror(errno) : "the kernel returned no number");
  return reading_of(event, counted);
}

}  // namespace

std::string reason_of(const Event& event, int error) {
  if (event.is_of_hardware() && !has_hardware_counters())
    return "this machine has no hardware counters; if it is a virtual machine, its host may be "
           "able to give it a virtual PMU";
  switch (error) {
    case EACCES:
    case EPERM:
      return reason_of_rights(event);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return event.is_of_hardware() ? "this CPU does not count this event"
                                    : "this kernel does not count this event";
    case EINVAL:
      return "this kernel or CPU cannot count this event for a single process, or cannot count it "
             "together with the other events of its group";
    case ENOSPC:
      return "all of the CPU's address registers are in use";
    case EMFILE:
    case ENFILE:
      return "too many files are open: raise the limit (ulimit -n) or measure fewer events";
    case EBUSY:
      return "another process has reserved these counters";
    case ENOSYS:
      return "this kernel is built without perf events";
    default:
      return std::strerror(error);
  }
}

Result<std::vector<Group>> find_groups(const std::vector<std::vector<std::string>>& names) {
  std::vector<Group> groups;
  for (const auto& group : names) {
    groups.emplace_back();
    for (const std::string& name : group) {
      auto event = find_event(name);
      if (!event) return std::unexpected(event.error());
      groups.back().push_back(*std::move(event));
    }
  }
  return groups;
}

std::vector<Group> groups_of(const std::vector<std::vector<std::string>>& names) {
  std::vector<Group> groups;
  for (const auto& group : names) {
    groups.emplace_back();
    for (const std::string& name : group) {
      auto event = find_event(name);
      groups.back().push_back(event ? *std::move(event)
                                    : Event{.name = name, .unknown = event.error().message});
    }
  }
  return groups;
}

Reading reading_of(const Event& event, const Counted& counted) {
  if (counted.enabled == 0) return none_of(event, "the program did not start");
  if (counted.running == 0) return none_of(event, never_had_one);
  if (counted.value > std::numeric_limits<std::int64_t>::max())
    return none_of(event, "it overflowed");
  Reading reading = stab::counters::counted(event.name, std::string(event.unit()),
                                            static_cast<std::int64_t>(counted.value));
  if (counted.running >= counted.enabled) return reading;
  reading.status = Status::scaled;
  reading.coverage = static_cast<double>(counted.running) / static_cast<double>(counted.enabled);
  reading.value = static_cast<double>(counted.value) / reading.coverage;
  return reading;
}

std::expected<Fd, std::string> open_event(const Event& event, pid_t process, int leader) {
  if (!event.unknown.empty()) return std::unexpected(event.unknown);
  if (event.is_of_kernel() && event.attr.exclude_kernel != 0)
    return std::unexpected(
        "the event happens in the kernel, but a modifier in its name excludes the kernel");
  if (event.attr.type == PERF_TYPE_BREAKPOINT && !are_accesses_told())
    return std::unexpected(
        "this virtual machine loses some of the CPU's debug exceptions, so counting this event may "
        "end the program with SIGTRAP: use a machine whose host delivers all debug exceptions");
  perf_event_attr attr = event.attr;
  // Enabling the first event enables its group.
  attr.disabled = leader < 0 ? 1 : 0;
  attr.enable_on_exec = leader < 0 && process != 0 ? 1 : 0;
  attr.inherit = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  Fd fd(open_raw(attr, process, leader));
  if (!fd) return std::unexpected(reason_of(event, errno));
  return fd;
}

void Counting::begin(pid_t process) {
  open_.clear();
  for (const Group& group : groups_) {
    const std::size_t first = open_.size();
    std::string missing;  // the group's first event that can't be counted, and why
    for (const Event& event : group) {
      const int leader = open_.size() == first || !open_[first] ? -1 : open_[first]->get();
      open_.push_back(open_event(event, process, leader));
      if (!open_.back() && missing.empty())
        missing = fmt::format("{}: {}", event.name, open_.back().error());
    }
    if (missing.empty()) continue;
    for (std::size_t i = first; i < open_.size(); ++i)
      if (open_[i]) open_[i] = std::unexpected("it is counted together with " + missing);
  }
}

std::vector<Reading> Counting::lacking() {
  begin(0);
  std::vector<Reading> missing;
  std::size_t place = 0;
  for (const Group& group : groups_)
    for (const Event& event : group) {
      const Open& open = open_[place++];
      if (!open) missing.push_back(absent(event.name, std::string(event.unit()), open.error()));
    }
  open_.clear();
  return missing;
}

bool Counting::fits() {
  begin(0);
  for (const Open& open : open_)
    if (open) ioctl(open->get(), PERF_EVENT_IOC_ENABLE, 0);
  // An event that has no counter yet gets one when the kernel rotates the events, which is later
  // than this.
  std::this_thread::sleep_for(a_moment);
  bool all = true;
  for (const Open& open : open_) {
    Counted counted;
    if (!open) continue;
    ioctl(open->get(), PERF_EVENT_IOC_DISABLE, 0);
    all = all && read(open->get(), &counted, sizeof counted) == sizeof counted &&
          counted.enabled > 0 && counted.running == counted.enabled;
  }
  open_.clear();
  return all;
}

std::vector<Reading> Counting::end() {
  std::vector<Reading> readings;
  std::size_t place = 0;
  for (const Group& group : groups_)
    for (const Event& event : group) {
      readings.push_back(place < open_.size()
                             ? read_one(event, open_[place])
                             : absent(event.name, std::string(event.unit()), "nothing counted it"));
      ++place;
    }
  open_.clear();
  return readings;
}

std::expected<unsigned, std::string> counted_at_once(const Event& event, unsigned limit) {
  std::vector<Fd> group;
  while (group.size() < limit) {
    auto next = open_event(event, 0, group.empty() ? -1 : group.front().get());
    if (!next && group.empty()) return std::unexpected(next.error());
    if (!next) break;
    group.push_back(std::move(*next));
    // The kernel accepts a group that would fit on idle counters. Only running it shows whether it
    // gets them.
    ioctl(group.front().get(), PERF_EVENT_IOC_ENABLE, 0);
    std::this_thread::sleep_for(a_moment);
    ioctl(group.front().get(), PERF_EVENT_IOC_DISABLE, 0);
    Counted counted;
    if (read(group.front().get(), &counted, sizeof counted) != sizeof counted ||
        counted.running < counted.enabled || counted.enabled == 0) {
      group.pop_back();
      break;
    }
  }
  if (group.empty()) return std::unexpected(never_had_one);
  return static_cast<unsigned>(group.size());
}

}  // namespace stab::counters
