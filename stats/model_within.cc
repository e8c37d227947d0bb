// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "stats/alternatives.h"
#include "stats/assumptions.h"
#include "stats/contrasts.h"
#include "stats/effects.h"
#include "stats/interactions.h"
#include "stats/models.h"
#include "stats/table.h"
#include "stats/terms.h"
#include "stats/within.h"

namespace stab::stats {
namespace {

struct Complete {
  std::vector<std::string> subjects;
  std::vector<Moments> table;
  std::vector<Group> cells;  // of one of them
};

// The subjects that have all cells.
Complete complete_subjects(const Prepared& data, Notes& notes) {
  Complete result;
  for (const Subject& subject : data.subjects) {
    const std::vector<Group> cells = by_cell(subject);
    if (cells.size() < data.cells()) {
      notes.add(subject.name,
                fmt::format(
                    "left out of the model of all {}s, because it lacks trials in {} of {} cells.",
                    data.spec.subject, data.cells() - cells.size(), data.cells()));
      continue;
    }
    result.subjects.push_back(subject.name);
    for (const Group& cell : cells) result.table.push_back(cell.y);
    result.cells = cells;
  }
  return result;
}

// "subject/opt", "subject/(a * b)"
std::string error_term(const std::string& subject, const Layout& names) {
  const std::string treatments = crossing(names.shape, names.names);
  if (treatments == "1") return subject;
  return active_treatments(names.shape) == 1 ? subject + "/" + treatments
                                             : subject + "/(" + treatments + ")";
}

AnovaTable table_of(const Prepared& data, const WithinFit& fit) {
  const Layout names = layout(data);
  const std::string& subject = data.spec.subject;
  AnovaTable table;
  table.formula = fmt::format("{} ~ {} + Error({})", response_term(data.spec),
                              crossing(names.shape, names.names), error_term(subject, names));
  table.rows.push_back(plain_row(subject, "Residuals", fit.subject_df, fit.subject_ss));
  for (const WithinTerm& term : fit.terms) {
    const std::string name = term_name(term.treatments, names.names);
    const std::string stratum = fmt::format("{}:{}", subject, name);
    table.rows.push_back(tested_row(stratum, name, term.df, term.ss, term.error_df, term.error_ss));
    table.rows.push_back(plain_row(stratum, "Residuals", term.error_df, term.error_ss));
  }
  if (fit.within_df > 0)
    table.rows.push_back(plain_row("Within", "Residuals", fit.within_df, fit.within_ss));
  return table;
}

void add_suite_tests(const Prepared& data, const WithinModel& model, const Comparison& comparison,
                     Analysis& analysis) {
  const auto base = model.subject_means(comparison.treatment, comparison.base);
  const auto level = model.subject_means(comparison.treatment, comparison.level);
  add_suite_alternatives(data, base, level, analysis.effects.back());
  std::vector<double> differences;
  for (std::size_t i = 0; i < base.size(); ++i) differences.push_back(level[i] - base[i]);
  const Treatment& treatment = data.treatments[comparison.treatment];
  const std::string name = treatment.levels.size() == 2
                               ? treatment.name
                               : treatment.name + " " + treatment.levels[comparison.level];
  test_subject_effects(data, differences, name, analysis);
}

// Of the subjects' differences of differences: their mean against their variation, which for terms
// with one degree of freedom is the F test of the table.
void add_suite_interactions(const Prepared& data, const WithinModel& model,
                            const std::vector<Group>& cells, Analysis& analysis) {
  for (const std::uint32_t term : two_level_interactions(data)) {
    const Moments each = moments(model.weighted(interaction_weights(data, cells, term)));
    const double n = static_cast<double>(each.n);
    const Estimate estimate{
        .difference = each.mean,
        .variance = each.ss > n * data.noise ? each.variance().value_or(0) / n : 0,
        .df = n - 1,
        .base = {}};
    analysis.interactions.push_back(
        make_interaction(data, "", term_name(term, layout(data).names), estimate));
  }
}

}  // namespace

bool analyse_within(const Prepared& data, Analysis& analysis, Notes& notes) {
  const Complete complete = complete_subjects(data, notes);
  if (complete.subjects.size() < 2) return false;
  const WithinModel model(layout(data).shape, complete.table, data.noise);
  const WithinFit& fit = model.result();
  analysis.suite = complete.subjects.size();
  analysis.tables.push_back(table_of(data, fit));
  note_interactions(analysis.tables.back(), layout(data), data.spec.alpha, notes);
  if (!fit.balanced)
    notes.add(fmt::format(
        "Cells have unequal numbers of trials, so the model of all {}s works on cell means "
        "(times the harmonic mean of the numbers).",
        data.spec.subject));
  for (const WithinTerm& term : fit.terms)
    if (!(term.error_ss > 0))
      notes.add(fmt::format("The effect of {} does not vary between {}s at all, so it has no test.",
                            term_name(term.treatments, layout(data).names), data.spec.subject));
  for (const Comparison& comparison : comparisons(data, "")) {
    analysis.effects.push_back(make_effect(
        data, comparison, model.contrast(comparison.treatment, comparison.base, comparison.level),
        data.spec.subject + ":" + data.treatments[comparison.treatment].name, notes));
    if (data.spec.assumptions) add_suite_tests(data, model, comparison, analysis);
  }
  if (data.spec.assumptions) add_suite_interactions(data, model, complete.cells, analysis);
  return true;
}

}  // namespace stab::stats
