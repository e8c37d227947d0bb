// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <map>

#include "stats/data/terms.h"
#include "stats/designs/alternatives.h"
#include "stats/designs/assumptions.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/models/factorial.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

// The variation below the seeds, and the number of runs per seed.
struct Runs {
  double units = 0;  // seeds in all cells
  double within_df = 0;
  double within_ss = 0;
  double multiplier = 1;  // runs per seed; if they are unequal, the harmonic mean
  bool balanced = true;
};

Runs runs_of(const Prepared& data, const Subject& subject) {
  Runs runs;
  double reciprocals = 0;
  double n = 0;
  for (const Group& group : subject.groups) {
    const double size = static_cast<double>(group.y.n);
    n += size;
    reciprocals += 1 / size;
    runs.within_ss += group.y.ss;
    runs.balanced = runs.balanced && group.y.n == subject.groups.front().y.n;
  }
  runs.units = static_cast<double>(subject.groups.size());
  runs.within_df = n - runs.units;
  if (runs.within_ss <= n * data.noise) runs.within_ss = 0;
  runs.multiplier =
      runs.balanced ? static_cast<double>(subject.groups.front().y.n) : runs.units / reciprocals;
  return runs;
}

VarianceComponents components_of(const Prepared& data, const Subject& subject, const Runs& runs) {
  VarianceComponents result{.subject = subject.name, .seed = data.spec.seed};
  if (!(runs.within_df > 0)) return result;
  result.within = runs.within_ss / runs.within_df;
  std::map<std::uint32_t, std::vector<Moments>> cells;
  for (const Group& group : subject.groups) cells[group.cell].push_back(group.y);
  std::vector<std::vector<Moments>> seeds;
  for (auto& [cell, groups] : cells) seeds.push_back(std::move(groups));
  if (!(runs.within_ss > 0)) return result;
  const auto known = variance_components(seeds, data.spec.alpha);
  if (!known) return result;
  result.between = known->between;
  result.between_low = known->between_interval.low;
  result.between_high = known->between_interval.high;
  result.within_low = known->within_interval.low;
  result.within_high = known->within_interval.high;
  result.p = known->p;
  return result;
}

AnovaTable table_of(const Prepared& data, const std::string& subject, const FactorialFit& fit,
                    const Runs& runs) {
  const Layout names = layout(data);
  const std::string treatments = crossing(names.shape, names.names);
  const auto terms = all_terms(names.shape, names.shape.size());
  const std::string cell = terms.empty() ? "" : term_name(terms.back(), names.names) + ":";
  const std::string stratum = cell + data.spec.seed;
  AnovaTable table{.subject = subject, .formula = {}, .rows = {}};
  table.formula = fmt::format("{} ~ {} + Error({})", response_term(data.spec), treatments, stratum);
  const double m = runs.multiplier;
  for (const Term& term : fit.terms)
    table.rows.push_back(tested_row(stratum, term_name(term.treatments, names.names), term.df,
                                    m * term.ss, fit.residual_df, m * fit.residual_ss));
  table.rows.push_back(plain_row(stratum, "Residuals", fit.residual_df, m * fit.residual_ss));
  if (runs.within_df > 0)
    table.rows.push_back(plain_row("Within", "Residuals", runs.within_df, runs.within_ss));
  return table;
}

void note_fit(const Prepared& data, const std::string& subject, const FactorialFit& fit,
              const Runs& runs, Notes& notes) {
  const std::string& seed = data.spec.seed;
  if (!runs.balanced)
    notes.add(subject,
              fmt::format("the seeds of {} have unequal numbers of runs. So the model uses one "
                          "mean per seed, and assumes that all seeds have the same number of runs: "
                          "the harmonic mean of the actual numbers.",
                          seed));
  if (!fit.balanced)
    notes.add(subject,
              fmt::format(
                  "some cells have fewer seeds of {} than others; sums of squares are of type II.",
                  seed));
  if (!(runs.within_df > 0))
    notes.add(subject, fmt::format("each seed of {} was run once, so the variance between seeds "
                                   "cannot be separated from the variance between runs.",
                                   seed));
  if (fit.residual_df <= 0)
    notes.add(subject, fmt::format("with one seed of {} per cell, the variance between seeds is "
                                   "unknown, so treatments can't be tested.",
                                   seed));
}

// The treatment is tested against seeds, so the residuals of seeds must be normal; trials within a
// seed must not depend on each other.
void test_nested(const Prepared& data, const Subject& subject, const FactorialModel& model,
                 std::span<const Point> points, Analysis& analysis, Notes& notes) {
  const std::vector<double> fitted = model.fitted(points);
  std::vector<double> seeds;
  std::vector<double> means;
  for (std::size_t i = 0; i < points.size(); ++i) {
    seeds.push_back(points[i].y.mean - fitted[i]);
    means.push_back(points[i].y.mean);
  }
  if (model.result().residual_ss > 0)
    add_normality(seeds, subject.name, fmt::format("means of the seeds of {}", data.spec.seed),
                  "the rank-sum test and the permutation test of the seeds' means are still valid",
                  analysis, notes);
  if (runs_of(data, subject).within_df > 0) test_assumptions(data, subject, means, analysis, notes);
}

// Treatments act on the means of seeds, so the variances of these means are compared. They contain
// the variation of layouts and the part of the runs' variation that averaging leaves.
std::vector<std::vector<double>> seed_deviations(const Subject& subject) {
  Subject units{.name = subject.name, .groups = seed_means(subject)};
  for (std::uint32_t i = 0; i < units.groups.size(); ++i)
    units.trials.push_back({.y = units.groups[i].y.mean, .group = i});
  return by_cell_deviations(units, by_cell(units));
}

}  // namespace

std::vector<Group> seed_means(const Subject& subject) {
  std::vector<Group> units = subject.groups;
  for (Group& unit : units) {
    unit.y = {.n = 1, .mean = unit.y.mean, .ss = 0};
    unit.raw = {.n = 1, .mean = unit.raw.mean, .ss = 0};
  }
  return units;
}

void analyse_nested(const Prepared& data, const Subject& subject, Analysis& analysis,
                    Notes& notes) {
  const Runs runs = runs_of(data, subject);
  std::vector<Point> points;
  for (const Group& unit : seed_means(subject))
    points.push_back({.block = 0, .cell = unit.cell, .y = unit.y});
  const auto model = FactorialModel::fit(layout(data).shape, points, data.noise);
  if (!model) {
    notes.add(subject.name, "the treatments have too many levels for the model.");
    return;
  }
  const FactorialFit& fit = model->result();
  analysis.tables.push_back(table_of(data, subject.name, fit, runs));
  note_fit(data, subject.name, fit, runs, notes);
  analysis.components.push_back(components_of(data, subject, runs));
  if (data.spec.assumptions) test_nested(data, subject, *model, points, analysis, notes);

  const Subject units{.name = subject.name, .groups = seed_means(subject)};
  const std::vector<Group> cells = by_cell(units);
  const Estimator estimator = subject_estimator(data, units, cells);
  const SpreadOf spread = spread_by_numbers(data, seed_deviations(subject));
  for (const Comparison& comparison : comparisons(data, subject.name)) {
    const Contrast contrast = contrast_of(data, cells, comparison);
    const auto estimate = contrast.weights.empty() ? std::nullopt : estimator(contrast);
    analysis.effects.push_back(make_effect(
        data, comparison, estimate,
        {.method = fmt::format("Welch, means of the seeds of {}", data.spec.seed), .unit = "seed"},
        notes));
    Effect& effect = analysis.effects.back();
    if (!contrast.weights.empty())
      add_randomization(data, subject, comparison,
                        comparisons(data, subject.name).size() * data.subjects.size(), effect);
    if (!data.spec.assumptions || contrast.weights.empty()) continue;
    add_alternatives(data, subject, comparison, effect);
    effect.spread = spread(contrast.weights);
    if (!effect.spread)
      notes.add(
          subject.name,
          fmt::format("changes of the variance between seeds are not reported, because there are "
                      "fewer than six seeds of {} per cell or because the seeds do not differ.",
                      data.spec.seed));
  }
  add_interactions(data,
                   {.subject = subject.name,
                    .cells = cells,
                    .errors = step_errors(data, subject),
                    .estimator = estimator,
                    .spread = data.spec.assumptions ? spread : SpreadOf{}},
                   analysis, notes);
}

}  // namespace stab::stats
