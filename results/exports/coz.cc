// SPDX-License-Identifier: MIT
// Writes the runs of a causal plan as one profile in coz's format, in which each run begins with
// `startup`.
#include "stats/causal/coz.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "results/exports/export.h"
#include "results/exports/measured.h"
#include "results/trials.h"
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

std::string listed(const std::set<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", one_line(cell, 200));
  return text;
}

// The trials of at most one of these cells have been written.
Result<void> check_cells(const store::Experiment& experiment, const std::string& cell,
                         const std::set<std::string>& cells) {
  if (cells.empty())
    return fail(fmt::format(
        "no trial of experiment {} succeeded, so there is nothing to export in coz's format",
        experiment.id));
  if (cell.empty() && cells.size() > 1)
    return fail(
        fmt::format("experiment {} has several cells, and coz's format has no place for their "
                    "names: choose one with --cell: {}",
                    experiment.id, listed(cells)));
  if (!cell.empty() && !cells.contains(cell))
    return fail(fmt::format(
        "experiment {} has no successful trial of a cell '{}': choose one with --cell: {}",
        experiment.id, one_line(cell, 200), listed(cells)));
  return {};
}

}  // namespace

Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const std::string& cell, const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->is_causal())
    return fail(
        fmt::format("experiment {} has no causal profile, which is all that coz's format can hold: "
                    "a plan with design.kind = \"causal\" makes causal profiles",
                    experiment.id));
  std::set<std::string> cells;
  Result<void> sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    const std::string name = cell_text(*plan, trial);
    cells.insert(name);
    if (cell.empty() ? cells.size() > 1 : name != cell) return true;
    const auto text = as_coz(trial);
    sunk = text ? sink(*text) : std::unexpected(text.error());
    return sunk.has_value();
  });
  if (!read) return fail(read.error().message);
  if (!sunk) return sunk;
  return check_cells(experiment, cell, cells);
}

}  // namespace stab::results
