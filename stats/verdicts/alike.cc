// SPDX-License-Identifier: MIT
#include "stats/verdicts/alike.h"

#include <fmt/format.h>

#include <algorithm>

namespace stab::stats {
namespace {

bool is_alike(const Spec& spec, const Effect& effect) {
  return effect.scope == Scope::subject && std::ranges::any_of(spec.alike, [&](const Alike& each) {
           return each.subject == effect.subject && each.treatment == effect.treatment &&
                  ((each.first == effect.baseline && each.second == effect.level) ||
                   (each.second == effect.baseline && each.first == effect.level));
         });
}

}  // namespace

void settle_alike(Analysis& analysis, Notes& notes) {
  for (Effect& effect : analysis.effects) {
    if (!is_alike(analysis.spec, effect)) continue;
    effect.verdict = Verdict::same;
    effect.reason = fmt::format("the binaries at {} = {} and {} = {} are identical",
                                effect.treatment, effect.baseline, effect.treatment, effect.level);
    effect.p.reset();
    effect.p_same.reset();
    effect.df.reset();
    effect.alternatives.clear();
    notes.add(effect.subject, fmt::format("{}, so this comparison is not tested: the answer is "
                                          "'same', and the measured change is noise.",
                                          effect.reason));
  }
}

}  // namespace stab::stats
