// SPDX-License-Identifier: MIT
// Keeps the machine quiet for experiments, one at a time, beside whoever does it by hand (`stabctl quiesce`).
//
// A machine has two logs in one folder, whatever daemon it is: one of what was changed by hand, one of what experiments
// changed. While an experiment has the machine both are locked, so that nobody else changes knobs by them. What was
// changed by hand is left as it is when the experiment ends.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/quiet/quiet.h"

namespace stab::machine {

// By the folder of the machine's logs.
std::string log_by_hand(const std::string& folder);
std::string log_of_experiments(const std::string& folder);

// Puts back what an experiment left changed whose daemon was killed. Fails if one has the machine now.
Result<std::vector<Outcome>> recover(const std::string& folder, const std::string& root = "");

class Keeper {
 public:
  // `root` stands before /proc and /sys, for tests.
  explicit Keeper(std::string folder, std::string root = "")
      : folder_(std::move(folder)), root_(std::move(root)) {}

  // Also puts back first what a killed daemon left. An error: nothing is changed.
  Result<std::vector<Outcome>> quiesce(std::span<const Knob* const> knobs, const CpuChoice& cpus);
  // What was quiet after quiesce() and is not any more, each change once: somebody else has made it.
  std::vector<Outcome> disturbed();
  // Puts back what the last quiesce() changed; nothing if that was done. What is refused stays in the log, for the next
  // recover().
  Result<std::vector<Outcome>> restore();

 private:
  struct Logs {
    UndoLog by_hand;  // locked, and left as it is
    UndoLog experiment;
  };
  std::string folder_;
  std::string root_;
  std::optional<Logs> logs_;  // while the machine is ours
  Held held_;
  std::vector<Outcome> quiet_;  // what was quiet when it was last looked at
};

// What keeps the machine loud after quiesce().
struct Loud {
  std::string knob;
  std::string reason;
};
std::vector<Loud> still_loud(std::span<const Outcome> outcomes);

}  // namespace stab::machine
