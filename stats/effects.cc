// SPDX-License-Identifier: MIT
#include "stats/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/answer.h"
#include "stats/distribution.h"

namespace stab::stats {
namespace {

void set_intervals(Effect& effect, const Prepared& data, const Estimate& estimate) {
  const auto interval = [&](double planned) -> std::optional<Interval> {
    const double alpha = data.level(planned);
    if (!(alpha > 0)) return std::nullopt;
    auto result =
        data.scale.log ? difference_interval(estimate, alpha) : ratio_interval(estimate, alpha);
    if (result && data.scale.log) result = Interval{std::exp(result->low), std::exp(result->high)};
    if (result && !(std::isfinite(result->low) && std::isfinite(result->high))) result.reset();
    return result;
  };
  if (const auto wide = interval(data.spec.alpha)) {
    effect.low = wide->low;
    effect.high = wide->high;
  }
  if (const auto narrow = interval(2 * data.spec.alpha)) {
    effect.tost_low = narrow->low;
    effect.tost_high = narrow->high;
  }
}

// Two one-sided tests of level - factor * baseline on the model's scale.
void set_p_same(Effect& effect, const Prepared& data, const Estimate& estimate) {
  if (!data.spec.equivalence || !estimate.has_error()) return;
  const double margin = *data.spec.equivalence;
  if (!data.scale.log && !(estimate.base && *estimate.base > 0)) return;
  // Of "the change is `bound` or farther out on that side".
  const auto one_sided = [&](double bound, double side) -> std::optional<double> {
    double distance = estimate.difference - bound;
    double variance = estimate.variance;
    if (!data.scale.log) {
      distance = estimate.difference - bound * *estimate.base;
      variance += bound * bound * estimate.base_variance - 2 * bound * estimate.base_covariance;
    }
    if (!(variance > 0)) return std::nullopt;
    const auto both = t_two_sided(distance / std::sqrt(variance), estimate.df);
    if (!both) return std::nullopt;
    return side * distance < 0 ? *both / 2 : 1 - *both / 2;
  };
  const double high = data.scale.log ? std::log1p(margin) : margin;
  const double low = data.scale.log ? -high : -margin / (1 + margin);
  const auto above = one_sided(high, 1);
  const auto below = one_sided(low, -1);
  if (!above || !below) return;
  const double p = std::max(*above, *below);
  effect.p_same = data.repeated ? data.repeated->one_sided_p(p) : p;
}

void set_ratio(Effect& effect, const Prepared& data, const Estimate& estimate) {
  if (data.scale.log)
    effect.ratio = std::exp(estimate.difference);
  else if (estimate.base && *estimate.base > 0)
    effect.ratio = 1 + estimate.difference / *estimate.base;
  if (effect.ratio && !std::isfinite(*effect.ratio)) effect.ratio.reset();
}

std::string why_no_interval(const Prepared& data, const Effect& effect, const Estimate& estimate) {
  if (estimate.has_error() && !(data.level(data.spec.alpha) > 0))
    return "so early in a sequential experiment nothing can be told.";
  if (!effect.ratio) return "a ratio to a mean that is not above zero says nothing.";
  if (estimate.has_error()) return "the interval of a ratio is without bounds here.";
  if (estimate.df > 0)
    return "the response does not vary between trials of one cell, so there is no error to test "
           "against.";
  return "there are too few trials to estimate the error, so nothing is tested.";
}

}  // namespace

std::vector<Comparison> comparisons(const Prepared& data, const std::string& subject) {
  std::vector<Comparison> result;
  for (const std::size_t treatment : data.active())
    for (std::size_t level = 1; level < data.treatments[treatment].levels.size(); ++level)
      result.push_back({.subject = subject, .treatment = treatment, .base = 0, .level = level});
  return result;
}

Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& estimate, std::string method, Notes& notes) {
  const Treatment& treatment = data.treatments[comparison.treatment];
  Effect effect{.subject = comparison.subject,
                .treatment = treatment.name,
                .baseline = treatment.levels[comparison.base],
                .level = treatment.levels[comparison.level],
                .method = std::move(method)};
  if (!estimate) {
    notes.add(comparison.subject,
              fmt::format("the trials do not allow {} {} to be compared with {}.", effect.treatment,
                          effect.level, effect.baseline));
    return effect;
  }
  Estimate shifted = *estimate;
  if (!data.scale.log && shifted.base) *shifted.base += data.scale.origin;
  set_ratio(effect, data, shifted);
  if (effect.ratio) set_intervals(effect, data, shifted);
  if (shifted.has_error()) {
    effect.df = shifted.df;
    effect.p = data.p(p_value(shifted));
    if (effect.ratio) set_p_same(effect, data, shifted);
  }
  if (!effect.low) notes.add(comparison.subject, why_no_interval(data, effect, shifted));
  effect.verdict = verdict(effect, data.spec.equivalence);
  return effect;
}

namespace {

// A part of all cells has no pairs: the two halves are compared, in which the other treatments'
// levels are equally often.
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

std::vector<std::size_t> cell_numbers(const std::vector<Group>& cells,
                                      const std::vector<std::size_t>& positions) {
  std::vector<std::size_t> result;
  result.reserve(positions.size());
  for (const std::size_t i : positions) result.push_back(cells[i].cell);
  return result;
}

}  // namespace stab::stats
