// SPDX-License-Identifier: MIT
// A cgroup for a worker and all its descendants, with which the kernel counts and limits what they
// use together: memory, including files in memory and shared segments, and processes and threads.
//
// Invariants
//  G1  Only this process's user can write to the group. The processes in it can neither leave it
//      nor change its limits, unless they run as that user.
//  G2  Before the group is removed, all processes in it are killed.
//  G3  The kernel's limits are higher than the plan's, and reached() tells when one was reached.
//
// Uses version 1 if its memory and pids controllers are mounted, else version 2 with both
// controllers. Needs root.
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

// The most processes and threads that a trial or build may have together, unless the plan sets a
// lower limit. It is at most three quarters of what the cgroups above the trial's allowed at the
// first call.
std::uint64_t most_tasks();
// The same, now, if `root` comes before the path of every file.
std::uint64_t most_tasks(const std::string& root);

class TrialGroup {
 public:
  // `owner` distinguishes the groups of several daemons. The error says why this machine has no
  // such groups, or why we can't create them.
  static Result<std::unique_ptr<TrialGroup>> make(const std::string& owner);
  ~TrialGroup();
  TrialGroup(const TrialGroup&) = delete;
  TrialGroup& operator=(const TrialGroup&) = delete;

  // A process enters the group by writing "0" into each of these files.
  [[nodiscard]] std::vector<std::string> doors() const;
  // Sets the limits: `memory` bytes more than are in use now, and enough tasks for `processes`. 0
  // means unlimited memory, or most_tasks().
  Result<void> bound(std::uint64_t memory, std::uint32_t processes);
  // The limit that was reached since bound(), in words, or "".
  [[nodiscard]] std::string reached() const;

 private:
  explicit TrialGroup(bool second) : second_(second) {}
  [[nodiscard]] std::uint64_t refused(bool memory) const;

  bool second_;        // the group is of cgroup version 2
  Fd reached_memory_;  // the kernel's counts of refusals; kept open to be read for each trial
  Fd reached_tasks_;
  std::vector<std::string> folders_;  // for memory and for pids, which may be the same
  std::uint64_t memory_ = 0;          // as passed to bound()
  std::uint64_t tasks_ = 0;
  std::uint64_t refused_memory_ = 0;  // at the time of bound()
  std::uint64_t refused_tasks_ = 0;
};

// Ends the processes in groups that an earlier process of this owner left behind, and removes the
// groups. Returns their number.
unsigned remove_left_groups(const std::string& owner);

// The bytes of files in memory and of shared segments in this process's group; 0 if it is not in
// such a group.
std::uint64_t shared_memory_of_group();
bool is_in_group();

}  // namespace stab::machine
