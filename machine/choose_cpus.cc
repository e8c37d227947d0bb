// SPDX-License-Identifier: MIT
// Chooses the CPUs for trials from the machine's topology.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "machine/topology.h"

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
      if (difference(cpus, part).empty()) return fmt::format("they are in one {}", parts.kind);
  return "they are in several NUMA nodes, so some memory is farther away";
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
        difference(choice.trial, fastest_).empty() ? "they are the machine's fast cores"
        : choice.named                             ? "they are not all fast cores"
                       : "they include slower cores because there are too few fast cores, so run "
                         "times depend on which core a thread runs on");
  const bool first = !intersection(cores_with(cores_, {0}), choice.trial).empty();
  reasons.emplace_back(
      first
          ? fmt::format(
                "{}one of them is on the core of CPU 0, where the kernel does most of its own work",
                choice.named ? "" : "no other core was left, so ")
          : "they are not on the core of CPU 0, where the kernel does most of its own work");
  if (choice.shared)
    reasons.emplace_back("everything else also runs on them, because there are no other CPUs");
  else if (choice.siblings)
    reasons.emplace_back(
        "they share cores with each other or with CPUs that run everything else, which slows them "
        "down");
  else if (choice.idle.empty())
    reasons.emplace_back("each is on its own core");
  else
    reasons.push_back(
        fmt::format("each is on its own core, and the other CPUs of these cores ({}) stay idle",
                    to_string(choice.idle)));
  if (!intersection(cores_with(cores_, of_devices_), choice.trial).empty())
    reasons.push_back(fmt::format(
        "device interrupts arrive on these CPUs or on other CPUs of their cores{} (the knob "
        "irq_affinity moves interrupts)",
        choice.named ? ""
                     : ", because no other CPUs are better or the experiment began on these CPUs"));
  else if (!of_devices_.empty())
    reasons.push_back(
        fmt::format("other CPUs ({}) serve the device interrupts", to_string(of_devices_)));
  if (choice.trial.size() > 1) reasons.push_back(place_of(larger_parts_, choice.trial));
  return reasons;
}

}  // namespace stab::machine
