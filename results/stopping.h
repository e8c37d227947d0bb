// SPDX-License-Identifier: MIT
// The plan's stopping rule, asked of what was measured so far, and what it does to the report.
// Pure: the same trials give the same decision, so that a daemon that was killed decides again as
// it did.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "stats/verdicts/analysis.h"

namespace stab::results {

// The rule's own error control: with precision the level of all intervals and tests, which
// stopping early lowers; with a sequential rule its looks. `blocks`: measured so far. `is_over`:
// there will be no more, and what these show did not decide that.
void control_error(stats::Spec& spec, const plan::Stop& stop, std::uint32_t blocks,
                   bool is_over = false);

struct Look {
  bool stop = false;
  std::string words{};  // what the rule saw: "the widest interval is +-0.43 %, within 0.5 %"
  std::vector<protocol::Change> changes{};  // of the comparisons that decide, and of controls
};
// `analysis` is of the first `blocks` measured blocks, by control_error().
Look look(const stats::Analysis& analysis, const plan::Stop& stop, std::uint32_t blocks);

// For the report of an analysis by control_error(); what its numbers need for being understood
// becomes a note.
report::Stopping stopping_of(const plan::Plan& plan, stats::Analysis& analysis,
                             std::uint32_t blocks);

}  // namespace stab::results
