// SPDX-License-Identifier: MIT

#include "machine/topology.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace stab::machine {
namespace {

bool contains(const CpuSet& cpus, unsigned cpu) {
  return std::ranges::binary_search(cpus, cpu);
}

// All CPUs of those cores that contain at least one of `cpus`.
CpuSet cores_with(const std::vector<CpuSet>& cores, const CpuSet& cpus) {
  CpuSet all;
  for (const CpuSet& core : cores)
    if (!intersection(core, cpus).empty()) all.insert(all.end(), core.begin(), core.end());
  std::ranges::sort(all);
  return all;
}

// A core with at least one CPU that we may use.
struct Core {
  CpuSet all;      // all CPUs of the core
  CpuSet allowed;  // those that we may use
};

// Chooses n CPUs among the allowed ones, taking them from ordered lists of candidates.
class Chooser {
 public:
  // `larger_parts` must outlive this object.
  Chooser(const std::vector<CpuSet>& cores, const std::vector<Parts>& larger_parts,
          const CpuSet& allowed)
      : larger_parts_(larger_parts) {
    for (const CpuSet& cpus : cores)
      if (CpuSet usable = intersection(cpus, allowed); !usable.empty())
        cores_.push_back({cpus, std::move(usable)});
  }

  // Takes n CPUs from the best list of candidates that is long enough, and sorts them.
  [[nodiscard]] CpuSet choose(unsigned n) const {
    for (const CpuSet& candidates :
         {candidates_by_rank(1, false), candidates_by_rank(most_siblings(), false)})
      if (candidates.size() >= n) return close_together(candidates, n);
    return close_together(candidates_by_rank(most_siblings(), true), n);
  }

  [[nodiscard]] CpuSet siblings_of(const CpuSet& cpus) const {
    CpuSet siblings;
    for (const Core& core : cores_)
      if (!intersection(core.allowed, cpus).empty())
        std::ranges::set_difference(core.allowed, cpus, std::back_inserter(siblings));
    std::ranges::sort(siblings);
    return siblings;
  }

  [[nodiscard]] bool share_a_core(const CpuSet& cpus) const {
    return std::ranges::any_of(
        cores_, [&](const Core& core) { return intersection(core.allowed, cpus).size() > 1; });
  }

 private:
  static bool is_first(const Core& core) { return contains(core.all, 0); }

  [[nodiscard]] std::size_t most_siblings() const {
    std::size_t most = 0;
    for (const Core& core : cores_) most = std::max(most, core.allowed.size());
    return most;
  }

  // Lists the first CPU of each core, then the second of each, up to `ranks`. The CPUs of the first
  // core are left out, or come at the end with CPU 0 as the very last.
  [[nodiscard]] CpuSet candidates_by_rank(std::size_t ranks, bool with_first_core) const {
    CpuSet candidates;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (const Core& core : cores_)
        if (!is_first(core) && rank < core.allowed.size()) candidates.push_back(core.allowed[rank]);
    if (with_first_core)
      for (const Core& core : cores_)
        if (is_first(core))
          candidates.insert(candidates.end(), core.allowed.rbegin(), core.allowed.rend());
    return candidates;
  }

  // Takes the first n candidates inside the smallest part of the machine that has n of them. Among
  // parts of the same kind, parts without CPU 0 are preferred.
  [[nodiscard]] CpuSet close_together(const CpuSet& candidates, unsigned n) const {
    for (const Parts& parts : larger_parts_)
      for (const bool with_cpu_0 : {false, true})
        for (const CpuSet& part : parts.all)
          if (contains(part, 0) == with_cpu_0)
            if (CpuSet inside = first_inside(candidates, part, n); inside.size() == n)
              return inside;
    return first_inside(candidates, std::nullopt, n);
  }

  static CpuSet first_inside(const CpuSet& candidates, const std::optional<CpuSet>& part,
                             unsigned n) {
    CpuSet chosen;
    for (const unsigned cpu : candidates)
      if (chosen.size() < n && (!part || contains(*part, cpu))) chosen.push_back(cpu);
    std::ranges::sort(chosen);
    return chosen;
  }

  const std::vector<Parts>& larger_parts_;
  std::vector<Core> cores_;
};

// Names the smallest part of the machine that contains all of `cpus`.
std::string place_of(const std::vector<Parts>& larger_parts, const CpuSet& cpus) {
  for (const Parts& parts : larger_parts)
    for (const CpuSet& part : parts.all)
      if (difference(cpus, part).empty())
        return fmt::format("the trials' CPUs are in one {}", parts.kind);
  return "the trials' CPUs are in several NUMA nodes, so some memory is farther away";
}

// Adds the CPUs for everything else: other cores if there are any, else the siblings, else the same
// CPUs.
CpuChoice completed(CpuSet trial, const CpuSet& allowed, const Chooser& chooser) {
  CpuChoice choice{.idle = chooser.siblings_of(trial), .siblings = chooser.share_a_core(trial)};
  choice.others = difference(difference(allowed, trial), choice.idle);
  if (choice.others.empty() && !choice.idle.empty()) {
    choice.others = std::exchange(choice.idle, {});
    choice.siblings = true;
  }
  choice.shared = choice.others.empty();
  if (choice.shared) choice.others = trial;
  choice.trial = std::move(trial);
  return choice;
}

}  // namespace

Result<CpuChoice> Topology::choose_cpus(unsigned n, const CpuSet& earlier) const {
  if (n == 0) return fail("a trial needs at least 1 CPU");
  if (n > allowed_.size())
    return fail(
        fmt::format("{} CPUs were requested, but only {} can be used here ({}); request fewer", n,
                    allowed_.size(), to_string(allowed_)));
  const auto among = [&](const CpuSet& cpus) { return Chooser(cores_, larger_parts_, cpus); };
  const Chooser chooser = among(allowed_);
  if (earlier.size() == n && difference(earlier, allowed_).empty())
    return completed(earlier, allowed_, chooser);
  const CpuSet& kind = fastest_.size() >= n ? fastest_ : allowed_;
  CpuSet trial = among(kind).choose(n);
  const auto unserved = difference(kind, cores_with(cores_, of_devices_));
  if (unserved.size() >= n) {
    CpuSet other = among(unserved).choose(n);
    const bool as_good = !chooser.share_a_core(other) &&
                         intersection(cores_with(cores_, {0}), other).empty() &&
                         place_of(larger_parts_, other) == place_of(larger_parts_, trial);
    if (as_good) trial = std::move(other);
  }
  return completed(std::move(trial), allowed_, chooser);
}

Result<CpuChoice> Topology::take_cpus(const CpuSet& wanted) const {
  if (const CpuSet other = difference(wanted, allowed_); wanted.empty() || !other.empty())
    return fail(fmt::format("CPU {} was requested, but only {} can be used here", to_string(other),
                            to_string(allowed_)));
  CpuChoice choice = completed(wanted, allowed_, Chooser(cores_, larger_parts_, allowed_));
  choice.named = true;
  return choice;
}

std::vector<std::string> Topology::reasons(const CpuChoice& choice) const {
  std::vector<std::string> reasons;
  if (choice.named) reasons.emplace_back("the plan lists them");
  if (fastest_ != allowed_)
    reasons.emplace_back(
        difference(choice.trial, fastest_).empty() ? "the trials' CPUs are the machine's fast cores"
        : choice.named                             ? "not all of the trials' CPUs are fast cores"
                       : "the trials' CPUs include slower cores because there are too few fast "
                         "cores, so run times depend on which core a thread runs on");
  const bool first = !intersection(cores_with(cores_, {0}), choice.trial).empty();
  reasons.emplace_back(first ? fmt::format("{}one of the trials' CPUs is on the core of CPU 0, "
                                           "where the kernel does most of its own work",
                                           choice.named ? "" : "no other core was left, so ")
                             : "the trials' CPUs are not on the core of CPU 0, where the kernel "
                               "does most of its own work");
  if (choice.shared)
    reasons.emplace_back(
        "everything else also runs on the trials' CPUs, because there are no other CPUs");
  else if (choice.siblings)
    reasons.emplace_back(
        "the trials' CPUs share cores with each other or with CPUs that run everything else, so "
        "trials are slower");
  else if (choice.idle.empty())
    reasons.emplace_back("each of the trials' CPUs is on its own core");
  else
    reasons.push_back(
        fmt::format("each of the trials' CPUs is on its own core, and the other CPUs of these "
                    "cores ({}) stay idle",
                    to_string(choice.idle)));
  if (!intersection(cores_with(cores_, of_devices_), choice.trial).empty())
    reasons.push_back(fmt::format(
        "device interrupts arrive on the cores of the trials' CPUs{} (the knob irq_affinity moves "
        "interrupts)",
        choice.named ? ""
                     : ", because no other CPUs are better or the experiment began on these CPUs"));
  else if (!of_devices_.empty())
    reasons.push_back(
        fmt::format("other CPUs ({}) serve the device interrupts", to_string(of_devices_)));
  if (choice.trial.size() > 1) reasons.push_back(place_of(larger_parts_, choice.trial));
  return reasons;
}

namespace {

constexpr double busy_per_second = 10;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return found;
    found.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(found.back().size());
  }
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses the heading, such as "CPU0 CPU2". Offline CPUs have no column.
std::optional<CpuSet> columns_of(std::string_view head) {
  CpuSet cpus;
  for (const std::string_view word : words(head)) {
    const auto cpu = word.starts_with("CPU") ? number<unsigned>(word.substr(3)) : std::nullopt;
    if (!cpu) return std::nullopt;
    cpus.push_back(*cpu);
  }
  return cpus;
}

}  // namespace

CpuSet cpus_of_devices(std::string_view interrupts, std::string_view uptime) {
  const auto seconds = number<double>(uptime.substr(0, uptime.find(' ')));
  const auto head = interrupts.substr(0, interrupts.find('\n'));
  const auto columns = columns_of(head);
  if (!seconds || !columns) return {};
  std::map<unsigned, std::uint64_t> served;
  interrupts.remove_prefix(std::min(head.size() + 1, interrupts.size()));
  while (!interrupts.empty()) {
    const auto line = interrupts.substr(0, interrupts.find('\n'));
    interrupts.remove_prefix(std::min(line.size() + 1, interrupts.size()));
    const auto row = words(line);
    // Interrupts of devices have numbers. The CPU's own interrupts, such as its timer, have names.
    if (row.size() <= columns->size() || !row[0].ends_with(':') ||
        !number<unsigned>(row[0].substr(0, row[0].size() - 1)))
      continue;
    for (std::size_t i = 0; i < columns->size(); ++i)
      served[(*columns)[i]] += number<std::uint64_t>(row[i + 1]).value_or(0);
  }
  CpuSet busy;
  for (const auto& [cpu, count] : served)
    if (static_cast<double>(count) > busy_per_second * *seconds) busy.push_back(cpu);
  return busy;
}

namespace {

// The largest number of CPUs for which Linux can be built on x86-64.
constexpr unsigned cpus_of_kernel = 8192;
constexpr unsigned bits_of_word = 8 * sizeof(unsigned long);

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Bitmap bitmap_of(std::span<const unsigned> cpus) {
  Bitmap bitmap(hwloc_bitmap_alloc());
  for (const unsigned cpu : cpus) hwloc_bitmap_set(bitmap.get(), cpu);
  return bitmap;
}

CpuSet cpus_of(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu))
    cpus.push_back(static_cast<unsigned>(cpu));
  return cpus;
}

// The CPUs of each object of the type.
std::vector<CpuSet> groups(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<CpuSet> all;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
    all.push_back(cpus_of(object->cpuset));
  return all;
}

// Some virtual machines do not report cores. Then each CPU counts as a core.
std::vector<CpuSet> cores_of(hwloc_topology_t topology) {
  auto cores = groups(topology, HWLOC_OBJ_CORE);
  return cores.empty() ? groups(topology, HWLOC_OBJ_PU) : cores;
}

// The allowed CPUs of the kind with the highest performance. All allowed CPUs if hwloc does not
// rank the kinds, or if none of the fastest is allowed.
CpuSet fastest_of(hwloc_topology_t topology, const CpuSet& allowed) {
  const int kinds = hwloc_cpukinds_get_nr(topology, 0);
  if (kinds < 2) return allowed;
  const Bitmap cpus(hwloc_bitmap_alloc());
  int efficiency = -1;
  const int read = hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kinds - 1), cpus.get(),
                                           &efficiency, nullptr, nullptr, 0);
  if (read != 0 || efficiency < 0) return allowed;
  CpuSet fastest = intersection(cpus_of(cpus.get()), allowed);
  return fastest.empty() ? allowed : fastest;
}

const std::string elsewhere = "the topology does not belong to this machine";

// With the topology of another machine, hwloc reports success but does nothing.
bool is_this_machine(hwloc_topology_t topology) {
  return hwloc_topology_is_thissystem(topology) != 0;
}

}  // namespace

std::string to_string(std::span<const unsigned> cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", cpus[first])
                          : fmt::format("{}-{}", cpus[first], cpus[last]);
    first = last + 1;
  }
  return text;
}

// Enough for /proc/interrupts on a machine with hundreds of CPUs and devices.
constexpr std::size_t most_interrupts = std::size_t{8} << 20;

constexpr unsigned most_cpus = 1 << 16;

CpuSet cpus_in(std::string_view list) {
  CpuSet cpus;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    unsigned first = 0;
    const char* const stop = part.data() + part.size();
    auto read = std::from_chars(part.data(), stop, first);
    unsigned last = first;
    if (read.ec == std::errc{} && read.ptr != stop && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, stop, last);
    if (read.ec != std::errc{} || read.ptr != stop || last < first || last >= most_cpus ||
        cpus.size() >= most_cpus)
      return {};
    for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  return cpus;
}

CpuSet intersection(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

CpuSet difference(const CpuSet& a, const CpuSet& b) {
  CpuSet rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

void Topology::Destroy::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

Topology::Topology(Handle handle, CpuSet allowed, CpuSet of_devices)
    : handle_(std::move(handle)),
      allowed_(std::move(allowed)),
      of_devices_(std::move(of_devices)),
      fastest_(fastest_of(handle_.get(), allowed_)),
      cores_(cores_of(handle_.get())),
      larger_parts_{{"L3 cache", groups(handle_.get(), HWLOC_OBJ_L3CACHE)},
                    {"NUMA node", groups(handle_.get(), HWLOC_OBJ_NUMANODE)},
                    {"package", groups(handle_.get(), HWLOC_OBJ_PACKAGE)}} {}

Result<Topology::Handle> Topology::created() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    return fail_errno("cannot prepare the machine's topology");
  return Handle(topology);
}

Result<void> Topology::loaded(const Handle& handle) {
  if (hwloc_topology_load(handle.get()) != 0)
    return fail_errno("cannot read the machine's topology");
  return {};
}

Result<Topology> Topology::load() {
  auto handle = created();
  if (!handle) return std::unexpected(handle.error());
  // Include CPUs that a cpuset forbids, so that the first core is known even if we may not use it.
  hwloc_topology_set_flags(handle->get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (auto read = loaded(*handle); !read) return std::unexpected(read.error());
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(handle->get(), bound.get(), HWLOC_CPUBIND_THREAD) != 0)
    return fail_errno("cannot read this process's CPU affinity");
  CpuSet allowed =
      intersection(cpus_of(bound.get()), cpus_of(hwloc_topology_get_allowed_cpuset(handle->get())));
  return Topology(std::move(*handle), std::move(allowed),
                  cpus_of_devices(read_file("/proc/interrupts", most_interrupts).value_or(""),
                                  read_file("/proc/uptime", 100).value_or("")));
}

Result<Topology> Topology::synthetic(const std::string& description, const CpuSet& allowed,
                                     const CpuSet& efficient, const CpuSet& of_devices) {
  auto handle = created();
  if (!handle) return std::unexpected(handle.error());
  if (hwloc_topology_set_synthetic(handle->get(), description.c_str()) != 0)
    return fail(
        fmt::format("'{}' is not a machine description that hwloc understands", description));
  if (auto read = loaded(*handle); !read) return std::unexpected(read.error());
  CpuSet all = cpus_of(hwloc_topology_get_allowed_cpuset(handle->get()));
  if (!efficient.empty())
    for (const auto& [cpus, speed] : {std::pair(efficient, 0), {difference(all, efficient), 1}})
      if (hwloc_cpukinds_register(handle->get(), bitmap_of(cpus).get(), speed, 0, nullptr, 0) != 0)
        return fail_errno("cannot describe a hybrid machine");
  return Topology(std::move(*handle), allowed.empty() ? std::move(all) : intersection(all, allowed),
                  of_devices);
}

Counts Topology::counts() const {
  const auto count = [&](hwloc_obj_type_t type) {
    return static_cast<unsigned>(std::max(0, hwloc_get_nbobjs_by_type(handle_.get(), type)));
  };
  return {.cpus = count(HWLOC_OBJ_PU),
          .cores = static_cast<unsigned>(cores_.size()),
          .packages = std::max(1U, count(HWLOC_OBJ_PACKAGE)),
          .numa_nodes = std::max(1U, count(HWLOC_OBJ_NUMANODE))};
}

namespace {

// A bit for each CPU, as in the kernel.
using CpuMask = std::array<unsigned long, cpus_of_kernel / bits_of_word>;

void add_cpus(unsigned first, unsigned last, CpuMask& mask) {
  for (unsigned cpu = first; cpu <= last && cpu < cpus_of_kernel; ++cpu)
    mask[cpu / bits_of_word] |= 1UL << cpu % bits_of_word;
}

// Removes the CPUs that are offline, unless the kernel does not say which CPUs are online.
// Allocates no memory, because a child that shares our memory calls it.
void remove_offline(CpuMask& mask) {
  const Fd file(open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC));
  if (!file) return;
  CpuMask online{};
  std::array<char, 512> piece{};
  unsigned first = 0;
  unsigned number = 0;
  bool is_range = false;
  // "0-3,8", and a newline
  for (ssize_t size = 0; (size = read(file.get(), piece.data(), piece.size())) > 0;)
    for (const char c : std::string_view(piece.data(), static_cast<std::size_t>(size))) {
      if (c >= '0' && c <= '9') {
        number = std::min(10 * number + static_cast<unsigned>(c - '0'), cpus_of_kernel);
        continue;
      }
      if (c != '-') add_cpus(is_range ? first : number, number, online);
      is_range = c == '-';
      first = std::exchange(number, 0);
    }
  if (online == CpuMask{}) return;
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] &= online[i];
}

// Makes system calls directly, because hwloc allocates memory that it keeps, and a child that
// shares our memory must not change it.
Result<void> bind_thread(std::span<const unsigned> cpus, bool may_be_offline) {
  if (cpus.empty()) return fail("cannot bind to an empty set of CPUs");
  CpuMask wanted{};
  for (const unsigned cpu : cpus) {
    if (cpu >= cpus_of_kernel) return fail(fmt::format("cannot bind to CPU {}", cpu));
    add_cpus(cpu, cpu, wanted);
  }
  if (syscall(SYS_sched_setaffinity, 0, sizeof wanted, wanted.data()) != 0)
    return fail_errno(fmt::format("cannot bind to the CPUs {}", to_string(cpus)));
  CpuMask bound{};
  if (syscall(SYS_sched_getaffinity, 0, sizeof bound, bound.data()) < 0)
    return fail_errno("cannot read back the CPU binding");
  if (may_be_offline && wanted != bound) remove_offline(wanted);
  if (wanted != bound) {
    CpuSet got;
    for (unsigned cpu = 0; cpu < cpus_of_kernel; ++cpu)
      if ((bound[cpu / bits_of_word] >> cpu % bits_of_word & 1) != 0) got.push_back(cpu);
    return fail(
        fmt::format("stabd asked for CPUs {} but got {}, because a cpuset forbids the others",
                    to_string(cpus), to_string(got)));
  }
  return {};
}

}  // namespace

Result<void> Topology::bind(std::span<const unsigned> cpus) const {
  if (!is_this_machine(handle_.get())) return fail("cannot bind to CPUs: " + elsewhere);
  return bind_thread(cpus, false);
}

Result<void> Topology::bind_to_online(std::span<const unsigned> cpus) const {
  if (!is_this_machine(handle_.get())) return fail("cannot bind to CPUs: " + elsewhere);
  return bind_thread(cpus, true);
}

Result<void> Topology::bind_memory(std::span<const unsigned> cpus) const {
  if (!is_this_machine(handle_.get())) return fail("cannot bind memory: " + elsewhere);
  const Bitmap nodes(hwloc_bitmap_alloc());
  hwloc_cpuset_to_nodeset(handle_.get(), bitmap_of(cpus).get(), nodes.get());
  const std::string names = to_string(cpus_of(nodes.get()));
  constexpr int flags = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;
  if (hwloc_set_membind(handle_.get(), nodes.get(), HWLOC_MEMBIND_BIND, flags) != 0)
    return fail_errno(fmt::format("cannot bind memory to the NUMA nodes {}", names));
  return {};
}

}  // namespace stab::machine
