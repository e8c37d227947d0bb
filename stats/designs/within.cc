// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "stats/designs/alternatives.h"
#include "stats/designs/assumptions.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/models/own_error.h"
#include "stats/models/strata.h"

namespace stab::stats {
namespace {

// A subject that has all cells.
struct Member {
  const Subject* subject = nullptr;
  std::vector<Group> cells;
};

std::size_t blocks_of(const Member& member) {
  return complete_blocks(*member.subject, member.cells.size()).size() / member.cells.size();
}

std::vector<Member> complete_subjects(const Prepared& data, Notes& notes) {
  std::vector<Member> result;
  for (const Subject& subject : data.subjects) {
    Member member{.subject = &subject, .cells = by_cell(subject)};
    if (member.cells.size() != data.cells())
      notes.add(subject.name,
                fmt::format(
                    "left out of the model of all {}s, because it lacks trials in {} of {} cells.",
                    data.spec.subject, data.cells() - member.cells.size(), data.cells()));
    else if (data.spec.machines && !data.spec.block.empty() && blocks_of(member) == 0)
      notes.add(
          subject.name,
          fmt::format("left out of the model of all {}s, because none of its {}s has trials in "
                      "all cells.",
                      data.spec.subject, data.spec.block));
    else
      result.push_back(std::move(member));
  }
  return result;
}

// Results for all subjects rest on the blocks that all of them have, so a subject that lost most of
// its blocks would take these blocks from the others. Machines share no blocks.
void leave_out_short_ones(const Prepared& data, std::vector<Member>& members, Notes& notes) {
  if (data.spec.block.empty() || data.spec.machines) return;
  std::size_t most = 0;
  for (const Member& member : members) most = std::max(most, blocks_of(member));
  std::erase_if(members, [&](const Member& member) {
    const std::size_t own = blocks_of(member);
    if (2 * own >= most) return false;
    notes.add(member.subject->name,
              fmt::format("left out of the model of all {}s, because it has only {} complete {}s, "
                          "but others have up to {}.",
                          data.spec.subject, own, data.spec.block, most));
    return true;
  });
}

std::vector<Member> members_of(const Prepared& data, Notes& notes) {
  std::vector<Member> members = complete_subjects(data, notes);
  leave_out_short_ones(data, members, notes);
  if (members.size() < 2) members.clear();
  return members;
}

std::vector<std::size_t> all_cells(const Prepared& data) {
  std::vector<std::size_t> cells(data.cells());
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = i;
  return cells;
}

// Returns the contrast in the blocks of each member.
std::vector<UnitNumbers> own_numbers(std::span<const Member> members, const Contrast& contrast) {
  std::vector<UnitNumbers> all;
  for (const Member& member : members)
    all.push_back(block_numbers(*member.subject, member.cells, contrast));
  return all;
}

// Uses subjects as units: each subject's estimate is one number.
UnitNumbers subject_numbers(const Prepared& data, std::span<const Member> members,
                            const Contrast& contrast) {
  UnitNumbers result;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto estimate = subject_estimator(data, *members[i].subject, members[i].cells)(contrast);
    if (!estimate) continue;
    result.units.push_back(i);
    result.difference.push_back(estimate->difference);
    if (estimate->base) result.base.push_back(*estimate->base);
  }
  return result;
}

std::optional<Estimate> like_these_estimate(const Prepared& data, std::span<const Member> members,
                                            const Contrast& contrast) {
  if (!data.spec.block.empty()) {
    const std::vector<UnitNumbers> own = own_numbers(members, contrast);
    const std::vector<UnitNumbers> common = in_common(own);
    if (common.front().units.size() > 1)
      return crossed_mean_of(common, data.noise, mean_over_blocks(data, averaged(common)));
    if (!are_disjoint(own)) return std::nullopt;
  }
  return mean_of(subject_numbers(data, members, contrast), data.noise);
}

// The mean over these subjects. They run in the same blocks, which draw their layouts for all
// subjects, so the blocks are the units, and the subjects' differences in a block are averaged.
// Subjects without any common block are independent of each other. If the subjects share fewer than
// two blocks but are not disjoint, there is no estimate.
std::optional<Estimate> these_estimate(const Prepared& data, std::span<const Member> members,
                                       const Contrast& contrast) {
  if (!data.spec.block.empty()) {
    const std::vector<UnitNumbers> own = own_numbers(members, contrast);
    const std::vector<UnitNumbers> common = in_common(own);
    if (common.front().units.size() > 1) return mean_over_blocks(data, averaged(common));
    if (!are_disjoint(own)) return std::nullopt;
  }
  std::vector<Estimate> estimates;
  for (const Member& member : members) {
    const auto one = subject_estimator(data, *member.subject, member.cells)(contrast);
    if (!one) return std::nullopt;
    estimates.push_back(*one);
  }
  return mean_of(estimates);
}

// Uses as units the blocks that have all cells of all subjects. The number of a cell is its mean
// over the subjects.
std::optional<Strata> these_strata(const Prepared& data, std::span<const Member> members) {
  const std::size_t cells = data.cells();
  std::vector<UnitNumbers> all(members.size() * cells);
  for (std::size_t m = 0; m < members.size(); ++m)
    for (std::size_t c = 0; c < cells; ++c) {
      Contrast one{.weights = std::vector<double>(cells)};
      one.weights[c] = 1;
      all[m * cells + c] = block_numbers(*members[m].subject, members[m].cells, one);
    }
  all = in_common(all);
  const std::size_t blocks = all.front().units.size();
  if (blocks < 2) return std::nullopt;
  std::vector<Moments> table(blocks * cells);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t b = 0; b < blocks; ++b) {
      Moments& cell = table[b * cells + i % cells];
      cell.n = 1;
      cell.mean += all[i].difference[b] / static_cast<double>(members.size());
    }
  const Layout names = layout(data);
  return strata_of(names.shape, all_cells(data), model_terms(data.spec, names), table, data.noise);
}

// Uses subjects as units.
std::optional<Strata> like_these_strata(const Prepared& data, std::span<const Member> members,
                                        Notes& notes) {
  std::vector<Moments> table;
  for (const Member& member : members)
    for (const Group& cell : member.cells) table.push_back(cell.y);
  const Layout names = layout(data);
  auto strata =
      strata_of(names.shape, all_cells(data), model_terms(data.spec, names), table, data.noise);
  if (strata && !strata->balanced)
    notes.add(
        fmt::format("Cells have unequal numbers of trials. So the model of all {}s uses one mean "
                    "per cell, and assumes that all cells have the same number of trials. This "
                    "number is the harmonic mean of the actual numbers of trials.",
                    data.spec.subject));
  return strata;
}

// Returns whether all members have two or more blocks in common.
bool have_common_blocks(std::span<const Member> members) {
  std::vector<UnitNumbers> blocks;
  for (const Member& member : members) {
    Contrast first{.weights = std::vector<double>(member.cells.size())};
    first.weights[0] = 1;
    blocks.push_back(block_numbers(*member.subject, member.cells, first));
  }
  return in_common(blocks).front().units.size() > 1;
}

void add_table(const Prepared& data, std::span<const Member> members,
               const std::optional<Strata>& strata, Scope scope, Analysis& analysis, Notes& notes) {
  if (!strata) return;
  analysis.tables.push_back(
      strata_table(data, *strata, scope == Scope::these ? data.spec.block : data.spec.subject));
  AnovaTable& table = analysis.tables.back();
  table.scope = scope;
  if (scope == Scope::like_these && !data.spec.block.empty() && have_common_blocks(members) &&
      data.spec.method == Method::standard) {
    for (AnovaRow& row : table.rows) {
      row.f.reset();
      row.p.reset();
      row.epsilon.reset();
    }
    notes.add(fmt::format(
        "A {1} may affect all {0}s in the same way. The strata of the table for {0}s like these "
        "ignore such an effect, so this table has no F values. The table of changes takes the "
        "effect into account.",
        data.spec.subject, data.spec.block));
  }
}

struct Suite {
  const Prepared& data;
  std::span<const Member> members;
  Scope scope;

  [[nodiscard]] std::optional<Estimate> estimate(const Contrast& contrast) const {
    if (scope == Scope::these) return these_estimate(data, members, contrast);
    return like_these_estimate(data, members, contrast);
  }
  // The numbers whose mean is the estimate; empty if they are of several kinds.
  [[nodiscard]] UnitNumbers numbers(const Contrast& contrast) const {
    if (scope == Scope::like_these) return subject_numbers(data, members, contrast);
    if (data.spec.block.empty()) return {};
    return averaged(in_common(own_numbers(members, contrast)));
  }
  [[nodiscard]] std::string unit() const {
    if (scope == Scope::like_these) return data.spec.subject;
    return data.spec.block.empty() ? "trial" : data.spec.block;
  }
};

void add_subject_tests(const Suite& suite, const Comparison& comparison, const Contrast& contrast,
                       Analysis& analysis) {
  const Prepared& data = suite.data;
  const UnitNumbers numbers = subject_numbers(data, suite.members, contrast);
  if (data.spec.block.empty()) add_unit_alternatives(data, numbers, analysis.effects.back());
  const Treatment& treatment = data.treatments[comparison.treatment];
  std::string name = treatment.name;
  if (treatment.levels.size() > 2) name += " " + treatment.levels[comparison.level];
  if (data.spec.all_pairs) name += " against " + treatment.levels[comparison.base];
  test_subject_effects(data, numbers.difference, name, analysis);
}

// The means over the subjects of step_errors().
std::vector<double> mean_step_errors(const Suite& suite) {
  std::vector<double> means;
  for (const Member& member : suite.members) {
    const std::vector<double> own = step_errors(suite.data, *member.subject);
    means.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      means[i] += own[i] / static_cast<double>(suite.members.size());
  }
  return means;
}

void add_effects(const Suite& suite, Analysis& analysis, Notes& notes) {
  const Prepared& data = suite.data;
  const std::vector<Group>& cells = suite.members.front().cells;
  for (const Comparison& comparison : comparisons(data, "", suite.scope)) {
    const Contrast contrast = contrast_of(data, cells, comparison);
    const std::string& treatment = data.treatments[comparison.treatment].name;
    analysis.effects.push_back(
        make_effect(data, comparison, suite.estimate(contrast), suite.numbers(contrast),
                    {.method = suite.unit() + ":" + treatment, .unit = suite.unit()}, notes));
    if (suite.scope == Scope::these && !data.spec.block.empty())
      add_randomization(data, suite.numbers(contrast), comparisons(data, "").size(),
                        analysis.effects.back());
    if (data.spec.assumptions && suite.scope == Scope::like_these)
      add_subject_tests(suite, comparison, contrast, analysis);
  }
  const Estimator estimator = [&](const Contrast& contrast) { return suite.estimate(contrast); };
  add_interactions(data,
                   {.scope = suite.scope,
                    .cells = cells,
                    .errors = mean_step_errors(suite),
                    .estimator = estimator},
                   analysis, notes);
}

// The variance of the numbers without the part that their errors make.
double variance_beyond(const Moments& numbers, double errors) {
  const double n = static_cast<double>(numbers.n);
  return std::max(0.0, numbers.variance().value_or(0) - errors / n);
}

MachineChange machine_change(const Prepared& data, std::span<const Member> members,
                             const Comparison& comparison) {
  const Treatment& treatment = data.treatments[comparison.treatment];
  MachineChange result{.treatment = treatment.name,
                       .baseline = treatment.levels[comparison.base],
                       .level = treatment.levels[comparison.level]};
  std::vector<Estimate> estimates;
  Moments changes;
  Moments bases;
  double change_errors = 0;
  double base_errors = 0;
  bool has_errors = true;
  for (const Member& member : members) {
    auto one = subject_estimator(data, *member.subject,
                                 member.cells)(contrast_of(data, member.cells, comparison));
    if (!one) continue;
    one->log = data.scale.log;
    changes.add(one->difference);
    change_errors += one->variance;
    bases.add(one->base.value_or(0));
    base_errors += one->base_variance;
    has_errors = has_errors && one->has_error() && one->base;
    if (!one->log && one->base) *one->base += data.scale.origin;
    result.machines.push_back(member.subject->name);
    estimates.push_back(*one);
  }
  result.ratios = std::ranges::all_of(estimates, &Estimate::has_ratio);
  for (const Estimate& each : estimates)
    result.changes.push_back(result.ratios ? ratio_of(each).value_or(1) : each.difference);
  if (has_errors && changes.n > 1) {
    result.between_changes = variance_beyond(changes, change_errors);
    result.between_machines = variance_beyond(bases, base_errors);
  }
  if (const auto test = test_equal(estimates)) {
    result.f = test->f;
    result.df = test->df;
    result.error_df = test->error_df;
    result.p = test->p;
  }
  return result;
}

// Corrects by Holm's procedure.
void adjust(std::vector<MachineChange>& changes) {
  std::vector<MachineChange*> order;
  for (MachineChange& each : changes)
    if (each.p) order.push_back(&each);
  std::ranges::sort(order, {}, [](const MachineChange* each) { return *each->p; });
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest =
        std::max(largest, std::min(1.0, static_cast<double>(order.size() - i) * *order[i]->p));
    order[i]->p_adjusted = largest;
  }
}

void add_machines(const Prepared& data, std::span<const Member> members, Analysis& analysis) {
  for (const Comparison& comparison : comparisons(data, "", Scope::these))
    analysis.machine_changes.push_back(machine_change(data, members, comparison));
  adjust(analysis.machine_changes);
}

}  // namespace

bool analyse_within(const Prepared& data, Analysis& analysis, Notes& notes) {
  const std::vector<Member> members = members_of(data, notes);
  if (members.empty()) return false;
  analysis.suite = members.size();
  const bool these_first = data.spec.programs == Programs::these;
  for (const Scope scope : {these_first ? Scope::these : Scope::like_these,
                            these_first ? Scope::like_these : Scope::these}) {
    if (scope == Scope::like_these)
      add_table(data, members, like_these_strata(data, members, notes), scope, analysis, notes);
    else if (!data.spec.block.empty())
      add_table(data, members, these_strata(data, members), scope, analysis, notes);
    add_effects({.data = data, .members = members, .scope = scope}, analysis, notes);
  }
  if (data.spec.machines) add_machines(data, members, analysis);
  return true;
}

std::vector<const Subject*> suite_members(const Prepared& data) {
  Notes unused;
  std::vector<const Subject*> result;
  for (const Member& member : members_of(data, unused)) result.push_back(member.subject);
  return result;
}

std::vector<const Subject*> complete_machines(const Prepared& data) {
  Notes unused;
  std::vector<const Subject*> result;
  for (const Member& member : complete_subjects(data, unused)) result.push_back(member.subject);
  return result;
}

std::optional<Estimate> suite_estimate(const Prepared& data, Scope scope,
                                       const ContrastOfCells& contrast_of_cells) {
  Notes unused;
  const std::vector<Member> members = members_of(data, unused);
  if (members.empty()) return std::nullopt;
  const Suite suite{.data = data, .members = members, .scope = scope};
  const Contrast contrast = contrast_of_cells(members.front().cells);
  const auto mean = suite.estimate(contrast);
  if (!mean || data.spec.estimand == Estimand::mean) return mean;
  const auto own = estimate_of(data, data.spec.estimand, suite.numbers(contrast), *mean);
  return own ? own : mean;
}

}  // namespace stab::stats
