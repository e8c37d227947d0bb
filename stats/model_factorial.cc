// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/alternatives.h"
#include "stats/assumptions.h"
#include "stats/contrasts.h"
#include "stats/effects.h"
#include "stats/factorial.h"
#include "stats/interactions.h"
#include "stats/models.h"
#include "stats/table.h"
#include "stats/terms.h"
#include "stats/welch.h"

namespace stab::stats {
namespace {

std::vector<Point> points_of(const Subject& subject) {
  std::vector<Point> points;
  points.reserve(subject.groups.size());
  for (const Group& group : subject.groups)
    points.push_back({.block = group.block, .cell = group.cell, .y = group.y});
  return points;
}

std::vector<std::uint32_t> terms_of(const Spec& spec) {
  std::vector<std::uint32_t> terms;
  for (const AliasChain& chain : spec.chains) terms.push_back(chain.effect);
  return terms;
}

// Main effects that are also interactions of two treatments: resolution III.
void note_confounding(const Prepared& data, const Layout& names, const std::string& subject,
                      Notes& notes) {
  std::string text;
  for (const AliasChain& chain : data.spec.chains) {
    const std::string first = chain.aliases.substr(0, chain.aliases.find(','));
    if (std::has_single_bit(chain.effect) && std::ranges::count(first, ':') == 1)
      text += fmt::format("{}{} is {}", text.empty() ? "" : ", ",
                          term_name(chain.effect, names.names), first);
  }
  if (!text.empty())
    notes.add(subject, fmt::format("main effects cannot be told from interactions of two "
                                   "treatments ({}, too): a verdict may be due to either.",
                                   text));
}

// What stands on the right of the model: "a * b", or the terms of a fraction one by one.
std::string right_side(const Spec& spec, const Layout& names) {
  if (spec.chains.empty()) return crossing(names.shape, names.names);
  std::string text;
  for (const AliasChain& chain : spec.chains)
    text += (text.empty() ? "" : " + ") + term_name(chain.effect, names.names);
  return text;
}

AnovaTable table_of(const Prepared& data, const std::string& subject, const FactorialFit& fit) {
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

void note_fit(const Prepared& data, const std::string& subject, const FactorialFit& fit,
              Notes& notes) {
  if (!fit.balanced)
    notes.add(subject, fmt::format("some cells have fewer trials than others; sums of squares are "
                                   "of type {}.",
                                   fit.type == SumsOfSquares::type3 ? "III" : "II"));
  if (fit.type != data.spec.sums_of_squares)
    notes.add(subject,
              "some cells have no trial, so sums of squares of type III do not exist; they "
              "are of type II.");
  if (fit.order < data.active().size())
    notes.add(subject,
              fmt::format("interactions of more than {} treatments are left in the residuals.",
                          fit.order));
  if (fit.residual_df <= 0)
    notes.add(subject, "there are too few trials to estimate the error, so nothing is tested.");
  else if (fit.residual_ss <= 0)
    notes.add(subject,
              "the response does not vary between trials of one cell, so there is no error to test "
              "against.");
}

std::optional<Estimate> welch_of(const std::vector<Group>& cells, const Sides& sides,
                                 double noise) {
  const auto pick = [&](const std::vector<std::size_t>& positions) {
    std::vector<Moments> result;
    for (const std::size_t i : positions) {
      result.push_back(cells[i].y);
      Moments& cell = result.back();
      if (cell.ss <= static_cast<double>(cell.n) * noise) cell.ss = 0;
    }
    return result;
  };
  return welch(pick(sides.base), pick(sides.level));
}

}  // namespace

void analyse_factorial(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes) {
  const auto model = FactorialModel::fit(layout(data).shape, points_of(subject), data.noise,
                                         data.spec.sums_of_squares, terms_of(data.spec));
  if (!model) {
    notes.add(subject.name, "the treatments have too many levels to be fitted.");
    return;
  }
  const FactorialFit& fit = model->result();
  if (with_table) {
    analysis.tables.push_back(table_of(data, subject.name, fit));
    note_fit(data, subject.name, fit, notes);
    note_interactions(analysis.tables.back(), layout(data), data.spec.alpha, notes);
    note_confounding(data, layout(data), subject.name, notes);
  }
  if (data.spec.assumptions && data.spec.method == Method::standard)
    test_assumptions(data, subject, model->fitted(points_of(subject)), analysis, notes);
  const std::vector<Group> cells = by_cell(subject);
  std::vector<std::vector<double>> deviations;
  if (data.spec.assumptions) deviations = by_cell_deviations(subject, cells);
  for (const Comparison& comparison : comparisons(data, subject.name)) {
    const Sides pair = sides(data, cells, comparison);
    std::optional<Estimate> estimate;
    if (!pair.base.empty() && fit.block)
      estimate = model->contrast(cell_numbers(cells, pair.base), cell_numbers(cells, pair.level));
    else if (!pair.base.empty())
      estimate = welch_of(cells, pair, data.noise);
    analysis.effects.push_back(
        make_effect(data, comparison, estimate, fit.block ? "Residuals" : "Welch", notes));
    Effect& effect = analysis.effects.back();
    effect.aliases = aliases_of(data.spec, 1U << comparison.treatment);
    if (!data.spec.assumptions) continue;
    add_alternatives(data, subject, comparison, effect);
    effect.spread =
        spread_of(deviations, weights_of(pair, cells.size()), data.spec.alpha, data.noise);
  }
  if (data.spec.assumptions)
    add_interactions(data, subject.name, *model, cells, deviations, analysis);
}

}  // namespace stab::stats
