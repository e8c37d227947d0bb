// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "machine/quiet/knobs.h"

namespace stab::machine {
namespace {

constexpr std::array table{
    Knob{.name = "governor",
         .files = {{{"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "performance"}}},
         .standard = true,
         .loud = Grade::poor,
         .missing = Grade::fair,
         .needs = "root; a cpufreq driver, which few virtual machines have",
         .effect = "the frequency follows the load: the first milliseconds of a trial run slower",
         .boot = "cpufreq.default_governor=performance"},
    Knob{.name = "energy_preference",
         .files = {{{"/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
                     "performance"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; intel_pstate, or amd_pstate in its active mode",
         .effect = "the CPU saves energy by running slower than it could",
         .boot = ""},
    Knob{.name = "boost",
         .files = {{{"/sys/devices/system/cpu/intel_pstate/no_turbo", "1"},
                    {"/sys/devices/system/cpu/cpufreq/boost", "0"}}},
         .standard = true,
         .loud = Grade::poor,
         .missing = Grade::fair,
         .needs = "root; intel_pstate, or a cpufreq driver that can turn it off (acpi-cpufreq, "
                  "amd_pstate)",
         .effect = "the frequency depends on temperature and on what the other cores do",
         .boot = ""},
    Knob{.name = "smt",
         .files = {{{"/sys/devices/system/cpu/smt/control", "off", Form::word,
                     "forceoff notsupported notimplemented"}}},
         .standard = false,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_HOTPLUG_SMT",
         .effect = "anything that runs on the other CPU of a trial's core slows the trial down",
         .boot = "nosmt"},
    Knob{.name = "idle_states",
         .files = {{{"/sys/devices/system/cpu/cpu{trial}/cpuidle/state[2-9]/disable", "1"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; a cpuidle driver such as intel_idle or acpi_idle",
         .effect = "a CPU that sleeps deeply between trials wakes up late and with cold caches",
         .boot = "cpuidle.off=1"},
    Knob{.name = "cpu_dma_latency",
         .files = {{{"/dev/cpu_dma_latency", "0", Form::held}}},
         .standard = false,
         .loud = Grade::good,
         .missing = Grade::good,
         .needs = "root; CONFIG_CPU_IDLE, and a running experiment, which keeps the file open",
         .effect = "CPUs sleep and wake up late; if all are kept awake, they use power that the "
                   "trials' CPUs could use to boost",
         .boot = ""},
    Knob{.name = "irq_affinity",
         .files = {{{"/proc/irq/[0-9]*/smp_affinity_list", "{others}", Form::cpus}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; interrupt controllers that can move interrupts",
         .effect = "device interrupts are served on the trials' CPUs",
         .boot = "irqaffinity=LIST"},
    Knob{.name = "timer_migration",
         .files = {{{"/proc/sys/kernel/timer_migration", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_NO_HZ_COMMON and CONFIG_SMP",
         .effect = "timers of idle CPUs move to busy CPUs, that is, to the CPUs that run trials",
         .boot = "sysctl.kernel.timer_migration=0"},
    Knob{.name = "nmi_watchdog",
         .files = {{{"/proc/sys/kernel/nmi_watchdog", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_HARDLOCKUP_DETECTOR, and hardware counters",
         .effect = "the watchdog interrupts every CPU and occupies one of the hardware counters",
         .boot = "nmi_watchdog=0"},
    Knob{
        .name = "numa_balancing",
        .files = {{{"/proc/sys/kernel/numa_balancing", "0"}}},
        .standard = true,
        .loud = Grade::fair,
        .missing = Grade::good,
        .needs = "root; CONFIG_NUMA_BALANCING",
        .effect = "the kernel unmaps pages to see who uses them, and moves them while a trial runs",
        .boot = "numa_balancing=disable"},
    Knob{.name = "khugepaged",
         .files = {{{"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_TRANSPARENT_HUGEPAGE",
         .effect = "at some point, a kernel thread turns a running trial's memory into huge pages",
         .boot = ""},
    Knob{.name = "thp",
         .files = {{{"/sys/kernel/mm/transparent_hugepage/enabled", "never", Form::choice}}},
         .standard = false,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_TRANSPARENT_HUGEPAGE",
         .effect = "programs that ask for huge pages get them only while some are free, so run "
                   "times fall into two groups",
         .boot = "transparent_hugepage=never"},
    Knob{
        .name = "compaction",
        .files = {{{"/proc/sys/vm/compaction_proactiveness", "0"}}},
        .standard = true,
        .loud = Grade::fair,
        .missing = Grade::good,
        .needs = "root; CONFIG_COMPACTION, Linux 5.9 or later",
        .effect =
            "the kernel moves pages together in the background, including pages of a running trial",
        .boot = "sysctl.vm.compaction_proactiveness=0"},
    Knob{.name = "ksm",
         .files = {{{"/sys/kernel/mm/ksm/run", "0"}}},
         .standard = true,
         .loud = Grade::fair,
         .missing = Grade::good,
         .needs = "root; CONFIG_KSM",
         .effect = "identical pages are merged, and the first write to each of them causes a fault",
         .boot = ""},
    Knob{
        .name = "swappiness",
        .files = {{{"/proc/sys/vm/swappiness", "0"}}},
        .standard = true,
        .loud = Grade::fair,
        .missing = Grade::good,
        .needs = "root",
        .effect = "a program's pages may be swapped out while the contents of files stay in memory",
        .boot = "sysctl.vm.swappiness=0"},
    Knob{.name = "aslr",
         .files = {{{"/proc/sys/kernel/randomize_va_space", "0"}}},
         .standard = false,
         .loud = Grade::good,
         .missing = Grade::good,
         .needs = "root",
         .effect = "each process gets a different address space layout, which a plan's aslr factor "
                   "controls by itself",
         .boot = "norandmaps"},
    Knob{.name = "other_processes",
         .files = {{{"/sys/fs/cgroup/cpuset/stabd-others", "{others}", Form::folder},
                    {"/sys/fs/cgroup/{beside}/cpuset.cpus", "{others}", Form::within}}},
         .standard = false,
         .moves_processes = true,
         .loud = Grade::fair,
         .missing = Grade::fair,
         .needs = "root; CONFIG_CPUSETS, cgroups with cpusets, two CPUs, and an experiment of root "
                  "or stabd's own user",
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

std::string table_of_knobs() {
  std::string text =
      "| knob | file: quiet value | standard | needs | effect if it is not quiet "
      "|\n|---|---|---|---|---|\n";
  for (const Knob& knob : table) {
    std::string files;
    for (const KnobFiles& each : knob.files)
      if (!each.pattern.empty())
        files += fmt::format("{}`{}`: `{}`", files.empty() ? "" : ", ", each.pattern, each.quiet);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", knob.name, files,
                        knob.standard ? "yes" : "no", knob.needs, knob.effect);
  }
  return text;
}

const Knob* find_knob(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Knob::name);
  return found == table.end() ? nullptr : found;
}

}  // namespace stab::machine
