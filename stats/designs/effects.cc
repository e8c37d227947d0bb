// SPDX-License-Identifier: MIT
#include "stats/designs/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "stats/data/terms.h"
#include "stats/designs/designs.h"
#include "stats/designs/table.h"
#include "stats/numbers/distribution.h"
#include "stats/tests/variances.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

void set_intervals(const Prepared& data, const Estimate& estimate, Effect& effect) {
  const double alpha = data.level(data.spec.alpha);
  if (!(alpha > 0)) return;
  if (const auto wide = ratio_interval(estimate, alpha)) {
    effect.low = wide->low;
    effect.high = wide->high;
  }
  const double both = data.level(2 * data.spec.alpha);
  if (const auto narrow = ratio_interval(estimate, both)) {
    effect.tost_low = narrow->low;
    effect.tost_high = narrow->high;
  }
  if (estimate.log) return;
  if (const auto own = difference_interval(estimate, alpha)) {
    effect.difference_low = own->low;
    effect.difference_high = own->high;
  }
}

// The largest amount by which rounding to the clock's steps may shift the mean of a cell. Noise of
// half a step or more averages it away: with a standard deviation of s the mean is off by at most
// step / pi exp(-2 pi^2 s^2 / step^2) (Sheppard's corrections; Kollar, IEEE TIM 1994). Numbers on
// only one or two steps do not show their noise.
double shift_of(const Moments& raw, double step) {
  const double n = static_cast<double>(raw.n);
  const double most = step / 2;
  // Numbers on two neighbouring steps have at most this variance.
  if (n < 2 || raw.ss <= 0.2501 * step * step * n) return most;
  const double variance = std::max(0.0, raw.ss / (n - 1) / step / step - 1.0 / 12);
  return std::min(most, step / std::numbers::pi *
                            std::exp(-2 * std::numbers::pi * std::numbers::pi * variance));
}

// The largest error of a comparison's difference by the clock's steps, on the model's scale.
double step_bound(const Prepared& data, const Comparison& comparison) {
  if (!(data.step > 0)) return 0;
  double sum = 0;
  double subjects = 0;
  for (const Subject& subject : data.subjects) {
    if (comparison.scope == Scope::subject && subject.name != comparison.subject) continue;
    ++subjects;
    double shift = 0;
    double cells = 0;
    for (const Group& cell : by_cell(subject)) {
      const std::size_t level = data.levels_of(cell.cell)[comparison.treatment];
      if (level != comparison.base && level != comparison.level) continue;
      const double mean = cell.raw.mean + data.scale.centre;
      shift += shift_of(cell.raw, data.step) / (data.scale.log ? mean : 1);
      ++cells;
    }
    // There are two sides, and each is the mean of half of these cells.
    if (cells > 0) sum += 2 * shift / cells;
  }
  return subjects > 0 ? sum / subjects : 0;
}

std::string why_no_interval(const Prepared& data, const Estimate& estimate) {
  if (estimate.has_error() && !(data.level(data.spec.alpha) > 0))
    return "it is too early in this sequential experiment to tell anything.";
  if (!estimate.has_error())
    return "there are too few trials to estimate the error, so nothing is tested.";
  if (estimate.ordered)
    return "there are too few blocks for an interval of the median at this confidence level.";
  if (!estimate.has_ratio())
    return "a mean that is not above zero gives no useful ratio, so differences are given instead.";
  return "the interval of the ratio has no bounds here, so differences are given instead.";
}

}  // namespace

std::vector<Comparison> comparisons(const Prepared& data, const std::string& subject, Scope scope) {
  std::vector<Comparison> result;
  for (const std::size_t treatment : data.active()) {
    const std::size_t levels = data.treatments[treatment].levels.size();
    const std::size_t bases = data.spec.all_pairs ? levels - 1 : 1;
    for (std::size_t base = 0; base < bases; ++base)
      for (std::size_t level = base + 1; level < levels; ++level)
        result.push_back({.subject = subject,
                          .scope = scope,
                          .treatment = treatment,
                          .base = base,
                          .level = level});
  }
  return result;
}

std::optional<Comparison> comparison_of(const Prepared& data, const Effect& effect) {
  for (const Comparison& each : comparisons(data, effect.subject, effect.scope)) {
    const Treatment& treatment = data.treatments[each.treatment];
    if (treatment.name == effect.treatment && treatment.levels[each.base] == effect.baseline &&
        treatment.levels[each.level] == effect.level)
      return each;
  }
  return std::nullopt;
}

Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& estimate, const Source& source, Notes& notes) {
  const Treatment& treatment = data.treatments[comparison.treatment];
  Effect effect{.subject = comparison.subject,
                .scope = comparison.scope,
                .treatment = treatment.name,
                .baseline = treatment.levels[comparison.base],
                .level = treatment.levels[comparison.level],
                .method = source.method,
                .unit = source.unit};
  if (!estimate) {
    notes.add(comparison.subject, fmt::format("with these trials, {} {} can't be compared with {}.",
                                              effect.treatment, effect.level, effect.baseline));
    return effect;
  }
  Estimate own = *estimate;
  own.log = data.scale.log;
  own.bound = step_bound(data, comparison);
  if (!own.log && own.base) *own.base += data.scale.origin;
  effect.estimate = own;
  effect.units = own.units;
  effect.ratio = ratio_of(own);
  if (!own.log) effect.difference = own.difference;
  set_intervals(data, own, effect);
  if (own.has_error()) {
    if (!own.ordered) effect.df = own.df;
    effect.p = data.p(p_value(own));
    if (data.spec.equivalence) {
      effect.p_same = p_same(own, *data.spec.equivalence);
      if (effect.p_same && data.repeated)
        effect.p_same = data.repeated->one_sided_p(*effect.p_same);
    }
  }
  constexpr double noticeable = 0.01;  // as a share of the interval
  if (own.bound > noticeable * std::sqrt(own.variance))
    notes.add(
        comparison.subject,
        fmt::format(
            "the values of {} move in steps of {:.6g}, and the intervals allow for these steps.{}",
            data.spec.response, data.step,
            data.spec.resolution
                ? ""
                : " If the values are exact counts, use '--resolution 0'. If the "
                  "values are times, a finer clock would make the intervals narrower."));
  // Numbers that do not vary are explained elsewhere (decide.h).
  const bool is_known = data.spec.origin != Origin::trial && own.variance == 0;
  if (!effect.low && !is_known) notes.add(comparison.subject, why_no_interval(data, own));
  return effect;
}

std::optional<Estimate> estimate_of(const Prepared& data, Estimand estimand,
                                    const UnitNumbers& numbers, const Estimate& mean) {
  if (estimand == Estimand::typical) return trimmed_mean_of(numbers, mean, data.noise);
  if (estimand == Estimand::median) return median_of(numbers, mean, data.noise);
  return mean;
}

Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& mean, const UnitNumbers& numbers,
                   const Source& source, Notes& notes) {
  constexpr auto& all = estimands;
  std::array<std::optional<Estimate>, all.size()> estimates;
  if (mean)
    for (std::size_t i = 0; i < all.size(); ++i)
      estimates[i] = estimate_of(data, all[i], numbers, *mean);
  const auto wanted =
      static_cast<std::size_t>(std::ranges::find(all, data.spec.estimand) - all.begin());
  const std::size_t own = estimates[wanted] ? wanted : 0;
  Effect effect = make_effect(data, comparison, estimates[own], source, notes);
  effect.estimand = all[own];
  // If there is no other average, the mean alone offers no choice, so nothing is added.
  if (!estimates[1] && !estimates[2]) return effect;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!estimates[i]) continue;
    Notes unused;
    const Effect one =
        i == own ? effect : make_effect(data, comparison, estimates[i], source, unused);
    if (one.p)
      effect.averages.push_back({.method = std::string(estimand_name(all[i])),
                                 .ratio = one.ratio,
                                 .low = one.low,
                                 .high = one.high,
                                 .p = *one.p});
  }
  const std::string_view other = estimand_name(own == 0 ? Estimand::typical : Estimand::mean);
  const auto beside = std::ranges::find(effect.averages, other, &Alternative::method);
  if (beside != effect.averages.end()) effect.beside = *beside;
  return effect;
}

void set_adjusted_intervals(const Prepared& data, Analysis& analysis) {
  for (const std::vector<Effect*>& family : families_of(analysis)) {
    for (Effect* effect : family) {
      if (!effect->estimate) continue;
      const double alpha = data.level(analysis.spec.alpha / static_cast<double>(family.size()));
      if (!(alpha > 0)) continue;
      const auto interval = effect->low ? ratio_interval(*effect->estimate, alpha)
                                        : difference_interval(*effect->estimate, alpha);
      if (!interval) continue;
      effect->low_adjusted = interval->low;
      effect->high_adjusted = interval->high;
    }
  }
}

namespace {

// A fraction of the cells has no pairs. Two halves are compared instead, in each of which the
// levels of the other treatments are equally frequent.
Sides halves(const Prepared& data, const std::vector<Group>& cells, const Comparison& comparison) {
  Sides result;
  if (cells.size() != data.design_cells()) return result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t level = data.levels_of(cells[i].cell)[comparison.treatment];
    (level == comparison.base ? result.base : result.level).push_back(i);
  }
  return result;
}

}  // namespace

Sides sides(const Prepared& data, const std::vector<Group>& cells, const Comparison& comparison) {
  if (!data.spec.chains.empty()) return halves(data, cells, comparison);
  std::size_t stride = 1;
  for (std::size_t t = comparison.treatment + 1; t < data.treatments.size(); ++t)
    stride *= data.treatments[t].levels.size();
  const std::size_t step = (comparison.level - comparison.base) * stride;
  Sides result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (data.levels_of(cells[i].cell)[comparison.treatment] != comparison.base) continue;
    const auto partner = std::ranges::find(cells, cells[i].cell + step, &Group::cell);
    if (partner == cells.end()) continue;
    result.base.push_back(i);
    result.level.push_back(static_cast<std::size_t>(partner - cells.begin()));
  }
  return result;
}

Contrast contrast_of(const Prepared& data, const std::vector<Group>& cells,
                     const Comparison& comparison) {
  const Sides pair = sides(data, cells, comparison);
  if (pair.base.empty()) return {};
  Contrast contrast{.weights = std::vector<double>(cells.size()),
                    .base = std::vector<double>(cells.size())};
  const double share = 1 / static_cast<double>(pair.base.size());
  for (const std::size_t i : pair.base) contrast.weights[i] -= share;
  for (const std::size_t i : pair.base) contrast.base[i] += share;
  for (const std::size_t i : pair.level) contrast.weights[i] += share;
  return contrast;
}

namespace {

bool varies(const Moments& numbers, double noise) {
  return numbers.ss > static_cast<double>(numbers.n) * noise;
}

bool has_treatment(std::uint32_t term, std::size_t treatment) {
  return (term >> treatment & 1U) != 0;
}

bool has_two_levels(const Prepared& data, std::uint32_t term) {
  if (!data.spec.chains.empty()) return true;
  for (std::size_t i = 0; i < data.treatments.size(); ++i)
    if (has_treatment(term, i) && data.treatments[i].levels.size() != 2) return false;
  return true;
}

bool is_of_sessions(const Prepared& data, std::uint32_t term) {
  if (data.spec.sessions.empty()) return false;
  for (std::size_t i = 0; i < data.treatments.size(); ++i)
    if (has_treatment(term, i) && data.treatments[i].name == data.spec.sessions) return true;
  return false;
}

std::vector<std::uint32_t> interactions(const Prepared& data) {
  std::vector<std::uint32_t> result = model_terms(data.spec, layout(data));
  std::erase_if(result, [&](std::uint32_t term) {
    return std::popcount(term) < 2 || is_of_sessions(data, term);
  });
  return result;
}

}  // namespace

std::vector<std::uint32_t> two_level_interactions(const Prepared& data) {
  std::vector<std::uint32_t> result = interactions(data);
  std::erase_if(result, [&](std::uint32_t term) { return !has_two_levels(data, term); });
  return result;
}

Contrast interaction_contrast(const Prepared& data, const std::vector<Group>& cells,
                              std::uint32_t term) {
  const bool is_fraction = !data.spec.chains.empty();
  if (cells.size() != data.design_cells()) return {};
  double others = 1;  // the number of cells with the same levels of the term's treatments
  for (std::size_t i = 0; i < data.treatments.size(); ++i)
    if ((term >> i & 1U) == 0) others *= static_cast<double>(data.treatments[i].levels.size());
  if (is_fraction) others = std::ldexp(static_cast<double>(cells.size()), -std::popcount(term));
  Contrast contrast;
  for (const Group& cell : cells) {
    const std::vector<std::size_t> levels = data.levels_of(cell.cell);
    double weight = 1 / others;
    for (std::size_t i = 0; i < levels.size(); ++i)
      if ((term >> i & 1U) != 0 && levels[i] == 0) weight = -weight;
    contrast.weights.push_back(weight);
  }
  return contrast;
}

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// Cells by number, for treatments that are crossed. A cell's number is the sum of one of `own` and
// one of `others`.
struct Crossed {
  std::vector<std::size_t> places;  // of each cell among the subject's cells, or nowhere
  std::vector<std::size_t> own;     // the term's levels without the control, and first levels
  std::vector<std::size_t> others;  // the other treatments' levels, and first levels of the term's
};

Crossed crossed(const Prepared& data, const std::vector<Group>& cells, std::uint32_t term) {
  Crossed result;
  result.places.assign(data.cells(), nowhere);
  for (std::size_t i = 0; i < cells.size(); ++i) result.places[cells[i].cell] = i;
  for (std::size_t cell = 0; cell < data.cells(); ++cell) {
    const std::vector<std::size_t> levels = data.levels_of(cell);
    bool is_own = true;
    bool is_other = true;
    for (std::size_t t = 0; t < levels.size(); ++t) {
      if (!has_treatment(term, t)) {
        is_own = is_own && levels[t] == 0;
        continue;
      }
      is_other = is_other && levels[t] == 0;
      const std::string& name = data.treatments[t].levels[levels[t]];
      is_own = is_own && (data.spec.control.empty() || name != data.spec.control);
    }
    if (is_own) result.own.push_back(cell);
    if (is_other) result.others.push_back(cell);
  }
  return result;
}

struct Corner {
  std::size_t cell = 0;  // at the first levels of the other treatments
  double sign = 1;
};

// The cells of a difference of differences between two combinations of the term's levels. Empty if
// the combinations have a level in common.
std::vector<Corner> corners_between(const Prepared& data, std::uint32_t term, std::size_t from,
                                    std::size_t to) {
  const std::vector<std::size_t> base = data.levels_of(from);
  const std::vector<std::size_t> level = data.levels_of(to);
  std::vector<Corner> result(1);
  std::size_t stride = 1;
  for (std::size_t t = base.size(); t-- > 0; stride *= data.treatments[t].levels.size()) {
    if (!has_treatment(term, t)) continue;
    if (base[t] == level[t]) return {};
    const std::size_t n = result.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Corner corner = result[i];
      result[i].cell += level[t] * stride;
      result.push_back({.cell = corner.cell + base[t] * stride, .sign = -corner.sign});
    }
  }
  return result;
}

// Averages the difference over the other treatments' levels at which the subject has all corners.
// The result has no weights if there are no such levels.
Contrast averaged_contrast(const Crossed& all, std::span<const Corner> corners, std::size_t cells) {
  Contrast contrast{.weights = std::vector<double>(cells)};
  double found = 0;
  for (const std::size_t other : all.others) {
    const auto is_there = [&](const Corner& each) {
      return all.places[each.cell + other] != nowhere;
    };
    if (!std::ranges::all_of(corners, is_there)) continue;
    ++found;
    for (const Corner& corner : corners)
      contrast.weights[all.places[corner.cell + other]] += corner.sign;
  }
  if (found == 0) return {};
  for (double& weight : contrast.weights) weight /= found;
  return contrast;
}

}  // namespace

std::vector<Contrast> level_contrasts(const Prepared& data, const std::vector<Group>& cells,
                                      std::uint32_t term) {
  std::vector<Contrast> result;
  if (!data.spec.chains.empty()) return result;
  const Crossed all = crossed(data, cells, term);
  for (const std::size_t from : all.own) {
    for (const std::size_t to : all.own) {
      const std::vector<Corner> corners = corners_between(data, term, from, to);
      if (corners.empty()) continue;
      Contrast contrast = averaged_contrast(all, corners, cells.size());
      if (!contrast.weights.empty()) result.push_back(std::move(contrast));
    }
    if (!result.empty()) break;
  }
  return result;
}

std::vector<std::vector<double>> by_cell_deviations(const Subject& subject,
                                                    const std::vector<Group>& cells) {
  std::vector<std::size_t> place(subject.groups.size());
  for (std::size_t i = 0; i < place.size(); ++i)
    place[i] = static_cast<std::size_t>(
        std::ranges::lower_bound(cells, subject.groups[i].cell, {}, &Group::cell) - cells.begin());
  std::vector<std::vector<double>> result(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) result[i].reserve(cells[i].y.n);
  for (const Trial& trial : subject.trials) {
    const std::size_t cell = place[trial.group];
    result[cell].push_back(trial.y - cells[cell].y.mean);
  }
  return result;
}

SpreadOf spread_by_blocks(const Prepared& data, const Subject& subject,
                          const std::vector<Group>& cells) {
  return [&](std::span<const double> weights) -> std::optional<Spread> {
    std::vector<UnitNumbers> numbers;  // for each cell with a weight
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (weights[i] == 0) continue;
      Contrast one{.weights = std::vector<double>(cells.size())};
      one.weights[i] = 1;
      numbers.push_back(block_numbers(subject, cells, one));
      if (!varies(moments(numbers.back().difference), data.noise)) return std::nullopt;
    }
    std::vector<double> own;
    std::ranges::copy_if(weights, std::back_inserter(own), [](double w) { return w != 0; });
    numbers = in_common(numbers);
    std::vector<std::vector<double>> in_blocks;
    for (UnitNumbers& cell : numbers) in_blocks.push_back(std::move(cell.difference));
    return spread_within_blocks(in_blocks, own, data.spec.alpha);
  };
}

SpreadOf spread_by_numbers(const Prepared& data, const std::vector<std::vector<double>>& cells) {
  std::vector<std::optional<CellSpread>> known;  // comparisons share cells
  for (const std::vector<double>& numbers : cells) {
    known.push_back(cell_spread(numbers));
    if (known.back() && !(known.back()->ss > static_cast<double>(known.back()->n) * data.noise))
      known.back().reset();
  }
  return [known = std::move(known), alpha = data.spec.alpha](std::span<const double> weights) {
    return spread_between_cells(known, weights, alpha);
  };
}

std::optional<Spread> spread_over(std::span<const double> ratios, double alpha) {
  Moments logs;
  for (const double ratio : ratios) logs.add(std::log(ratio));
  const auto interval = mean_interval(logs, alpha);
  if (logs.n < 3 || !interval || !(logs.ss > 0)) return std::nullopt;
  const double n = static_cast<double>(logs.n);
  const auto p = t_two_sided(logs.mean / std::sqrt(*logs.variance() / n), n - 1);
  if (!p) return std::nullopt;
  return Spread{.ratio = std::exp(logs.mean),
                .low = std::exp(interval->low),
                .high = std::exp(interval->high),
                .p = *p};
}

std::vector<double> step_errors(const Prepared& data, const Subject& subject) {
  std::vector<double> errors;
  if (!(data.step > 0)) return errors;
  for (const Group& cell : by_cell(subject)) {
    const double mean = cell.raw.mean + data.scale.centre;
    errors.push_back(shift_of(cell.raw, data.step) / (data.scale.log ? mean : 1));
  }
  return errors;
}

double bound_of(std::span<const double> errors, const Contrast& contrast) {
  double sum = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) sum += std::abs(contrast.weights[i]) * errors[i];
  return sum;
}

namespace {

// Returns whether the number is a fact of the builds, which no test is about (decide.h).
bool is_fact(const Prepared& data, const Estimate& estimate) {
  return data.spec.origin != Origin::trial && estimate.variance == 0;
}

// Keeps the estimate whose units depend on each other most.
void keep_dependence(const Estimate& estimate, Interaction& interaction) {
  if (!too_few_independent(estimate)) return;
  auto& kept = interaction.few_independent;
  if (!kept || estimate.independent < kept->independent) kept = estimate;
}

// Sets the interaction's size, interval and p.
void set_size(const Prepared& data, const Estimate& estimate, Interaction& result) {
  const auto back = [&](double x) { return data.scale.log ? std::exp(x) : x; };
  (data.scale.log ? result.ratio : result.difference) = back(estimate.difference);
  if (is_fact(data, estimate)) return;
  result.p = data.p(p_value(estimate));
  keep_dependence(estimate, result);
  const double level = data.level(data.spec.alpha);
  const auto interval = level > 0 ? difference_interval(estimate, level) : std::nullopt;
  if (interval) {
    result.low = back(interval->low);
    result.high = back(interval->high);
  }
}

// Sets the interaction's p by Bonferroni's correction for the contrasts. Contrasts that can't be
// tested don't count. Returns whether any contrast has an estimate.
bool test_together(const Prepared& data, std::span<const Contrast> contrasts,
                   const TestedCells& cells, Interaction& result) {
  double least = 1;
  double tested = 0;
  bool is_known = false;
  for (const Contrast& contrast : contrasts) {
    auto estimate = cells.estimator(contrast);
    if (!estimate) continue;
    is_known = true;
    if (is_fact(data, *estimate)) continue;
    estimate->bound = bound_of(cells.errors, contrast);
    const auto p = p_value(*estimate);
    if (!p) continue;
    ++tested;
    least = std::min(least, *p);
    keep_dependence(*estimate, result);
  }
  if (tested > 0) result.p = std::min(1.0, tested * data.p(least).value_or(1));
  return is_known;
}

// Why an interaction is not tested.
constexpr const char* left_in_residuals =
    "the model has no term for an interaction of so many treatments";
constexpr const char* too_many_cells = "the design has more than 1,000 combinations of levels";
constexpr const char* empty_cells = "some combinations of levels have no trials";

// Why an estimator has no answer.
std::string not_estimated(const Prepared& data) {
  if (!has_own_blocks(data)) return empty_cells;
  return fmt::format("too few {} have trials at all combinations of levels",
                     plural(data.spec.block));
}

// Adds the interaction, or returns why it is not tested. Returns "" if it is not added for a reason
// that other notes give.
std::string add_interaction(const Prepared& data, const TestedCells& tested, std::uint32_t term,
                            const std::string& name, Analysis& analysis) {
  constexpr std::size_t most_cells = 1000;
  const bool is_large = data.design_cells() > most_cells;
  if (static_cast<std::size_t>(std::popcount(term)) > tested.order) return left_in_residuals;
  if (is_large && !data.spec.assumptions) return too_many_cells;
  Interaction result{.subject = tested.subject,
                     .scope = tested.scope,
                     .term = name,
                     .aliases = aliases_of(data.spec, term)};
  const Contrast contrast =
      has_two_levels(data, term) ? interaction_contrast(data, tested.cells, term) : Contrast{};
  if (!contrast.weights.empty()) {
    auto estimate = tested.estimator(contrast);
    if (!estimate) return not_estimated(data);
    estimate->bound = bound_of(tested.errors, contrast);
    set_size(data, *estimate, result);
    if (tested.spread) result.spread = tested.spread(contrast.weights);
  } else {
    if (is_large && data.spec.chains.empty()) return too_many_cells;
    const std::vector<Contrast> contrasts = level_contrasts(data, tested.cells, term);
    // If no cell is empty, a treatment has only the control beside its first level.
    if (contrasts.empty()) return tested.cells.size() < data.design_cells() ? empty_cells : "";
    if (!test_together(data, contrasts, tested, result)) return not_estimated(data);
    if (!result.p) return "";
  }
  analysis.interactions.push_back(std::move(result));
  return "";
}

void note_untested(const std::string& subject, const std::vector<std::string>& terms,
                   const std::string& why, Notes& notes) {
  constexpr std::size_t most = 3;
  std::string words;
  for (std::size_t i = 0; i < std::min(most, terms.size()); ++i)
    words += (i == 0 ? "" : ", ") + terms[i];
  if (terms.size() > most) words += fmt::format(" and {} more", terms.size() - most);
  notes.add(subject, fmt::format("the interaction{} of {} {} not tested, because {}.",
                                 terms.size() == 1 ? "" : "s", words,
                                 terms.size() == 1 ? "is" : "are", why));
}

}  // namespace

void add_interactions(const Prepared& data, const TestedCells& tested, Analysis& analysis,
                      Notes& notes) {
  if (!data.spec.interactions) return;
  const Layout names = layout(data);
  std::map<std::string, std::vector<std::string>> untested;  // terms, by the reason
  for (const std::uint32_t term : interactions(data)) {
    const std::string name = term_name(term, names.names);
    const std::string why = add_interaction(data, tested, term, name, analysis);
    if (!why.empty()) untested[why].push_back(name);
  }
  for (const auto& [why, terms] : untested) note_untested(tested.subject, terms, why, notes);
}

}  // namespace stab::stats
