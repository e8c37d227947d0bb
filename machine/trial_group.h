// SPDX-License-Identifier: MIT
// A cgroup for a worker and all that it starts, so that the kernel counts and bounds what they use together: memory with
// all files in memory and shared segments, processes and threads.
//
// Invariants
//  G1  Only this process's user writes to the group. Whoever is in it can neither leave it nor change its limits, unless
//      it is that user with all rights.
//  G2  When the group goes, whatever is in it is killed first.
//  G3  The kernel's limits are above those of the plan, and whoever reaches one is known by reached().
//
// Version 1 where its memory and pids controllers are mounted, else version 2 with both controllers. Needs root.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace stab::machine {

inline constexpr std::string_view group_prefix = "stabd-trials-";

// Processes and threads of a trial or build together that the kernel lets be where no plan says less.
std::uint64_t most_tasks();

class TrialGroup {
 public:
  // `owner` tells groups of several daemons apart. An error says why this machine has no such groups, or not for us.
  static Result<std::unique_ptr<TrialGroup>> make(const std::string& owner);
  ~TrialGroup();
  TrialGroup(const TrialGroup&) = delete;
  TrialGroup& operator=(const TrialGroup&) = delete;

  // A process that writes "0" into each of these files is in the group from then on.
  [[nodiscard]] std::vector<std::string> doors() const;
  // From now on: so many bytes more than are used, and so many processes. 0: the memory has no limit, there are most_tasks().
  Result<void> bound(std::uint64_t memory, std::uint32_t processes);
  // Which limit has been reached since bound(), for people; "": none.
  [[nodiscard]] std::string reached() const;

 private:
  explicit TrialGroup(bool second) : second_(second) {}
  [[nodiscard]] std::uint64_t refused(bool memory) const;

  bool second_;        // of version 2
  Fd reached_memory_;  // the kernel's counts of refusals, open because they are read for each trial
  Fd reached_tasks_;
  std::vector<std::string> folders_;  // of memory and of pids; of version 2 the same
  std::uint64_t memory_ = 0;          // as bound() was told
  std::uint64_t tasks_ = 0;
  std::uint64_t refused_memory_ = 0;  // before
  std::uint64_t refused_tasks_ = 0;
};

// Ends what is in groups that an earlier process left with this owner, and removes them. How many there were.
unsigned remove_left_groups(const std::string& owner);

// Bytes of files in memory and of shared segments in the group that this process is in; 0 if it is in no such group.
std::uint64_t shared_memory_of_group();
bool is_in_group();

}  // namespace stab::machine
