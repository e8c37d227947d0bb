// SPDX-License-Identifier: MIT
// Keeps the machine quiet for experiments, one at a time, besides changes that users make by hand
// (`stabctl quiet`).
//
// All daemons of a machine use the same two logs in one folder: one for changes by hand and one for
// changes by experiments. While an experiment has the machine both logs are locked, so that nobody
// else changes knobs. Changes by hand stay in place when the experiment ends.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/quiet/quiet.h"

namespace stab::machine {

// The paths of the two logs in the folder of the machine's logs.
std::string log_by_hand(const std::string& folder);
std::string log_of_experiments(const std::string& folder);

// Reverts the changes that an experiment left behind when its daemon was killed. Fails if another
// experiment has the machine now.
Result<std::vector<Outcome>> recover(const std::string& folder, const std::string& root = "");

class Keeper {
 public:
  // `root` is a prefix for /proc and /sys, for tests.
  explicit Keeper(std::string folder, std::string root = "")
      : folder_(std::move(folder)), root_(std::move(root)) {}

  // Makes the machine quiet, after reverting what a killed daemon left. After an error nothing is
  // changed.
  Result<std::vector<Outcome>> quiesce(std::span<const Knob* const> knobs, const CpuChoice& cpus);
  // The settings that were quiet after quiesce() but are no longer, because somebody else changed
  // them. Each change is returned once.
  std::vector<Outcome> disturbed();
  // Reverts the changes of the last quiesce(), if that has not been done. Changes that can't be
  // reverted stay in the log for the next recover().
  Result<std::vector<Outcome>> restore();

 private:
  struct Logs {
    UndoLog by_hand;  // locked but not changed
    UndoLog experiment;
  };
  std::string folder_;
  std::string root_;
  std::optional<Logs> logs_;  // set while the machine is ours
  Held held_;
  std::vector<Outcome> quiet_;  // the settings that were quiet at the last look
};

// A knob that is still not quiet after quiesce().
struct Loud {
  std::string knob;
  std::string reason;
};
std::vector<Loud> still_loud(std::span<const Outcome> outcomes);

}  // namespace stab::machine
