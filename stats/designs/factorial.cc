// SPDX-License-Identifier: MIT
#include "stats/models/factorial.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "stats/data/terms.h"
#include "stats/designs/alternatives.h"
#include "stats/designs/assumptions.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/models/own_error.h"

namespace stab::stats {
namespace {

std::vector<Point> points_of(const Subject& subject) {
  std::vector<Point> points;
  points.reserve(subject.groups.size());
  for (const Group& group : subject.groups)
    points.push_back({.block = group.block, .cell = group.cell, .y = group.y});
  return points;
}

// Notes main effects that are aliases of interactions of two treatments: resolution III.
void note_confounding(const Prepared& data, const Layout& names, const std::string& subject,
                      Notes& notes) {
  std::string text;
  for (const AliasChain& chain : data.spec.chains) {
    const std::string first = chain.aliases.substr(0, chain.aliases.find(','));
    if (std::has_single_bit(chain.effect) && std::ranges::count(first, ':') == 1)
      text += fmt::format("{}{} is also {}", text.empty() ? "" : ", ",
                          term_name(chain.effect, names.names), first);
  }
  if (!text.empty())
    notes.add(subject, fmt::format("main effects cannot be distinguished from interactions between "
                                   "two treatments (here {}), so a verdict may be due to either.",
                                   text));
}

AnovaTable pooled_table(const Prepared& data, const std::string& subject, const FactorialFit& fit) {
  const Layout names = layout(data);
  const std::string treatments = right_side(data.spec, names);
  AnovaTable table{.subject = subject, .formula = {}, .rows = {}};
  const std::string block = fit.block ? data.spec.block + " + " : "";
  table.formula = fmt::format("{} ~ {}{}", response_term(data.spec), block, treatments);
  if (fit.block && treatments == "1")
    table.formula = fmt::format("{} ~ {}", response_term(data.spec), data.spec.block);
  const auto add = [&](std::string name, const Term& term) {
    table.rows.push_back(
        tested_row("", std::move(name), term.df, term.ss, fit.residual_df, fit.residual_ss));
  };
  if (fit.block) add(data.spec.block, *fit.block);
  for (const Term& term : fit.terms) {
    add(term_name(term.treatments, names.names), term);
    table.rows.back().aliases = aliases_of(data.spec, term.treatments);
  }
  table.rows.push_back(plain_row("", "Residuals", fit.residual_df, fit.residual_ss));
  return table;
}

void note_fit(const Prepared& data, const std::string& subject, std::size_t cells,
              const FactorialFit& fit, Notes& notes) {
  if (!fit.balanced)
    notes.add(subject, fmt::format("some cells have fewer trials than others; sums of squares are "
                                   "of type {}.",
                                   fit.type == SumsOfSquares::type3 ? "III" : "II"));
  if (!fit.balanced && fit.type == SumsOfSquares::type2 && data.active().size() > 1 &&
      cells == data.cells())
    notes.add(subject,
              "changes are averages over the other treatments' levels, and each level has the same "
              "weight. In sums of squares of type II, the weight of a level is its number of "
              "trials, so the table of sums of squares may disagree with the changes.");
  if (fit.type != data.spec.sums_of_squares)
    notes.add(subject,
              "some cells have no trial, so sums of squares of type III do not exist; the "
              "table uses type II.");
  if (fit.order < data.active().size())
    notes.add(subject,
              fmt::format("interactions of more than {} treatments are left in the residuals.",
                          fit.order));
  if (fit.residual_df <= 0)
    notes.add(subject, "there are too few trials to estimate the error, so nothing is tested.");
}

std::vector<Moments> cell_moments(const std::vector<Group>& cells, double noise) {
  std::vector<Moments> result;
  for (const Group& cell : cells) {
    result.push_back(cell.y);
    if (cell.y.ss <= static_cast<double>(cell.y.n) * noise) result.back().ss = 0;
  }
  return result;
}

// Estimates from trials that are independent of each other.
Estimator by_trials(const Prepared& data, const std::vector<Group>& cells) {
  return [&data, moments = cell_moments(cells, data.noise)](const Contrast& contrast) {
    Estimate estimate = welch(moments, contrast);
    if (estimate.variance == 0 && estimate.df + 1 < static_cast<double>(least_exact))
      estimate.df = 0;
    if (estimate.variance == 0 && estimate.difference * estimate.difference <= data.noise)
      estimate.difference = 0;
    return std::optional(estimate);
  };
}

Estimator by_blocks(const Prepared& data, const Subject& subject, const std::vector<Group>& cells) {
  return [&](const Contrast& contrast) -> std::optional<Estimate> {
    const UnitNumbers numbers = block_numbers(subject, cells, contrast);
    if (numbers.units.empty()) return std::nullopt;
    return mean_over_blocks(data, numbers);
  };
}

Estimator by_residuals(const Prepared& data, const FactorialModel& model,
                       const std::vector<Group>& cells) {
  std::vector<std::size_t> numbers;
  std::size_t trials = 0;
  for (const Group& cell : cells) {
    numbers.push_back(cell.cell);
    trials += cell.y.n;
  }
  return [&model, numbers, trials, noise = data.noise](const Contrast& contrast) {
    auto estimate = model.contrast(numbers, contrast);
    if (estimate) estimate->units = trials;
    if (estimate && estimate->variance == 0 && estimate->difference * estimate->difference <= noise)
      estimate->difference = 0;
    return estimate;
  };
}

std::size_t count_blocks(const Subject& subject) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < subject.groups.size(); ++i)
    blocks += i == 0 || subject.groups[i].block != subject.groups[i - 1].block ? 1 : 0;
  return blocks;
}

// Adds the table of the blocks that have all cells.
void add_block_table(const Prepared& data, const Subject& subject, const std::vector<Group>& cells,
                     Analysis& analysis, Notes& notes) {
  const std::vector<Moments> complete = complete_blocks(subject, cells.size());
  const std::size_t units = complete.size() / cells.size();
  if (units < 2) {
    notes.add(subject.name,
              fmt::format("fewer than two {}s have trials in all cells, so there is no table.",
                          data.spec.block));
    return;
  }
  const Layout names = layout(data);
  std::vector<std::size_t> numbers;
  for (const Group& cell : cells) numbers.push_back(cell.cell);
  const auto strata =
      strata_of(names.shape, numbers, model_terms(data.spec, names), complete, data.noise);
  if (!strata) {
    notes.add(subject.name, "the treatments have too many levels for a table.");
    return;
  }
  analysis.tables.push_back(strata_table(data, *strata, data.spec.block));
  analysis.tables.back().subject = subject.name;
  if (const std::size_t all = count_blocks(subject); units < all)
    notes.add(subject.name,
              fmt::format("{} of {} {}s lack a cell. They are left out of the table, and of "
                          "each comparison that needs the missing cell.",
                          all - units, all, data.spec.block));
}

struct Parts {
  const Prepared& data;
  const Subject& subject;
  std::vector<Group> cells;
  Source source;
  Estimator estimator;
  std::size_t order = most_treatments;  // as in TestedCells
};

void add_randomization(const Parts& parts, const Comparison& comparison, const Contrast& contrast,
                       Effect& effect) {
  const Prepared& data = parts.data;
  if (!data.spec.order_drawn || contrast.weights.empty()) return;
  const std::size_t family = comparisons(data, parts.subject.name).size() * data.subjects.size();
  if (data.spec.block.empty())
    add_randomization(data, parts.subject, comparison, family, effect);
  else
    add_randomization(data, block_numbers(parts.subject, parts.cells, contrast), family, effect);
}

void add_effects(const Parts& parts, Analysis& analysis, Notes& notes) {
  const Prepared& data = parts.data;
  SpreadOf spread;
  if (!data.spec.block.empty())
    spread = spread_by_blocks(data, parts.subject, parts.cells);
  else if (data.spec.assumptions)
    spread = spread_by_numbers(data, by_cell_deviations(parts.subject, parts.cells));
  for (const Comparison& comparison : comparisons(data, parts.subject.name)) {
    const Contrast contrast = contrast_of(data, parts.cells, comparison);
    Source source = parts.source;
    if (source.unit == data.spec.block)
      source.method = data.spec.block + ":" + data.treatments[comparison.treatment].name;
    const auto estimate = contrast.weights.empty() ? std::nullopt : parts.estimator(contrast);
    UnitNumbers numbers;
    if (source.unit == data.spec.block && estimate)
      numbers = block_numbers(parts.subject, parts.cells, contrast);
    analysis.effects.push_back(make_effect(data, comparison, estimate, numbers, source, notes));
    Effect& effect = analysis.effects.back();
    effect.aliases = aliases_of(data.spec, 1U << comparison.treatment);
    add_randomization(parts, comparison, contrast, effect);
    if (!data.spec.assumptions || contrast.weights.empty()) continue;
    add_alternatives(data, parts.subject, comparison, effect);
    effect.spread = spread(contrast.weights);
  }
  add_interactions(data,
                   {.subject = parts.subject.name,
                    .cells = parts.cells,
                    .errors = step_errors(data, parts.subject),
                    .estimator = parts.estimator,
                    .order = parts.order,
                    .spread = data.spec.assumptions ? spread : SpreadOf{}},
                   analysis, notes);
}

void analyse_blocks(const Prepared& data, const Subject& subject, bool with_table,
                    Analysis& analysis, Notes& notes) {
  const std::vector<Group> cells = by_cell(subject);
  if (with_table) {
    add_block_table(data, subject, cells, analysis, notes);
    note_confounding(data, layout(data), subject.name, notes);
  }
  if (data.spec.assumptions && data.spec.method == Method::standard)
    test_blocks(data, subject, analysis, notes);
  add_effects({.data = data,
               .subject = subject,
               .cells = cells,
               .source = {.method = data.spec.block, .unit = data.spec.block},
               .estimator = by_blocks(data, subject, cells)},
              analysis, notes);
}

// For one stratum: trials without blocks, or the pooled error that the spec asks for.
void analyse_residuals(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes) {
  const Layout names = layout(data);
  const auto terms =
      data.spec.chains.empty() ? std::vector<std::uint32_t>{} : model_terms(data.spec, names);
  const auto model = FactorialModel::fit(names.shape, points_of(subject), data.noise,
                                         data.spec.sums_of_squares, terms);
  if (!model) {
    notes.add(subject.name, "the treatments have too many levels for the model.");
    return;
  }
  const std::vector<Group> cells = by_cell(subject);
  const FactorialFit& fit = model->result();
  if (with_table) {
    analysis.tables.push_back(pooled_table(data, subject.name, fit));
    note_fit(data, subject.name, cells.size(), fit, notes);
    note_confounding(data, names, subject.name, notes);
  }
  if (data.spec.assumptions && data.spec.method == Method::standard) {
    test_assumptions(data, subject, model->fitted(points_of(subject)), analysis, notes);
    if (!data.spec.block.empty()) test_pooling(data, subject, analysis, notes);
  }
  const bool pooled = !data.spec.block.empty();
  add_effects({.data = data,
               .subject = subject,
               .cells = cells,
               .source = {.method = pooled ? "Residuals" : "Welch", .unit = "trial"},
               .estimator = pooled ? by_residuals(data, *model, cells) : by_trials(data, cells),
               .order = pooled ? fit.order : most_treatments},
              analysis, notes);
}

}  // namespace

bool has_own_blocks(const Prepared& data) {
  return !data.spec.block.empty() && data.spec.error == Error::own;
}

Estimate mean_over_blocks(const Prepared& data, const UnitNumbers& numbers) {
  return data.spec.independent_blocks ? mean_of(numbers, data.noise)
                                      : mean_over_time(numbers, data.block_rank, data.noise);
}

std::vector<Moments> complete_blocks(const Subject& subject, std::size_t cells) {
  std::vector<Moments> table;
  const std::vector<Group>& groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    std::size_t end = begin;
    while (end < groups.size() && groups[end].block == groups[begin].block) ++end;
    if (end - begin == cells)
      for (std::size_t i = begin; i < end; ++i) table.push_back(groups[i].y);
    begin = end;
  }
  return table;
}

Estimator subject_estimator(const Prepared& data, const Subject& subject,
                            const std::vector<Group>& cells) {
  return data.spec.block.empty() ? by_trials(data, cells) : by_blocks(data, subject, cells);
}

void analyse_factorial(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes) {
  if (has_own_blocks(data))
    analyse_blocks(data, subject, with_table, analysis, notes);
  else
    analyse_residuals(data, subject, with_table, analysis, notes);
}

}  // namespace stab::stats
