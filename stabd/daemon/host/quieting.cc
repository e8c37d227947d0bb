// SPDX-License-Identifier: MIT
#include "stabd/daemon/host/quieting.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace stab::daemon {

Result<void> may_quiesce(settings::Quiescers who, const Submitter& submitter,
                         bool moves_processes) {
  if (moves_processes && !submitter.trusted)
    return fail(
        "only plans of root and stabd's own user may move other processes (other_processes)");
  if (who == settings::Quiescers::all) return {};
  if (who == settings::Quiescers::owner && submitter.trusted) return {};
  return fail(fmt::format(
      "plans of {} may not change settings of this machine, according to stabd's settings "
      "(machine.quiesce_for = \"{}\")",
      who == settings::Quiescers::owner ? fmt::format("user {}", submitter.uid) : "anybody",
      to_string(who)));
}

Result<std::vector<machine::Outcome>> quiesce_allowed(machine::Keeper& keeper,
                                                      settings::Quiescers who,
                                                      const Submitter& submitter,
                                                      std::span<const machine::Knob* const> knobs,
                                                      const machine::CpuChoice& cpus) {
  if (auto may = may_quiesce(who, submitter, false); !may) return std::unexpected(may.error());
  const auto may_move = may_quiesce(who, submitter, true);
  std::vector<const machine::Knob*> allowed(knobs.begin(), knobs.end());
  if (!may_move) std::erase_if(allowed, [](const auto* knob) { return knob->moves_processes; });
  auto outcomes = keeper.quiesce(allowed, cpus);
  if (outcomes && allowed.size() < knobs.size())
    outcomes->push_back(machine::refusal("other_processes", may_move.error().message));
  return outcomes;
}

void put_back_what_was_left(const std::string& logs, const std::string& root) {
  const auto outcomes = machine::recover(logs, root);
  if (!outcomes) {
    spdlog::warn("machine settings that an earlier stabd changed are not put back: {}",
                 outcomes.error().message);
    return;
  }
  for (const machine::Outcome& outcome : *outcomes)
    spdlog::warn("an earlier stabd left machine settings changed: {} {}{}{}", outcome.file,
                 machine::to_string(outcome.what), outcome.reason.empty() ? "" : ": ",
                 outcome.reason);
}

}  // namespace stab::daemon
