// SPDX-License-Identifier: MIT
#include "stats/equivalence.h"

#include <algorithm>
#include <cmath>

#include "stats/answer.h"
#include "stats/tails.h"

namespace stab::stats {
namespace {

Effect effect_of(const Estimate& estimate, double alpha, double count,
                 std::optional<double> margin) {
  Effect effect{.ratio = std::exp(estimate.difference)};
  if (!std::isfinite(*effect.ratio)) effect.ratio.reset();
  const auto wide = difference_interval(estimate, alpha);
  const auto narrow = difference_interval(estimate, 2 * alpha);
  if (!effect.ratio || !wide || !narrow) return effect;
  effect.low = std::exp(wide->low);
  effect.high = std::exp(wide->high);
  effect.tost_low = std::exp(narrow->low);
  effect.tost_high = std::exp(narrow->high);
  effect.df = estimate.df;
  if (const auto p = p_value(estimate)) effect.p = std::min(1.0, count * *p);
  effect.verdict = verdict(effect, margin);
  return effect;
}

}  // namespace

Result<Equivalence> tost(const Estimate& estimate, const Interval& bounds) {
  if (!(bounds.low < bounds.high)) return fail("bounds of equivalence must be in order");
  if (!estimate.has_error() || !std::isfinite(estimate.difference))
    return fail("a test of equivalence needs an estimate with an error");
  const double error = std::sqrt(estimate.variance);
  const auto low = t_cdf((bounds.low - estimate.difference) / error, estimate.df);
  const auto high = t_cdf((estimate.difference - bounds.high) / error, estimate.df);
  if (!low || !high) return fail("the test of equivalence is beyond what can be computed");
  return Equivalence{.p = std::max(*low, *high), .p_low = *low, .p_high = *high};
}

Result<Interval> log_bounds(double margin) {
  if (!(margin > 0) || !std::isfinite(margin)) return fail("a margin must be above 0");
  return Interval{-std::log1p(margin), std::log1p(margin)};
}

double family_alpha(double alpha, std::size_t count) {
  return alpha / static_cast<double>(std::max<std::size_t>(1, count));
}

Result<std::vector<Effect>> family_effects(std::span<const Estimate> log_differences, double alpha,
                                           std::optional<double> margin) {
  if (!(alpha > 0 && alpha < 0.5)) return fail("alpha must lie between 0 and 0.5 for verdicts");
  if (margin && !(*margin > 0)) return fail("a margin must be above 0");
  const double part = family_alpha(alpha, log_differences.size());
  std::vector<Effect> effects;
  for (const Estimate& estimate : log_differences)
    effects.push_back(
        effect_of(estimate, part, static_cast<double>(log_differences.size()), margin));
  return effects;
}

}  // namespace stab::stats
