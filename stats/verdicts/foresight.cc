// SPDX-License-Identifier: MIT
#include "stats/verdicts/foresight.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "stats/data/notes.h"
#include "stats/planning/power.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

// With fewer degrees of freedom the tails of the t distribution are long.
constexpr double few_df = 5;

void foresee(Effect& effect, double alpha, std::optional<double> margin) {
  const Estimate& estimate = *effect.estimate;
  if (!estimate.has_error() || estimate.units < 2 || !(estimate.variance > 0) ||
      !estimate.has_ratio())
    return;
  const double scale = estimate.log ? 1 : *estimate.base;
  const Shown shown{.units = estimate.units,
                    .error = std::sqrt(estimate.variance) / scale,
                    .df = estimate.df,
                    .fixed = estimate.fixed / scale / scale};
  const double bound = estimate.bound / scale;
  const auto seen = t_detectable(shown.error, shown.df, alpha, foreseen_power);
  if (seen) effect.detectable = estimate.log ? std::expm1(*seen + bound) : *seen + bound;
  if (!margin) return;
  const double wanted = (estimate.log ? std::log1p(*margin) : *margin) - bound;
  if (!(wanted > 0)) return;
  const auto needed = t_needed(shown, wanted, alpha, foreseen_power);
  if (needed) effect.needed = *needed;
}

}  // namespace

void add_foresight(const Prepared& data, Analysis& analysis) {
  for (const std::vector<Effect*>& family : families_of(analysis)) {
    for (Effect* effect : family) {
      const double alpha = data.level(analysis.spec.alpha / static_cast<double>(family.size()));
      if (effect->estimate && alpha > 0) foresee(*effect, alpha, analysis.spec.equivalence);
    }
  }
}

std::vector<std::string> few_sentences(const std::vector<const Effect*>& effects) {
  std::map<std::string, const Effect*> fewest;  // by the kind of unit
  for (const Effect* effect : effects) {
    if (!effect->reason.empty()) continue;                              // the numbers do not decide
    if (effect->estimate && effect->estimate->variance == 0) continue;  // exact
    if (!effect->df || *effect->df >= few_df || effect->unit.empty()) continue;
    const auto [entry, fresh] = fewest.try_emplace(effect->unit, effect);
    if (!fresh && *effect->df < *entry->second->df) entry->second = effect;
  }
  std::vector<std::string> result;
  for (const auto& [unit, effect] : fewest)
    result.push_back(fmt::format(
        "With {:.3g} degree{} of freedom from {}, only large effects can be seen: more {} would "
        "help",
        *effect->df, *effect->df == 1 ? "" : "s",
        effect->units > 0 ? count_words(effect->units, unit) : plural(unit), plural(unit)));
  return result;
}

}  // namespace stab::stats
