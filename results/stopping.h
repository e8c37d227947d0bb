// SPDX-License-Identifier: MIT
// Applies the plan's stopping rule to the trials measured so far, and describes it for the report.
// Pure: the same trials give the same decision, so a restarted daemon decides as the killed one
// did.
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

// Sets the rule's error control: a precision rule gets a stricter alpha for all intervals and
// tests, because early stopping makes them less reliable; a sequential rule gets its looks.
// `blocks`: the blocks measured so far. `is_over`: no more blocks will follow, for a reason other
// than what these show.
void control_error(stats::Spec& spec, const plan::Stop& stop, std::uint32_t blocks,
                   bool is_over = false);

struct Look {
  bool stop = false;
  // The rule's measurement in words: "the widest interval is +-0.6 %, but 0.5 % is requested".
  std::string words{};
  std::vector<protocol::Change> changes{};  // the comparisons that decide, and the controls
};
// `analysis` covers the first `blocks` measured blocks, and control_error() has set its spec.
Look look(const stats::Analysis& analysis, const plan::Stop& stop, std::uint32_t blocks);

// Describes the rule for the report of an analysis whose spec control_error() has set. Adds a note
// to the analysis if its numbers need an explanation.
report::Stopping stopping_of(const plan::Plan& plan, stats::Analysis& analysis,
                             std::uint32_t blocks);

}  // namespace stab::results
