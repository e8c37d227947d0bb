// SPDX-License-Identifier: MIT
#include "stats/verdicts/foresight.h"

#include <cmath>

#include "stats/planning/power.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

void foresee(Effect& effect, double alpha, std::optional<double> margin) {
  const Estimate& estimate = *effect.estimate;
  if (estimate.units < 2 || !(estimate.variance > 0) || !estimate.has_ratio()) return;
  const double scale = estimate.log ? 1 : *estimate.base;
  const double sd = std::sqrt(estimate.variance * static_cast<double>(estimate.units)) / scale;
  const auto seen = t_detectable(Samples::paired, estimate.units, sd, alpha, foreseen_power);
  if (seen) effect.detectable = estimate.log ? std::expm1(*seen) : *seen;
  if (!margin) return;
  const double wanted = estimate.log ? std::log1p(*margin) : *margin;
  const auto needed = t_needed(Samples::paired, wanted, sd, alpha, foreseen_power);
  if (needed) effect.needed = *needed;
}

}  // namespace

void add_foresight(const Prepared& data, Analysis& analysis) {
  for (const Scope scope : {Scope::subject, Scope::these, Scope::like_these}) {
    const std::vector<Effect*> family = family_of(analysis, scope);
    for (Effect* effect : family) {
      const double alpha = data.level(analysis.spec.alpha / static_cast<double>(family.size()));
      if (effect->estimate && alpha > 0) foresee(*effect, alpha, analysis.spec.equivalence);
    }
  }
}

}  // namespace stab::stats
