// SPDX-License-Identifier: MIT
// The runs of a causal plan as one profile in coz's format, from a `startup` to the next each.
#include "stats/causal/coz.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "stabd/results/exports/export.h"
#include "stabd/results/exports/measured.h"
#include "stabd/results/trials.h"
#include "stats/causal/run_text.h"

namespace stab::results {
namespace {

Result<std::string> as_coz(const store::Trial& trial) {
  stats::causal::Profile profile;
  if (auto read = stats::causal::read_run(trial.causal, profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return stats::causal::as_coz(profile);
}

}  // namespace

Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->is_causal())
    return fail(
        fmt::format("experiment {} has no causal profile, and coz's format holds nothing else: a "
                    "plan with design.kind = \"causal\" makes some",
                    experiment.id));
  std::string cell;
  std::string other;
  Result<void> sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    std::string name = cell_text(*plan, trial);
    if (cell.empty()) cell = name;
    if (name != cell) {
      other = std::move(name);
      return false;
    }
    const auto text = as_coz(trial);
    sunk = text ? sink(*text) : std::unexpected(text.error());
    return sunk.has_value();
  });
  if (!read) return fail(read.error().message);
  if (!sunk) return sunk;
  if (!other.empty())
    return fail(fmt::format(
        "experiment {} has several cells, as '{}' and '{}', and coz's format has no place for "
        "their names: 'stabctl report {}' shows the profile of each; for coz's viewer run a plan "
        "with one benchmark and one level of each treatment",
        experiment.id, one_line(cell, 200), one_line(other, 200), experiment.id));
  if (cell.empty())
    return fail(fmt::format("no trial of experiment {} is ok: there is nothing for coz's format",
                            experiment.id));
  return {};
}

}  // namespace stab::results
