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

// An estimate's error and bound as changes: logarithms, or shares of the mean at the baseline.
struct ErrorOf {
  Shown shown;
  double bound = 0;
};

// Nothing if the estimate has no error, or no ratio.
std::optional<ErrorOf> error_of(const Estimate& estimate) {
  if (!estimate.has_error() || estimate.units < 2 || !(estimate.variance > 0) ||
      !estimate.has_ratio())
    return std::nullopt;
  const double scale = estimate.log ? 1 : *estimate.base;
  return ErrorOf{.shown = {.units = estimate.units,
                           .error = std::sqrt(estimate.variance) / scale,
                           .df = estimate.df,
                           .fixed = estimate.fixed / scale / scale},
                 .bound = estimate.bound / scale};
}

void foresee(Effect& effect, double alpha, std::optional<double> margin) {
  const Estimate& estimate = *effect.estimate;
  const auto error = error_of(estimate);
  if (!error) return;
  const auto seen = t_detectable(error->shown.error, error->shown.df, alpha, foreseen_power);
  if (seen)
    effect.detectable = estimate.log ? std::expm1(*seen + error->bound) : *seen + error->bound;
  if (margin) effect.needed = units_needed(effect, alpha, *margin);
}

}  // namespace

std::optional<std::size_t> units_needed(const Effect& effect, double alpha, double margin) {
  const auto error = effect.estimate ? error_of(*effect.estimate) : std::nullopt;
  if (!error) return std::nullopt;
  const double wanted = (effect.estimate->log ? std::log1p(margin) : margin) - error->bound;
  if (!(wanted > 0)) return std::nullopt;
  const auto needed = t_needed(error->shown, wanted, alpha, foreseen_power);
  return needed ? std::optional(*needed) : std::nullopt;
}

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
