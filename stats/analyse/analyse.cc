// SPDX-License-Identifier: MIT
#include "stats/analyse/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "stats/analyse/paper.h"
#include "stats/analyse/refusals.h"
#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/data/slow_machines.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/foresight.h"

namespace stab::stats {
namespace {

bool is_nested(const Prepared& data) {
  return data.spec.design == Design::nested && !data.spec.seed.empty();
}

// Returns the numbers that count as independent: trials, or the means of seeds.
std::vector<Group> independent_cells(const Prepared& data, const Subject& subject,
                                     const std::vector<Group>& trials) {
  if (!is_nested(data) && !is_padding_study(data)) return trials;
  return by_cell({.name = subject.name, .groups = seed_means(subject)});
}

void add_means(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  const std::vector<Group> trials = by_cell(subject);
  const std::vector<Group> units = independent_cells(data, subject, trials);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Moments& y = units[i].y;
    CellMean mean{
        .subject = subject.name, .levels = {}, .n = trials[i].y.n, .mean = data.scale.back(y.mean)};
    const std::vector<std::size_t> levels = data.levels_of(trials[i].cell);
    for (std::size_t t = 0; t < levels.size(); ++t)
      mean.levels.push_back(data.treatments[t].levels[levels[t]]);
    const auto interval = mean_interval(y, data.spec.alpha);
    if (interval && y.ss > static_cast<double>(y.n) * data.noise) {
      const double low = data.scale.back(interval->low);
      const double high = data.scale.back(interval->high);
      if (std::isfinite(low) && std::isfinite(high)) {
        mean.low = low;
        mean.high = high;
      }
    }
    if (const auto variance = trials[i].raw.variance(); variance && std::isfinite(*variance))
      mean.sd = std::sqrt(*variance);
    if (!mean.low)
      notes.add(subject.name,
                "a mean has no interval if there is only one trial, or if trials do not vary.");
    bound_mean(data, subject, trials[i].cell, mean);
    analysis.means.push_back(std::move(mean));
  }
}

void note_treatments(const Prepared& data, Notes& notes) {
  for (const Treatment& treatment : data.treatments)
    if (treatment.levels.size() == 1)
      notes.add(
          fmt::format("The treatment {} has only the level {}, so there is nothing to compare.",
                      treatment.name, treatment.levels.front()));
  if (data.treatments.empty() && !data.subjects.empty())
    notes.add("There is no treatment, so there is nothing to compare.");
}

void run_design(const Prepared& data, Analysis& analysis, Notes& notes) {
  if (data.spec.design == Design::calibration) return;
  if (is_padding_study(data)) {
    for (const Subject& subject : data.subjects) analyse_padding(data, subject, analysis, notes);
    return;
  }
  if (is_nested(data)) {
    for (const Subject& subject : data.subjects) analyse_nested(data, subject, analysis, notes);
    return;
  }
  if (data.spec.design == Design::nested || data.spec.design == Design::padding_study)
    notes.add("Without a seed column, the trials count as independent.");
  Analysis suite;
  suite.spec = data.spec;
  const bool within = data.spec.design == Design::within_subjects;
  const bool has_suite = within && analyse_within(data, suite, notes);
  if (within && !has_suite && !data.subjects.empty())
    notes.add(
        "A within-subjects model needs two subjects with trials in all cells, so each subject is "
        "analyzed separately.");
  for (const Subject& subject : data.subjects)
    analyse_factorial(data, subject, !has_suite, analysis, notes);
  analysis.suite = suite.suite;
  analysis.machine_changes = std::move(suite.machine_changes);
  std::ranges::move(suite.tables, std::back_inserter(analysis.tables));
  std::ranges::move(suite.interactions, std::back_inserter(analysis.interactions));
  std::ranges::move(suite.assumptions, std::back_inserter(analysis.assumptions));
  std::ranges::move(suite.effects, std::back_inserter(analysis.effects));
}

// Adds the change of the variance over all subjects.
void add_suite_spread(Analysis& analysis) {
  if (analysis.suite == 0) return;
  for (Effect& suite : analysis.effects) {
    if (suite.scope != Scope::like_these) continue;
    std::vector<double> ratios;
    for (const Effect& effect : analysis.effects)
      if (effect.scope == Scope::subject && effect.treatment == suite.treatment &&
          effect.level == suite.level && effect.baseline == suite.baseline && effect.spread)
        ratios.push_back(effect.spread->ratio);
    suite.spread = spread_over(ratios, analysis.spec.alpha);
  }
  for (Interaction& suite : analysis.interactions) {
    if (suite.scope != Scope::like_these) continue;
    std::vector<double> ratios;
    for (const Interaction& each : analysis.interactions)
      if (each.scope == Scope::subject && each.term == suite.term && each.spread)
        ratios.push_back(each.spread->ratio);
    suite.spread = spread_over(ratios, analysis.spec.alpha);
  }
}

// On the raw scale, adds the result of the log scale, which often meets the assumption of normality
// if raw numbers don't.
void add_log_scale(const Dataset& data, const Spec& spec, Analysis& analysis) {
  if (spec.log_scale || !spec.assumptions) return;
  const bool normal = std::ranges::all_of(analysis.assumptions, &Assumption::holds);
  const bool positive = std::ranges::none_of(
      data.response, [&](double x) { return std::isfinite(x) && x + data.centre <= 0; });
  if (normal || !positive) return;
  Spec logs = spec;
  logs.log_scale = true;
  logs.assumptions = false;
  logs.interactions = false;
  logs.method = Method::standard;
  const Analysis other = analyse(data, logs);
  for (Effect& effect : analysis.effects)
    for (const Effect& same : other.effects)
      if (same.subject == effect.subject && same.scope == effect.scope &&
          same.treatment == effect.treatment && same.baseline == effect.baseline &&
          same.level == effect.level && same.p)
        effect.alternatives.push_back({.method = "log scale",
                                       .ratio = same.ratio,
                                       .low = same.low,
                                       .high = same.high,
                                       .p = *same.p});
}

void note_multiplicity(const Analysis& analysis, Notes& notes) {
  const auto tests = std::ranges::count_if(analysis.effects, [&](const Effect& effect) {
    return effect.p.has_value() && !is_control(effect, analysis.spec);
  });
  if (tests > 1)
    notes.add(fmt::format(
        "Verdicts are corrected for the number of comparisons (Holm and Shaffer, {}), so the "
        "probability of any wrong verdict is at most {:.3g} %. Each interval and p-value is valid "
        "for its own comparison; the adjusted intervals are valid for all comparisons together.",
        analysis.suite > 0
            ? fmt::format(
                  "once for each {0}, once for these {0}s together, and once for {0}s like these",
                  analysis.spec.subject)
            : "all together",
        100 * analysis.spec.alpha));
}

void note_interactions(const Analysis& analysis, Notes& notes) {
  for (const Interplay& each : interplays(analysis))
    notes.add(
        each.subject,
        fmt::format("the treatments {} interact ({}): the effect of one treatment depends on the "
                    "levels of the others, and an average over these levels hides this dependence.",
                    each.aliases.empty()
                        ? each.term
                        : fmt::format("{} (or an effect that looks the same in this design: {})",
                                      each.term, each.aliases),
                    each.family > 1 ? fmt::format("adjusted {}, corrected for all {} interactions",
                                                  p_words(each.p_adjusted), each.family)
                                    : p_words(each.p_adjusted)));
}

// The answer says this about the comparisons that decide, so the notes say it about the others.
void note_few(const Analysis& analysis, Notes& notes) {
  std::vector<const Effect*> others;
  for (const Effect& effect : analysis.effects)
    if (effect.scope != deciding_scope(analysis)) others.push_back(&effect);
  const std::vector<std::string> said = few_sentences(deciding_effects(analysis));
  for (const std::string& sentence : few_sentences(others))
    if (std::ranges::find(said, sentence) == said.end()) notes.add(sentence + ".");
}

// Notes how common a layout may be that no block had: if none of n drawn layouts is of a kind, this
// kind may make up to 1 - 0.05^(1 / n) of all layouts (95 %, about 3 / n).
void note_rare(const Prepared& data, const Analysis& analysis, Notes& notes) {
  const Effect* fewest = nullptr;
  for (const Effect& effect : analysis.effects)
    if (effect.unit == data.spec.block && effect.df && effect.units > 1 && effect.detectable &&
        (fewest == nullptr || effect.units < fewest->units))
      fewest = &effect;
  if (fewest == nullptr) return;
  const double unseen = 1 - std::pow(0.05, 1 / static_cast<double>(fewest->units));
  constexpr double rare = 0.01;
  const double all = std::ceil(std::log(0.05) / std::log(1 - rare));
  constexpr double enough = 300;
  if (static_cast<double>(fewest->units) >= enough) return;
  notes.add(fmt::format(
      "A rare layout may be missing: with 95 % confidence, {0} {1}s rule out only layouts that "
      "occur more than {2:.2g} % of the time. If a missing layout made one level 20 % slower, the "
      "mean would move by up to {3:.2g} %. It takes {4:.0f} {1}s to rule out layouts that occur "
      "more than 1 % of the time. The typical change leaves out a fifth of the {1}s at each end, "
      "so it does not depend on a rare layout.",
      fewest->units, data.spec.block, 100 * unseen, 20 * unseen, all));
}

void note_pooling(const Prepared& data, Notes& notes) {
  if (data.spec.error == Error::pooled && !data.spec.block.empty())
    notes.add(
        fmt::format("As requested, the error is pooled over all treatments, which assumes that a "
                    "treatment has the same effect in all {}s.",
                    data.spec.block));
}

void note_looks(const Prepared& data, Notes& notes) {
  if (!data.repeated) return;
  notes.add(
      fmt::format("The experiment looks at its data up to {} times and may end at any look. The "
                  "verdicts, and the p-values and intervals of changes and interactions, take all "
                  "looks into account (alpha spending, Lan and DeMets). The other tables ignore "
                  "the looks, so they are valid only if the number of trials was fixed in advance.",
                  data.spec.looks->planned.size()));
}

}  // namespace

namespace {

// A machine may lack all of its numbers, so that no subject has its name: it is looked for in the
// rows themselves. A single machine has no answer over machines, so it lacks nothing.
void find_lacking_machines(const Dataset& data, const Prepared& prepared, Analysis& analysis) {
  const Column* const column = data.find(prepared.spec.subject);
  if (!prepared.spec.machines || column == nullptr) return;
  std::set<std::uint32_t> seen(column->codes.begin(), column->codes.end());
  const auto place = static_cast<std::size_t>(column - data.columns.data());
  for (const Lost& trial : data.lost) seen.insert(trial.codes[place]);
  if (seen.size() < 2) return;
  const std::vector<const Subject*> complete = complete_machines(prepared);
  for (const std::uint32_t code : seen)
    if (std::ranges::find(complete, column->levels[code], &Subject::name) == complete.end())
      analysis.lacking_machines.push_back(column->levels[code]);
}

}  // namespace

namespace {

Analysis analyse_all(const Dataset& data, const Spec& spec) {
  const Prepared prepared = prepare_data(data, spec);
  Analysis analysis;
  analysis.spec = prepared.spec;
  Notes notes = prepared.notes;
  note_treatments(prepared, notes);
  for (const Subject& subject : prepared.subjects) add_means(prepared, subject, analysis, notes);
  run_design(prepared, analysis, notes);
  find_lacking_machines(data, prepared, analysis);
  if (prepared.spec.design == Design::calibration)
    analysis.calibration = calibrate(data, prepared.spec, notes);
  if (prepared.spec.method == Method::stabilizer) apply_paper(prepared, analysis, notes);
  if (prepared.spec.assumptions) {
    for (AnovaTable& table : analysis.tables) add_shares(table, prepared.spec.alpha);
    add_suite_spread(analysis);
    add_log_scale(data, prepared.spec, analysis);
  }
  settle_alike(analysis, notes);
  settle_of_builds(analysis, notes);
  decide(analysis);
  refuse_interactions(prepared, analysis, notes);
  note_interactions(analysis, notes);
  set_adjusted_intervals(prepared, analysis);
  if (prepared.spec.assumptions) add_foresight(prepared, analysis);
  refuse(prepared, analysis, notes);
  note_empty_cells(prepared, analysis, notes);
  note_multiplicity(analysis, notes);
  note_few(analysis, notes);
  if (!prepared.spec.block.empty()) note_rare(prepared, analysis, notes);
  note_pooling(prepared, notes);
  note_looks(prepared, notes);
  analysis.notes = notes.sentences();
  return analysis;
}

}  // namespace

Analysis analyse(const Dataset& data, const Spec& spec) {
  std::vector<SlowMachine> slow =
      spec.machine_kind.empty() ? spec.slow_machines : slow_machines(data, spec);
  if (slow.empty()) return analyse_all(data, spec);
  Analysis analysis = analyse_all(without_machines(data, spec, slow), spec);
  for (const SlowMachine& machine : slow)
    analysis.notes.push_back(fmt::format(
        "The {0} {1} is too slow and is left out of all numbers, so the answer is about the other "
        "{0}s. In at least three {5}s in a row, the values of {2} on this {0} are {3:.2g} times as "
        "{4} as on the other {0}s of its kind.",
        spec.subject, machine.name, spec.control.empty() ? "the baseline" : spec.control,
        machine.times, spec.higher_is_better ? "low" : "high", spec.block));
  analysis.slow_machines = std::move(slow);
  return analysis;
}

}  // namespace stab::stats
