// SPDX-License-Identifier: MIT
#include "stats/analyse/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "stats/analyse/losses.h"
#include "stats/designs/contrasts.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

std::string cell_words(const Prepared& data, std::size_t cell, std::size_t but) {
  const std::vector<std::size_t> levels = data.levels_of(cell);
  std::vector<std::string> words;
  for (std::size_t t = 0; t < levels.size(); ++t)
    if (t != but && data.treatments[t].levels.size() > 1)
      words.push_back(data.treatments[t].name + "=" + data.treatments[t].levels[levels[t]]);
  return fmt::format("{}", fmt::join(words, " "));
}

// 1.
void refuse_apart(const Prepared& data, Effect& effect, Notes& notes) {
  if (effect.estimate || effect.scope != Scope::subject || !effect.reason.empty()) return;
  const Subject* subject = subject_named(data, effect.subject);
  const auto comparison = comparison_of(data, effect);
  if (subject == nullptr || !comparison) return;
  const std::vector<Group> cells = by_cell(*subject);
  const std::string both = fmt::format("the levels {0}={1} and {0}={2}", effect.treatment,
                                       effect.baseline, effect.level);
  if (contrast_of(data, cells, *comparison).weights.empty()) {
    withhold(effect, "no two cells with trials differ in this treatment alone");
    notes.add(
        effect.subject,
        fmt::format("{0} can't be compared: no two cells that have trials differ in {1} alone. "
                    "More trials in the same cells can't help; add cells that differ in {1} alone.",
                    both, effect.treatment));
  } else if (has_own_blocks(data)) {
    withhold(effect, fmt::format("no {} has trials of both levels", data.spec.block));
    notes.add(
        effect.subject,
        fmt::format(
            "{0} can't be told from {1}: no {1} has trials of both. More trials can't help: "
            "run both levels in each {1} or, if {1} is not a block, leave {1} out of the analysis.",
            both, data.spec.block));
  }
}

// 2. The squared correlation of a trial's place in time with its level. All of one level before all
// of the other has 0.75; of 20 trials in random order fewer than one in 1,000 series has 0.5.
constexpr double mostly_time = 0.5;

double time_share(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  Moments level;
  Moments place;
  double products = 0;
  for (const Trial& trial : subject.trials) {
    const std::size_t own = data.levels_of(subject.groups[trial.group].cell)[comparison.treatment];
    if (own != comparison.base && own != comparison.level) continue;
    const double x = static_cast<double>(place.n);
    const double y = own == comparison.level ? 1 : 0;
    const double from_mean = x - place.mean;
    place.add(x);
    level.add(y);
    products += from_mean * (y - level.mean);
  }
  return level.ss > 0 && place.ss > 0 ? products * products / level.ss / place.ss : 0;
}

void refuse_time(const Prepared& data, Effect& effect, Notes& notes) {
  if (!data.spec.in_order || data.spec.one_after_other || !data.spec.block.empty()) return;
  if (data.spec.design == Design::padding_study || !effect.reason.empty()) return;
  const auto comparison = comparison_of(data, effect);
  if (!comparison) return;
  double most = 0;
  for (const Subject& subject : data.subjects)
    if (effect.scope != Scope::subject || subject.name == effect.subject)
      most = std::max(most, time_share(data, subject, *comparison));
  if (most <= mostly_time) return;
  withhold(effect, "one level was measured before the other, so time may have made the change");
  notes.add(
      effect.subject,
      fmt::format(
          "the levels {0}={1} and {0}={2} were measured one after the other: anything that "
          "changed on the machine meanwhile looks like a change between them, and no "
          "number of trials can tell the two apart. Interleave the trials of the two levels, in "
          "blocks or in random order, as 'stabctl ab' does.",
          effect.treatment, effect.baseline, effect.level));
}

// 3.
void refuse_raw_suite(const Prepared& data, Analysis& analysis, Notes& notes) {
  if (data.scale.log || analysis.suite == 0 || data.spec.method == Method::stabilizer) return;
  struct Size {
    std::string name;
    double mean = 0;
  };
  std::vector<Size> sizes;
  for (const Subject& subject : data.subjects) {
    Moments raw;
    for (const Group& group : subject.groups) raw.merge(group.raw);
    sizes.push_back({subject.name, raw.mean + data.scale.centre});
  }
  const auto [least, most] = std::ranges::minmax_element(sizes, {}, &Size::mean);
  constexpr double alike = 2;
  if (!(least->mean > 0) || most->mean <= alike * least->mean) return;
  bool any = false;
  for (Effect& effect : analysis.effects) {
    if (effect.scope == Scope::subject || !effect.reason.empty()) continue;
    withhold(effect,
             fmt::format("the largest {} dominates the mean of raw values", data.spec.subject));
    any = true;
  }
  if (any)
    notes.add(fmt::format(
        "The {0}s differ in size: the {1} of {2} is {3:.3g} times that of {4}, so the largest {0} "
        "dominates the mean of raw values. To give each {0} the same weight, use logarithms "
        "('--log' of 'stabctl analyze' or 'analysis.log = true' in a plan).",
        data.spec.subject, data.spec.response, most->name, most->mean / least->mean, least->name));
}

// 7. The paper's procedure has estimands of its own.
void refuse_estimand(const Prepared& data, Effect& effect, Notes& notes) {
  if (!effect.estimate || !effect.reason.empty() || effect.estimand == data.spec.estimand) return;
  if (data.spec.method == Method::stabilizer || data.spec.design == Design::calibration) return;
  if (data.spec.origin != Origin::trial && effect.estimate->variance == 0) return;
  const bool median = data.spec.estimand == Estimand::median;
  const std::string what = median ? "the median" : "a typical run";
  const std::string ask_else =
      "or ask about the mean ('--estimand mean' of 'stabctl analyze' or "
      "'analysis.estimand = \"mean\"' in a plan)";
  const bool has_units =
      !effect.unit.empty() && (effect.unit == data.spec.block || effect.unit == data.spec.subject);
  withhold(effect, has_units ? fmt::format("too few {}s for {}", effect.unit, what)
                             : fmt::format("{} needs blocks", what));
  if (has_units)
    notes.add(effect.subject,
              fmt::format("{} needs at least {} {}s, and there are {}, so there is no verdict. Add "
                          "{}s, {}.",
                          what, median ? least_for_median : least_exact, effect.unit, effect.units,
                          effect.unit, ask_else));
  else
    notes.add(effect.subject,
              fmt::format("{} is computed from changes within blocks, but this comparison has no "
                          "blocks, so there is no verdict. Measure in blocks, {}.",
                          what, ask_else));
}

// 5.
void refuse_dependent(const Prepared& data, Effect& effect, Notes& notes) {
  if (!effect.estimate || !effect.reason.empty()) return;
  const Estimate& estimate = *effect.estimate;
  if (!too_few_independent(estimate)) return;
  // A p that is so small holds at any level that matters, even from few independent blocks.
  constexpr double beyond_doubt = 0.001;
  const auto& p = effect.verdict == Verdict::same ? effect.p_same_adjusted : effect.p_adjusted;
  if (p && *p < beyond_doubt) return;
  withhold(effect, fmt::format("too few independent {}s", data.spec.block));
  notes.add(
      effect.subject,
      fmt::format(
          "neighbouring {0}s are alike (correlation {1:.2f} of {2}'s change from one {0} to the "
          "next), so {3} {0}s contain as much information as {4:.1f} independent ones: too few for "
          "a verdict. Use many more {0}s, or {0}s that are farther apart in time.",
          data.spec.block, estimate.autocorrelation, effect.treatment, estimate.in_time,
          estimate.independent));
}

// What the numbers look like where two tests of them disagree, without a guess at why.
std::string looks_of(const Prepared& data, const Effect& effect) {
  const Randomization& test = *effect.randomization;
  std::vector<std::string> words;
  if (test.skewness)
    words.push_back(
        fmt::format("the {}s' changes have a skewness of {:.2g}", effect.unit, *test.skewness));
  if (effect.estimate && effect.estimate->in_time > 0)
    words.push_back(fmt::format("their correlation from one to the next is {:.2f}",
                                effect.estimate->autocorrelation));
  if (test.without && effect.ratio && !test.influential.empty())
    words.push_back(fmt::format("without {} {} the change is {:+.3g} %, not {:+.3g} %",
                                data.spec.block, test.influential, 100 * (*test.without - 1),
                                100 * (*effect.ratio - 1)));
  return words.empty() ? "" : fmt::format(" The numbers: {}.", fmt::join(words, ", "));
}

// 6.
void refuse_by_order(const Prepared& data, std::size_t family, Effect& effect, Notes& notes) {
  if (!effect.randomization || !effect.reason.empty() || !effect.p_adjusted) return;
  const Randomization& test = *effect.randomization;
  const double alpha = data.spec.alpha;
  const bool is_same = effect.verdict == Verdict::same;
  const auto& by_order = is_same ? test.p_same_adjusted : test.p_adjusted;
  const std::string pair =
      fmt::format("{}={} and {}", effect.treatment, effect.baseline, effect.level);
  if (test.least * static_cast<double>(std::max<std::size_t>(1, family)) >= alpha) {
    if (effect.verdict != Verdict::unsure)
      notes.add(effect.subject,
                fmt::format("{} are too few for a randomization test at this level, so the verdict "
                            "rests on the test of the mean change alone.",
                            count_words(test.units, effect.unit)));
    return;
  }
  if (effect.verdict == Verdict::unsure) {
    if (effect.held_back || !test.p_adjusted || *test.p_adjusted >= alpha ||
        *effect.p_adjusted < alpha)
      return;
    notes.add(effect.subject,
              fmt::format("two tests of {} disagree, so there is no verdict: the randomization "
                          "test finds that the levels differ in some {}s (adjusted {}), but the "
                          "test of the mean change finds no difference ({}).{}",
                          pair, effect.unit, p_words(*test.p_adjusted), p_words(*effect.p_adjusted),
                          looks_of(data, effect)));
    return;
  }
  if (by_order && *by_order < alpha) return;
  const double own = is_same ? effect.p_same_adjusted.value_or(1) : *effect.p_adjusted;
  notes.add(effect.subject,
            fmt::format(
                "two tests of {} disagree, so there is no verdict: the test of the mean change has "
                "an adjusted {}, the randomization test {}{}.{}",
                pair, p_words(own), by_order ? p_words(*by_order) : "none",
                test.settled ? ""
                             : fmt::format(" after {} draws, which is too close to {} to tell",
                                           test.draws, alpha),
                looks_of(data, effect)));
  withhold(effect, "the randomization test does not agree");
}

}  // namespace

void note_empty_cells(const Prepared& data, const Analysis& analysis, Notes& notes) {
  if (!data.spec.chains.empty() || data.active().size() < 2) return;
  for (const Effect& effect : analysis.effects) {
    if (effect.scope != Scope::subject) continue;
    const Subject* subject = subject_named(data, effect.subject);
    const auto comparison = comparison_of(data, effect);
    if (subject == nullptr || !comparison) continue;
    const std::vector<Group> cells = by_cell(*subject);
    if (cells.size() == data.cells()) continue;
    const Sides pair = sides(data, cells, *comparison);
    const std::size_t all = data.cells() / data.treatments[comparison->treatment].levels.size();
    if (pair.base.empty() || pair.base.size() == all) continue;
    constexpr std::size_t most = 3;
    std::string where =
        fmt::format("{} of {} combinations of the other treatments' levels", pair.base.size(), all);
    if (pair.base.size() <= most) {
      std::vector<std::string> words;
      for (const std::size_t i : pair.base)
        words.push_back(cell_words(data, cells[i].cell, comparison->treatment));
      where = fmt::format("{}", fmt::join(words, " and at "));
    }
    notes.add(effect.subject,
              fmt::format("the levels {0}={1} and {0}={2} are compared only at {3}: elsewhere one "
                          "of the two has no trial, and the change there is not known.",
                          effect.treatment, effect.baseline, effect.level, where));
  }
}

void refuse(const Prepared& data, Analysis& analysis, Notes& notes) {
  std::map<const Effect*, std::size_t> family;
  for (const std::vector<Effect*>& each : families_of(analysis))
    for (const Effect* effect : each) family[effect] = each.size();
  for (Effect& effect : analysis.effects) {
    refuse_apart(data, effect, notes);
    refuse_estimand(data, effect, notes);
    refuse_time(data, effect, notes);
  }
  refuse_raw_suite(data, analysis, notes);
  for (Effect& effect : analysis.effects) {
    refuse_lost(data, family[&effect], effect, notes);
    refuse_dependent(data, effect, notes);
    refuse_by_order(data, family[&effect], effect, notes);
  }
}

}  // namespace stab::stats
