// SPDX-License-Identifier: MIT
// Whose plans may have settings of the machine changed, and what becomes of those that a killed
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
  bool trusted = false;  // root, or the user of the daemon
};

// Whether plans of this user may change settings; the error says what forbids it.
Result<void> may_quiesce(settings::Quiescers who, const Submitter& submitter, bool moves_processes);

// Changes the knobs that plans of this user may change. Those that move processes are refused among
// the outcomes if the user may not have that. An error: nothing is changed.
Result<std::vector<machine::Outcome>> quiesce_allowed(machine::Keeper& keeper,
                                                      settings::Quiescers who,
                                                      const Submitter& submitter,
                                                      std::span<const machine::Knob* const> knobs,
                                                      const machine::CpuChoice& cpus);

// Puts back what a killed daemon left changed, and logs it. Where another daemon has the machine it
// is that one's business.
void put_back_what_was_left(const std::string& logs, const std::string& root);

}  // namespace stab::daemon
