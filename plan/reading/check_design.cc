// SPDX-License-Identifier: MIT
// The kind of design fits the factors and the benchmarks, and listed cells name what there is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

// Treatments and their levels.
using Treatments = std::map<std::string, Words>;

Treatments treatments_of(const Draft& draft) {
  Treatments treatments;
  for (const DraftFactor& factor : draft.factors)
    if (factor.value.is_treatment())
      for (const Level& level : std::get<FixedLevels>(factor.value.levels).levels)
        treatments[factor.value.name].push_back(level.name);
  return treatments;
}

Words names_of(const Treatments& treatments) {
  Words names;
  for (const auto& [name, levels] : treatments) names.push_back(name);
  return names;
}

void refuse_kind(Draft& draft, std::string_view needs, const Treatments& treatments) {
  draft.problems.add(draft.design_at, fmt::format("a {} design needs {}, but this plan has {}{}{}",
                                                  to_string(draft.plan.design.kind), needs,
                                                  treatments.size(), treatments.empty() ? "" : ": ",
                                                  fmt::join(names_of(treatments), ", ")));
}

void check_treatments(Draft& draft, const Treatments& treatments) {
  const DesignKind kind = draft.plan.design.kind;
  if (kind == DesignKind::one_way && treatments.size() != 1)
    refuse_kind(draft, "exactly one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::within_subjects && treatments.empty())
    refuse_kind(draft, "at least one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::nested && treatments.size() > 1)
    refuse_kind(draft, "at most one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::custom && treatments.empty())
    refuse_kind(draft, "at least one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::padding_study && treatments.size() != 1)
    refuse_kind(draft, "exactly one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::calibration && !treatments.empty())
    refuse_kind(draft, "no treatment, because it compares programs with themselves", treatments);
  if (kind == DesignKind::within_subjects && draft.benchmarks.size() == 1)
    draft.problems.add(draft.design_at,
                       "a within-subjects design compares over benchmarks and needs at least two, "
                       "but this plan has 1");
}

bool has_seeds(DesignKind kind) {
  return kind == DesignKind::nested || kind == DesignKind::padding_study;
}

void check_seeds(Draft& draft) {
  const DraftFactor* nested = nullptr;
  for (const DraftFactor& factor : draft.factors) {
    const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels);
    if (seeds == nullptr) continue;
    if (nested != nullptr)
      draft.problems.add(
          factor.at,
          fmt::format(
              "only one factor can have random = {{ seeds, runs }}, and '{}' already has it",
              nested->value.name));
    else if (!has_seeds(draft.plan.design.kind))
      draft.problems.add(factor.at,
                         fmt::format("the factor '{}' with random = {{ seeds, runs }} needs "
                                     "design.kind = \"nested\" or \"padding-study\"",
                                     factor.value.name));
    nested = &factor;
  }
  if (nested == nullptr) {
    if (has_seeds(draft.plan.design.kind))
      draft.problems.add(
          draft.design_at,
          fmt::format(
              "a {} design needs a factor with random = {{ seeds, runs }}, such as link_order",
              to_string(draft.plan.design.kind)));
    return;
  }
  for (const Position at : draft.repetitions_at)
    draft.problems.add(
        at, fmt::format("'repetitions' must not be given: the runs of the factor '{}' are the "
                        "repetitions",
                        nested->value.name));
}

void check_cell(const DraftCell& cell, const Treatments& treatments, Problems& problems) {
  const auto hint = [&](std::string_view word, const Words& candidates) {
    return problems.is_crowded() ? "" : did_you_mean(word, candidates);
  };
  for (const auto& [factor, level] : cell.value) {
    const auto found = treatments.find(factor);
    if (found == treatments.end())
      problems.add(cell.at,
                   fmt::format("this cell contains '{}', which is not a treatment of this plan{}",
                               shown(factor), hint(factor, names_of(treatments))));
    else if (std::ranges::find(found->second, level) == found->second.end())
      problems.add(
          cell.at,
          fmt::format("this cell contains the level '{}', which the factor '{}' does not have{}",
                      shown(level), factor, hint(level, found->second)));
  }
  for (const auto& [factor, levels] : treatments)
    if (!cell.value.contains(factor))
      problems.add(cell.at,
                   fmt::format("this cell leaves out '{}', but a cell must contain every treatment",
                               factor));
}

void check_levels_are_used(Draft& draft, const Treatments& treatments) {
  std::map<std::string, std::set<std::string>> used;
  for (const DraftCell& cell : draft.cells)
    for (const auto& [factor, level] : cell.value) used[factor].insert(level);
  for (const DraftFactor& factor : draft.factors) {
    const auto levels = treatments.find(factor.value.name);
    if (levels == treatments.end()) continue;
    for (const std::string& level : levels->second)
      if (!used[factor.value.name].contains(level))
        draft.problems.add(factor.at, fmt::format("no cell of the design has the level '{}' of the "
                                                  "factor '{}': use or remove the level",
                                                  level, factor.value.name));
  }
}

void check_cells(Draft& draft, const Treatments& treatments) {
  const std::size_t before = draft.problems.count();
  std::set<Cell> seen;
  for (const DraftCell& cell : draft.cells) {
    check_cell(cell, treatments, draft.problems);
    if (!seen.insert(cell.value).second)
      draft.problems.add(cell.at, "this cell is listed twice: remove one");
  }
  if (draft.problems.count() == before) check_levels_are_used(draft, treatments);
}

}  // namespace

void check_design(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good) return;
  const std::size_t before = draft.problems.count();
  const Treatments treatments = treatments_of(draft);
  check_treatments(draft, treatments);
  check_seeds(draft);
  if (draft.plan.design.kind == DesignKind::custom && draft.cells_are_good && !draft.cells.empty())
    check_cells(draft, treatments);
  draft.kind_is_good = draft.problems.count() == before;
}

}  // namespace stab::plan
