// SPDX-License-Identifier: MIT
// The CPUs of a machine: chooses which to reserve for trials, and binds processes to them. Uses
// hwloc. A CPU is a hardware thread, as in the kernel, and has the kernel's number; hwloc calls it
// a PU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct hwloc_topology;

namespace stab::machine {

using CpuSet = std::vector<unsigned>;  // ascending, each once

// "0-3,8", or "" for an empty set.
std::string to_string(std::span<const unsigned> cpus);
// Parses such a list; {} if the text is not valid.
CpuSet cpus_in(std::string_view list);
CpuSet intersection(const CpuSet& a, const CpuSet& b);
// The CPUs of `a` that are not in `b`.
CpuSet difference(const CpuSet& a, const CpuSet& b);

// The three sets are disjoint unless `shared`.
struct CpuChoice {
  CpuSet trial{};       // for trials only
  CpuSet others{};      // for everything else; never empty
  CpuSet idle{};        // siblings of trial CPUs in the same core, which nobody uses
  bool shared = false;  // there were no CPUs left, so that trials and others use the same ones
  bool named = false;   // the user named the CPUs of trials
  bool siblings =
      false;  // some CPUs of `others`, or several of `trial`, are in the same core as a trial CPU

  bool operator==(const CpuChoice&) const = default;
};

// The numbers for the whole machine, regardless of which CPUs this process may use.
struct Counts {
  unsigned cpus = 0;
  unsigned cores = 0;
  unsigned packages = 0;
  unsigned numa_nodes = 0;

  bool operator==(const Counts&) const = default;
};

// All parts of one kind in a machine, in hwloc's order: neighbours in the list are neighbours in
// the machine.
struct Parts {
  std::string kind{};  // "NUMA node"
  std::vector<CpuSet> all{};
};

class Topology {
 public:
  // Loads this machine's topology. That takes some milliseconds, so call it once per process.
  static Result<Topology> load();
  // Creates another machine's topology from hwloc's description ("Package:2 Core:4 PU:2"). Only
  // tests call it. It is a member because it fills the same private parts as load().
  // choose_cpus() may use the `allowed` CPUs, or all of them if it is empty. `efficient` are the
  // slower, energy-saving CPUs of a hybrid machine. `of_devices` are the CPUs that serve many
  // interrupts.
  static Result<Topology> synthetic(const std::string& description, const CpuSet& allowed = {},
                                    const CpuSet& efficient = {}, const CpuSet& of_devices = {});
  Topology(Topology&&) noexcept = default;
  Topology& operator=(Topology&&) noexcept = default;

  [[nodiscard]] Counts counts() const;
  // The CPUs that this process could use when load() was called, according to cpusets and its own
  // affinity.
  [[nodiscard]] const CpuSet& allowed() const { return allowed_; }

  // Chooses `n` CPUs for trials. The preferences are, in this order: the fastest cores of a hybrid
  // machine, if there are enough; not on the core of CPU 0, where the kernel tends to do its own
  // work; one CPU per core, with idle siblings; close together (in one L3 cache, else one NUMA
  // node, else one package); and, if other CPUs are as good, not in a core that serves many
  // interrupts of devices. The interrupts change with time, so an experiment that continues passes
  // the CPUs that it had `earlier`, and gets them if there are n of them and all are allowed. An
  // error if n is 0 or more than allowed() has.
  [[nodiscard]] Result<CpuChoice> choose_cpus(unsigned n, const CpuSet& earlier = {}) const;
  // Takes the CPUs that the user names, ascending and without duplicates, regardless of the
  // preferences. An error if one of them is not in allowed().
  [[nodiscard]] Result<CpuChoice> take_cpus(const CpuSet& wanted) const;
  // Explains a choice: one sentence for each preference, whether or not the machine could meet it.
  [[nodiscard]] std::vector<std::string> reasons(const CpuChoice& choice) const;

  // Binds the calling thread, and the programs that it executes, to exactly these CPUs, and
  // verifies the binding. May be called in a child that shares our memory, which it does not
  // change. Fails on a synthetic topology.
  [[nodiscard]] Result<void> bind(std::span<const unsigned> cpus) const;
  // The same, but only to those of these CPUs that are online: the knob smt takes CPUs offline
  // after they were chosen. Fails if none of them is online.
  [[nodiscard]] Result<void> bind_to_online(std::span<const unsigned> cpus) const;
  // Makes the calling thread and its children allocate memory from the NUMA nodes of these CPUs.
  // Fails on a synthetic topology, or if a container's seccomp filter forbids it.
  [[nodiscard]] Result<void> bind_memory(std::span<const unsigned> cpus) const;

 private:
  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  using Handle = std::unique_ptr<hwloc_topology, Destroy>;
  Topology(Handle handle, CpuSet allowed, CpuSet of_devices);
  static Result<Handle> created();
  static Result<void> loaded(const Handle& handle);

  Handle handle_;
  CpuSet allowed_;
  CpuSet of_devices_;
  CpuSet fastest_;  // the fastest of the allowed CPUs
  std::vector<CpuSet> cores_;
  std::vector<Parts> larger_parts_;  // the smallest kind first
};

// The CPUs that serve the machine's devices: those that served more than ten interrupts of devices
// per second. `interrupts` is the text of /proc/interrupts, and `uptime` that of /proc/uptime.
// Empty if their format is unknown.
CpuSet cpus_of_devices(std::string_view interrupts, std::string_view uptime);

}  // namespace stab::machine
