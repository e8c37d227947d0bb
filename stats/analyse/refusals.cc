// SPDX-License-Identifier: MIT
#include "stats/analyse/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "stats/designs/contrasts.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/dependence.h"

namespace stab::stats {
namespace {

const Subject* subject_of(const Prepared& data, const Effect& effect) {
  const auto found = std::ranges::find(data.subjects, effect.subject, &Subject::name);
  return found == data.subjects.end() ? nullptr : &*found;
}

// The comparison that an effect is of.
std::optional<Comparison> comparison_of(const Prepared& data, const Effect& effect) {
  for (const Comparison& each : comparisons(data, effect.subject, effect.scope)) {
    const Treatment& treatment = data.treatments[each.treatment];
    if (treatment.name == effect.treatment && treatment.levels[each.base] == effect.baseline &&
        treatment.levels[each.level] == effect.level)
      return each;
  }
  return std::nullopt;
}

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
  const Subject* subject = subject_of(data, effect);
  const auto comparison = comparison_of(data, effect);
  if (subject == nullptr || !comparison) return;
  const std::vector<Group> cells = by_cell(*subject);
  const std::string both = fmt::format("the levels {0}={1} and {0}={2}", effect.treatment,
                                       effect.baseline, effect.level);
  if (contrast_of(data, cells, *comparison).weights.empty()) {
    withhold(effect, "no two cells with trials differ in this treatment alone");
    notes.add(effect.subject,
              fmt::format("{} can't be compared: no two cells that have trials differ in {} alone. "
                          "More trials of the same cells can't help; it takes cells that do.",
                          both, effect.treatment));
  } else if (has_own_blocks(data)) {
    withhold(effect, fmt::format("no {} has trials of both levels", data.spec.block));
    notes.add(
        effect.subject,
        fmt::format("{0} can't be told from {1}: no {1} has trials of both. More trials can't "
                    "help; it takes both levels in each {1}, or, if {1} is no block, an "
                    "analysis without it.",
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
          "the levels {0}={1} and {0}={2} were measured one after the other: whatever changed on "
          "the machine meanwhile counts as a change, and no number of trials tells "
          "the two apart. It takes trials of both in turns, in blocks or in random "
          "order, as 'stabctl ab' runs them.",
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
    withhold(effect, fmt::format("the mean over {}s of raw numbers is that of the largest",
                                 data.spec.subject));
    any = true;
  }
  if (any)
    notes.add(fmt::format(
        "The {0}s differ in size: a {1} of {2} is {3:.3g} times that of {4}, so the mean over {0}s "
        "of raw numbers is decided by the largest. Logarithms give each {0} the same weight: "
        "'--log' "
        "of 'stabctl analyze', 'analysis.log = true' in a plan.",
        data.spec.subject, data.spec.response, most->name, most->mean / least->mean, least->name));
}

// 4. Trials that are missing on either side of a comparison, as shares of what should be there.
struct Loss {
  std::string unit{};    // what they are counted in
  std::size_t base = 0;  // missing
  std::size_t level = 0;
  std::size_t of_base = 0;  // of so many
  std::size_t of_level = 0;

  [[nodiscard]] double share(std::size_t missing, std::size_t of) const {
    return of == 0 ? 0 : static_cast<double>(missing) / static_cast<double>(of);
  }
  // By how much more of one side is missing, as a share of what the other side has.
  [[nodiscard]] double excess() const {
    const double lost_base = share(base, of_base);
    const double lost_level = share(level, of_level);
    const double least = std::min(lost_base, lost_level);
    return least < 1 ? (std::max(lost_base, lost_level) - least) / (1 - least) : 0;
  }
};

// Blocks that have one side of the comparison and lack the other.
Loss lost_in_blocks(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  Loss loss{.unit = data.spec.block};
  const std::vector<Group> cells = by_cell(subject);
  const Sides pair = sides(data, cells, comparison);
  enum class Side : std::uint8_t { neither, base, level };
  std::vector<Side> side(data.cells(), Side::neither);
  for (const std::size_t i : pair.base) side[cells[i].cell] = Side::base;
  for (const std::size_t i : pair.level) side[cells[i].cell] = Side::level;
  const std::vector<Group>& groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::uint32_t block = groups[begin].block;
    std::size_t base = 0;
    std::size_t level = 0;
    for (; begin < groups.size() && groups[begin].block == block; ++begin) {
      base += side[groups[begin].cell] == Side::base ? 1 : 0;
      level += side[groups[begin].cell] == Side::level ? 1 : 0;
    }
    if (base + level == 0) continue;
    ++loss.of_base;
    ++loss.of_level;
    loss.base += base < pair.base.size() ? 1 : 0;
    loss.level += level < pair.level.size() ? 1 : 0;
  }
  return loss;
}

// Rows without a number.
Loss lost_rows(const Prepared& data, const Subject& subject, std::size_t number,
               const Comparison& comparison) {
  Loss loss{.unit = "trial"};
  for (const auto& [place, lost] : data.lost) {
    if (place.first != number) continue;
    const std::size_t level = data.levels_of(place.second)[comparison.treatment];
    if (level == comparison.base) loss.base += lost;
    if (level == comparison.level) loss.level += lost;
  }
  loss.of_base = loss.base;
  loss.of_level = loss.level;
  for (const Group& group : subject.groups) {
    const std::size_t level = data.levels_of(group.cell)[comparison.treatment];
    if (level == comparison.base) loss.of_base += group.y.n;
    if (level == comparison.level) loss.of_level += group.y.n;
  }
  return loss;
}

// The means that are left when a share of the numbers is cut off at the top, or at the bottom.
Interval trimmed_means(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  const auto cut = std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(share * n)));
  const std::span<const double> all = values;
  return {.low = moments(all.first(values.size() - cut)).mean,
          .high = moments(all.subspan(cut)).mean};
}

// The difference on the model's scale where the side that lost less loses the same share of its
// largest, or of its smallest numbers (Lee, Review of Economic Studies 2009).
std::optional<Interval> lee_bounds(const Prepared& data, const Subject& subject,
                                   const Comparison& comparison, const Loss& loss,
                                   double difference) {
  const std::vector<Group> cells = by_cell(subject);
  if (has_own_blocks(data)) {
    const UnitNumbers numbers = block_numbers(subject, cells, contrast_of(data, cells, comparison));
    if (numbers.difference.size() < 2) return std::nullopt;
    return trimmed_means(numbers.difference, loss.excess());
  }
  const bool trims_base =
      loss.share(loss.level, loss.of_level) > loss.share(loss.base, loss.of_base);
  const Sides pair = sides(data, cells, comparison);
  const std::vector<std::size_t>& trimmed = trims_base ? pair.base : pair.level;
  const std::vector<std::vector<double>> deviations = by_cell_deviations(subject, cells);
  Interval shift{};
  for (const std::size_t i : trimmed) {
    const Interval own = trimmed_means(deviations[i], loss.excess());
    shift.low += own.low / static_cast<double>(trimmed.size());
    shift.high += own.high / static_cast<double>(trimmed.size());
  }
  if (trims_base) return Interval{.low = difference - shift.high, .high = difference - shift.low};
  return Interval{.low = difference + shift.low, .high = difference + shift.high};
}

double as_ratio(const Estimate& estimate, double difference) {
  return estimate.log ? std::exp(difference) : 1 + difference / *estimate.base;
}

// The p of "what is missing does not depend on the cell", of blocks.
std::optional<double> p_of_loss(const Prepared& data, const Subject& subject) {
  const std::vector<Group> cells = by_cell(subject);
  std::vector<Marked> marks;
  const std::vector<Group>& groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::uint32_t block = groups[begin].block;
    for (std::uint32_t c = 0; c < cells.size(); ++c) {
      const bool there = begin < groups.size() && groups[begin].block == block &&
                         groups[begin].cell == cells[c].cell;
      marks.push_back({.stratum = block, .cell = c, .marked = !there});
      begin += there ? 1 : 0;
    }
  }
  return dependence_on_cell(marks, data.spec.random_seed, data.spec.alpha).p;
}

std::string lost_words(const std::string& level, std::size_t lost, std::size_t of) {
  return fmt::format("{} lacks {} of {}", level, lost, of);
}

void bound_by_loss(const Prepared& data, std::size_t family, Effect& effect, Notes& notes) {
  if (effect.scope != Scope::subject || !effect.estimate || !effect.estimate->has_ratio()) return;
  if (data.spec.design != Design::factorial && data.spec.design != Design::within_subjects) return;
  const Subject* subject = subject_of(data, effect);
  const auto comparison = comparison_of(data, effect);
  if (subject == nullptr || !comparison) return;
  const auto number = static_cast<std::size_t>(subject - data.subjects.data());
  const Loss loss = has_own_blocks(data) ? lost_in_blocks(data, *subject, *comparison)
                                         : lost_rows(data, *subject, number, *comparison);
  if (loss.base + loss.level == 0) return;
  const Estimate& estimate = *effect.estimate;
  const auto bounds = lee_bounds(data, *subject, *comparison, loss, estimate.difference);
  if (!bounds) return;
  // What is left has fewer numbers, so its error is larger. Twice the one-sided error is never too
  // short for both ends together (Imbens and Manski, Econometrica 2004).
  const double alpha =
      data.level(data.spec.alpha / static_cast<double>(std::max<std::size_t>(1, family)));
  const auto t =
      alpha > 0 && estimate.has_error() ? t_upper_quantile(alpha / 2, estimate.df) : std::nullopt;
  const double left = 1 - std::min(0.99, loss.excess());
  const double half = t ? *t * std::sqrt(estimate.variance / left) + estimate.bound : 0;
  const Interval wide{.low = bounds->low - half, .high = bounds->high + half};
  effect.loss_low = as_ratio(estimate, wide.low);
  effect.loss_high = as_ratio(estimate, wide.high);
  const auto p =
      has_own_blocks(data) && data.spec.assumptions ? p_of_loss(data, *subject) : std::nullopt;
  const std::string depends =
      !p ? "" : fmt::format(" ({} that it does not depend on the cell)", p_words(*p));
  notes.add(
      effect.subject,
      fmt::format("trials are missing{}: {}, {} {}s. If one level lost nothing but what the "
                  "other would have lost, too, and some more (Lee's bounds), the change of {} "
                  "is between {:+.3g} and {:+.3g} %, with the error of these bounds.",
                  depends,
                  lost_words(effect.treatment + "=" + effect.baseline, loss.base, loss.of_base),
                  lost_words(effect.level, loss.level, loss.of_level), loss.unit, effect.level,
                  100 * (*effect.loss_low - 1), 100 * (*effect.loss_high - 1)));
  if (!effect.reason.empty()) return;
  const bool turned = effect.verdict == Verdict::faster || effect.verdict == Verdict::slower
                          ? wide.low <= 0 && wide.high >= 0
                          : false;
  const double margin = data.spec.equivalence.value_or(0);
  const bool left_margin = effect.verdict == Verdict::same &&
                           (*effect.loss_high > 1 + margin || *effect.loss_low < 1 / (1 + margin));
  if (!turned && !left_margin) return;
  withhold(effect, turned ? "the trials that are missing may turn the change around"
                          : "the trials that are missing may hide a change");
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
      fmt::format("neighbouring {0}s are alike (correlation {1:.2f} of {2}'s change from one "
                  "{0} to the next), so {3} {0}s tell as much as {4:.1f} independent ones: too "
                  "few for a verdict. It takes many more {0}s, or {0}s that are farther apart "
                  "in time.",
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
    words.push_back(fmt::format("without {} {} the change is {:+.3g} % and not {:+.3g} %",
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
    notes.add(
        effect.subject,
        fmt::format("two tests of {} disagree, so there is no verdict: the randomization test "
                    "finds that the levels differ in some {}s (adjusted {}), the test of the "
                    "mean change does not ({}).{}",
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
    const Subject* subject = subject_of(data, effect);
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
    notes.add(
        effect.subject,
        fmt::format(
            "the levels {0}={1} and {0}={2} are compared at {3} only: elsewhere one of the two "
            "has no trial, and the change there is not known.",
            effect.treatment, effect.baseline, effect.level, where));
  }
}

void refuse(const Prepared& data, Analysis& analysis, Notes& notes) {
  std::map<const Effect*, std::size_t> family;
  for (const std::vector<Effect*>& each : families_of(analysis))
    for (const Effect* effect : each) family[effect] = each.size();
  for (Effect& effect : analysis.effects) {
    refuse_apart(data, effect, notes);
    refuse_time(data, effect, notes);
  }
  refuse_raw_suite(data, analysis, notes);
  for (Effect& effect : analysis.effects) {
    bound_by_loss(data, family[&effect], effect, notes);
    refuse_dependent(data, effect, notes);
    refuse_by_order(data, family[&effect], effect, notes);
  }
}

}  // namespace stab::stats
