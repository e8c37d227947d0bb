// SPDX-License-Identifier: MIT
// Decides whose plans may change settings of the machine, and puts back the settings that a killed
// daemon left changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/quiet/keeper.h"
#include "stabd/settings/settings.h"

namespace stab::daemon {

struct Submitter {
  std::uint32_t uid = 0;
  bool trusted = false;  // root, or the daemon's own user
};

// Whether plans of this user may change settings; the error says what forbids it.
Result<void> may_quiesce(settings::Quiescers who, const Submitter& submitter, bool moves_processes);

// Changes the knobs that plans of this user may change. If the user may not move processes, the
// outcomes include a refusal for the knobs that do. On an error nothing has changed.
Result<std::vector<machine::Outcome>> quiesce_allowed(machine::Keeper& keeper,
                                                      settings::Quiescers who,
                                                      const Submitter& submitter,
                                                      std::span<const machine::Knob* const> knobs,
                                                      const machine::CpuChoice& cpus);

// Puts back the settings that a killed daemon left changed, and logs that. If another daemon has
// the machine, this is left to it.
void put_back_what_was_left(const std::string& logs, const std::string& root);

}  // namespace stab::daemon
