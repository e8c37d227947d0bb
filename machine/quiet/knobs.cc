// SPDX-License-Identifier: MIT

#include "machine/quiet/knobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "machine/processes.h"
#include "machine/topology.h"
#include "machine/trial_group.h"

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

namespace {

constexpr std::array table{
    Knob{.name = "governor",
         .files = {{{"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "performance"}}},
         .standard = true,
         .loud = Grade::poor,
         .missing = Grade::fair,
         .needs = "root privileges; the machine must have a cpufreq driver (few virtual machines "
                  "have one)",
         .effect = "the frequency follows the load: a trial runs slower in its first milliseconds",
         .boot = "cpufreq.default_governor=performance"},
    Knob{.name = "energy_preference",
         .files = {{{"/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
                     "performance"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the cpufreq driver must be intel_pstate, or amd_pstate in its "
                  "active mode",
         .effect = "the CPU saves energy by running slower than it could",
         .boot = ""},
    Knob{.name = "boost",
         .files = {{{"/sys/devices/system/cpu/intel_pstate/no_turbo", "1"},
                    {"/sys/devices/system/cpu/cpufreq/boost", "0"}}},
         .standard = true,
         .loud = Grade::poor,
         .missing = Grade::fair,
         .needs = "root privileges; the cpufreq driver must be able to turn boost off, as "
                  "intel_pstate, acpi-cpufreq and amd_pstate can",
         .effect = "the frequency depends on temperature and on what the other cores do",
         .boot = ""},
    Knob{.name = "smt",
         .files = {{{"/sys/devices/system/cpu/smt/control", "off", Form::word,
                     "forceoff notsupported notimplemented"}}},
         .standard = false,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_HOTPLUG_SMT",
         .effect = "anything that runs on the other CPU of a trial's core slows the trial down",
         .boot = "nosmt"},
    Knob{.name = "idle_states",
         .files = {{{"/sys/devices/system/cpu/cpu{trial}/cpuidle/state[2-9]/disable", "1"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the machine must have a cpuidle driver, such as intel_idle or "
                  "acpi_idle",
         .effect = "a CPU that sleeps deeply between trials wakes up late and with cold caches",
         .boot = "cpuidle.off=1"},
    Knob{.name = "cpu_dma_latency",
         .files = {{{"/dev/cpu_dma_latency", "0", Form::held}}},
         .standard = false,
         .loud = Grade::good,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_CPU_IDLE, and an experiment must "
                  "be running, because it keeps the file open",
         .effect = "sleeping CPUs wake up late; however, CPUs that stay awake leave less power for "
                   "boosting the trials' CPUs",
         .boot = ""},
    Knob{.name = "irq_affinity",
         .files = {{{"/proc/irq/[0-9]*/smp_affinity_list", "{others}", Form::cpus}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the interrupt controllers must be able to move interrupts",
         .effect = "the trials' CPUs serve device interrupts",
         .boot = "irqaffinity=LIST"},
    Knob{.name = "timer_migration",
         .files = {{{"/proc/sys/kernel/timer_migration", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_NO_HZ_COMMON and CONFIG_SMP",
         .effect = "timers move from idle CPUs to busy CPUs, such as the trials' CPUs",
         .boot = "sysctl.kernel.timer_migration=0"},
    Knob{.name = "nmi_watchdog",
         .files = {{{"/proc/sys/kernel/nmi_watchdog", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_HARDLOCKUP_DETECTOR, and the "
                  "machine must have hardware counters",
         .effect = "the watchdog interrupts every CPU and occupies one of the hardware counters",
         .boot = "nmi_watchdog=0"},
    Knob{.name = "numa_balancing",
         .files = {{{"/proc/sys/kernel/numa_balancing", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_NUMA_BALANCING",
         .effect = "the kernel unmaps pages to see which NUMA node uses them, and moves pages "
                   "while a trial runs",
         .boot = "numa_balancing=disable"},
    Knob{.name = "khugepaged",
         .files = {{{"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_TRANSPARENT_HUGEPAGE",
         .effect = "a kernel thread may turn a trial's memory into huge pages while the trial runs",
         .boot = ""},
    Knob{.name = "thp",
         .files = {{{"/sys/kernel/mm/transparent_hugepage/enabled", "never", Form::choice}}},
         .standard = false,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_TRANSPARENT_HUGEPAGE",
         .effect = "a program that asks for huge pages gets them only if some are free, so its run "
                   "times fall into two groups",
         .boot = "transparent_hugepage=never"},
    Knob{
        .name = "compaction",
        .files = {{{"/proc/sys/vm/compaction_proactiveness", "0"}}},
        .standard = true,
        .loud = Grade::fair,
        .missing = Grade::good,
        .needs = "root privileges; the kernel must be Linux 5.9 or later, with CONFIG_COMPACTION",
        .effect =
            "the kernel moves pages together in the background, including pages of a running trial",
        .boot = "sysctl.vm.compaction_proactiveness=0"},
    Knob{.name = "ksm",
         .files = {{{"/sys/kernel/mm/ksm/run", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges; the kernel must have CONFIG_KSM",
         .effect = "identical pages are merged, and the first write to each of them causes a fault",
         .boot = ""},
    Knob{.name = "swappiness",
         .files = {{{"/proc/sys/vm/swappiness", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root privileges",
         .effect = "the kernel may swap out a program's pages in order to keep the contents of "
                   "files in memory",
         .boot = "sysctl.vm.swappiness=0"},
    Knob{.name = "aslr",
         .files = {{{"/proc/sys/kernel/randomize_va_space", "0"}}},
         .standard = false,
         .loud = Grade::good,
         .missing = Grade::good,
         .needs = "root privileges",
         .effect = "without the knob, each process gets a different address space layout, and aslr "
                   "= false in a plan prevents this only for the plan's own trials. With the knob, "
                   "aslr = true in a plan has no effect",
         .boot = "norandmaps"},
    Knob{.name = "other_processes",
         .files = {{{"/sys/fs/cgroup/cpuset/stabd-others", "{others}", Form::folder},
                    {"/sys/fs/cgroup/{beside}/cpuset.cpus", "{others}", Form::within}}},
         .standard = false,
         .moves_processes = true,
         .loud = Grade::fair,
         .missing = Grade::fair,
         .needs = "root privileges; the kernel must have CONFIG_CPUSETS, cgroups must have "
                  "cpusets, the machine must have at least two CPUs, and root or stabd's own user "
                  "must have submitted the experiment",
         .effect = "other programs on this machine may run on the trials' CPUs",
         .boot = "isolcpus=LIST"},
};

}  // namespace

std::span<const Knob> knobs() {
  return table;
}

bool is_for_experiments(const Knob& knob) {
  const auto is_held = [](const KnobFiles& files) { return files.form == Form::held; };
  return knob.moves_processes || std::ranges::any_of(knob.files, is_held);
}

const Knob* find_knob(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Knob::name);
  return found == table.end() ? nullptr : found;
}

namespace {

constexpr std::size_t longest_setting = 64 << 10;

std::string replaced(std::string_view text, std::string_view what, const std::string& with) {
  const auto at = text.find(what);
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, at)) + with + std::string(text.substr(at + what.size()));
}

constexpr std::size_t deepest = 16;  // levels of nested cgroups

// Escapes a name, so that it stands for itself in a pattern.
std::string literal(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (std::string_view("\\*?[").contains(each)) text += '\\';
    text += each;
  }
  return text;
}

// The path of our cgroup in version 2, as names; nullopt if the machine does not use version 2.
std::optional<std::vector<std::string>> own_cgroup(const std::string& root) {
  constexpr std::string_view version_2 = "0::/";
  if (files_like("/sys/fs/cgroup/cgroup.controllers", root).empty()) return std::nullopt;
  std::istringstream lines(read_file(root + "/proc/self/cgroup", longest_setting).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(version_2)) continue;
    std::istringstream path(line.substr(version_2.size()));
    std::vector<std::string> names;
    for (std::string name; std::getline(path, name, '/');) names.push_back(name);
    return names;
  }
  return std::nullopt;
}

// Whether the file is in a cgroup of trials. Trials must keep their CPUs, and under version 2 their
// cgroup is not inside our own (machine/trial_group.h).
bool is_of_trials(const std::string& file) {
  return std::filesystem::path(file).parent_path().filename().string().starts_with(group_prefix);
}

// The files of the cgroups that {beside} stands for, level by level, and by name in each level.
std::vector<std::string> cgroups_beside(std::string_view pattern, const std::string& root) {
  const auto own = own_cgroup(root);
  if (!own) return {};
  std::vector<std::string> files;
  std::string above;
  // The cgroups inside our own contain what we have started, so they are left out, unless our own
  // cgroup is the root.
  const std::size_t levels = std::min(std::max<std::size_t>(own->size(), 1), deepest);
  for (std::size_t depth = 0; depth < levels; ++depth) {
    const std::string name = depth < own->size() ? literal((*own)[depth]) : "";
    const auto ours = files_like(replaced(pattern, "{beside}", above + name), root);
    for (std::string& file : files_like(replaced(pattern, "{beside}", above + "*"), root))
      if (!is_of_trials(file) && (name.empty() || std::ranges::find(ours, file) == ours.end()))
        files.push_back(std::move(file));
    above += name + "/";
  }
  return files;
}

std::vector<std::string> patterns(const KnobFiles& files, const CpuChoice& cpus) {
  if (files.pattern.empty()) return {};
  if (!files.pattern.contains("{trial}")) return {std::string(files.pattern)};
  std::vector<std::string> all;
  for (const unsigned cpu : cpus.trial)
    all.push_back(replaced(files.pattern, "{trial}", std::to_string(cpu)));
  return all;
}

// The folder, if it can be created because this machine has cpusets.
std::vector<std::string> folder_like(const std::string& folder, const std::string& root) {
  const std::string above = std::filesystem::path(folder).parent_path();
  if (files_like(above + "/cpuset.mems", root).empty()) return {};
  return {folder};
}

std::vector<std::string> files_here(const KnobFiles& files, const std::string& pattern,
                                    const std::string& root) {
  if (files.form == Form::folder) return folder_like(pattern, root);
  return pattern.contains("{beside}") ? cgroups_beside(pattern, root) : files_like(pattern, root);
}

// The CPUs that a group may keep: the quiet ones among the CPUs to which it is bound. If it is not
// bound, or only to other CPUs, all quiet CPUs.
std::string kept_of(const std::string& found, const CpuSet& quiet) {
  const CpuSet kept = intersection(cpus_in(found), quiet);
  return to_string(kept.empty() ? quiet : kept);
}

}  // namespace

bool Setting::is_quiet() const {
  return error.empty() && (same_value(found, quiet, form) ||
                           (!found.empty() && (" " + as_good + " ").contains(" " + found + " ")));
}

std::vector<std::string> files_like(const std::string& pattern, const std::string& root) {
  std::vector<std::string> files;
  glob_t found{};
  if (glob((root + pattern).c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      files.push_back(std::string(found.gl_pathv[i]).substr(root.size()));
  globfree(&found);
  return files;
}

std::vector<Setting> read_knob(const Knob& knob, const CpuChoice& cpus, const std::string& root) {
  std::vector<Setting> settings;
  for (const KnobFiles& files : knob.files) {
    for (const std::string& pattern : patterns(files, cpus)) {
      for (const std::string& file : files_here(files, pattern, root)) {
        Setting setting{.file = file,
                        .found = {},
                        .quiet = replaced(files.quiet, "{others}", to_string(cpus.others)),
                        .form = files.form,
                        .as_good = std::string(files.as_good),
                        .error = {}};
        if (const auto value = read_value(root + file, files.form))
          setting.found = *value;
        else
          setting.error = value.error().message;
        if (files.form == Form::within) setting.quiet = kept_of(setting.found, cpus.others);
        if (knob.moves_processes && cpus.shared)
          setting.error = "trials need all CPUs, so no CPU is left for other processes";
        settings.push_back(std::move(setting));
      }
    }
  }
  return settings;
}

const KnobFiles* files_of(std::string_view knob, std::string_view file) {
  const Knob* row = find_knob(knob);
  if (row == nullptr) return nullptr;
  const auto holds = [path = std::string(file)](const KnobFiles& files) {
    const std::string pattern = replaced(files.pattern, "{trial}", "[0-9]*");
    // FNM_PATHNAME, so that a '*' does not match a slash.
    const auto matches = [&](const std::string& each) {
      return fnmatch(each.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
    };
    if (!pattern.contains("{beside}")) return !pattern.empty() && matches(pattern);
    std::string below = "*";
    for (std::size_t depth = 0; depth < deepest; ++depth, below += "/*")
      if (matches(replaced(pattern, "{beside}", below))) return true;
    return false;
  };
  const auto* found = std::ranges::find_if(row->files, holds);
  return found == row->files.end() ? nullptr : found;
}

Result<std::string> read_value(const std::string& path, Form form) {
  if (form == Form::folder) return confined_to(path);
  auto content = read_file(path, longest_setting);
  if (!content) return std::unexpected(content.error());
  if (form != Form::held) return value_in(*content, form);
  std::int32_t number = 0;
  if (content->size() != sizeof number)
    return fail(fmt::format("{} holds {} bytes, not a 4-byte number", path, content->size()));
  std::memcpy(&number, content->data(), sizeof number);
  return std::to_string(number);
}

bool is_gone(const std::string& path, Form form) {
  return form == Form::within && access(path.c_str(), F_OK) != 0 && errno == ENOENT;
}

bool is_of_offline_cpu(std::string_view file, const std::string& root) {
  constexpr std::string_view cpus = "/sys/devices/system/cpu/";
  if (!file.starts_with(cpus)) return false;
  file.remove_prefix(cpus.size());
  for (const std::string_view before : {"cpufreq/policy", "cpu"}) {
    if (!file.starts_with(before)) continue;
    const std::string_view number =
        file.substr(before.size(), file.find('/', before.size()) - before.size());
    const CpuSet cpu = cpus_in(number);
    const auto online = line_of(root + std::string(cpus) + "online");
    if (cpu.size() == 1 && online && !cpus_in(*online).empty())
      return intersection(cpu, cpus_in(*online)).empty();
  }
  return false;
}

std::string value_in(std::string_view content, Form form) {
  std::string_view line = content.substr(0, content.find('\n'));
  if (form == Form::choice) {
    const auto open = line.find('[');
    const auto close = line.find(']', open == std::string_view::npos ? 0 : open);
    if (open != std::string_view::npos && close != std::string_view::npos)
      line = line.substr(open + 1, close - open - 1);
  }
  while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
  return one_line(line, longest_setting);
}

bool same_value(std::string_view a, std::string_view b, Form form) {
  if (a == b) return true;
  if (form == Form::word || form == Form::choice || form == Form::held) return false;
  const auto cpus = cpus_in(a);
  return !cpus.empty() && cpus == cpus_in(b);
}

}  // namespace stab::machine
