// SPDX-License-Identifier: MIT
// The processors of a machine: which to reserve for trials, and how to bind a process to them. On
// hwloc. A CPU here is what the kernel calls one: a hardware thread, hwloc's PU, named by its
// number in the kernel.
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

// "0-3,8"; "" for none.
std::string to_string(std::span<const unsigned> cpus);
// The same back; {} for what is no such list.
CpuSet cpus_in(std::string_view list);
CpuSet intersection(const CpuSet& a, const CpuSet& b);
// What of `a` is not in `b`.
CpuSet difference(const CpuSet& a, const CpuSet& b);

// The three sets are disjoint unless `shared`.
struct CpuChoice {
  CpuSet trial{};       // for trials only
  CpuSet others{};      // for everything else; never empty
  CpuSet idle{};        // siblings of trial CPUs in the same core: nobody uses them
  bool shared = false;  // there were no CPUs left: others and trials use the same ones
  bool named = false;   // the user named the CPUs of trials
  bool siblings =
      false;  // some CPUs of `others`, or several of `trial`, are in the same core as a trial CPU

  bool operator==(const CpuChoice&) const = default;
};

// How many there are in the whole machine, whatever this process may use.
struct Counts {
  unsigned cpus = 0;
  unsigned cores = 0;
  unsigned packages = 0;
  unsigned numa_nodes = 0;

  bool operator==(const Counts&) const = default;
};

// All parts of a machine that are of one kind. In hwloc's order: neighbours in it are neighbours in the machine.
struct Parts {
  std::string kind{};  // "NUMA node"
  std::vector<CpuSet> all{};
};

class Topology {
 public:
  // This machine. Takes some milliseconds: once a process.
  static Result<Topology> load();
  // Another machine by hwloc's description ("Package:2 Core:4 PU:2"), for tests and what-if
  // questions. `allowed`: the CPUs that choose_cpus may use, all if empty.
  // `efficient`: those of a hybrid machine that are slower and save energy. `of_devices`: those
  // that serve many interrupts.
  static Result<Topology> synthetic(const std::string& description, const CpuSet& allowed = {},
                                    const CpuSet& efficient = {}, const CpuSet& of_devices = {});
  Topology(Topology&&) noexcept = default;
  Topology& operator=(Topology&&) noexcept = default;

  [[nodiscard]] Counts counts() const;
  // The CPUs that this process could use when load() was called: cpusets and its own affinity
  // respected.
  [[nodiscard]] const CpuSet& allowed() const { return allowed_; }

  // The `n` CPUs for trials, in the order of these preferences: the fastest cores of a hybrid
  // machine, if there are enough; not in the core of CPU 0, where the kernel's own work tends to be;
  // one CPU a core, its siblings idle; close together (one L3 cache, else one NUMA node, else one
  // package); where others are as good by all that, not in a core that serves many interrupts of
  // devices. Which do so changes with time: who goes on names the CPUs that it had `earlier`, and
  // gets them if there are n of them and all are allowed. An error if n is 0 or more than allowed()
  // has.
  [[nodiscard]] Result<CpuChoice> choose_cpus(unsigned n, const CpuSet& earlier = {}) const;
  // The CPUs that the user names, ascending and each once, whatever they are like. An error if one of
  // them is not allowed().
  [[nodiscard]] Result<CpuChoice> take_cpus(const CpuSet& wanted) const;
  // Why these: a sentence for each preference that the machine could meet or not.
  [[nodiscard]] std::vector<std::string> reasons(const CpuChoice& choice) const;

  // Binds the calling thread, and with it what it executes, to exactly these CPUs, and reads the
  // binding back. May be called in a child that uses our memory: nothing of it stays there
  // changed. Fails on a synthetic topology.
  [[nodiscard]] Result<void> bind(std::span<const unsigned> cpus) const;
  // From now on the calling thread, and what it starts, gets memory of these CPUs' NUMA nodes as long as there is some.
  // Fails on a synthetic topology, and where a container's seccomp filter forbids it.
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
  CpuSet fastest_;  // of those that are allowed
  std::vector<CpuSet> cores_;
  std::vector<Parts> larger_parts_;  // those of the smallest kind first
};

}  // namespace stab::machine
