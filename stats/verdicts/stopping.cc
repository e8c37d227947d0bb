// SPDX-License-Identifier: MIT
#include "stats/verdicts/stopping.h"

#include <algorithm>

namespace stab::stats {

Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects) {
  const bool precise = !effects.empty() && std::ranges::all_of(effects, [&](const Effect& effect) {
    if (effect.exact) return true;
    return effect.low && effect.high && (*effect.high - *effect.low) / 2 <= rule.half_width;
  });
  if (precise && blocks >= rule.min_blocks) return Stop::precise;
  return blocks >= rule.max_blocks ? Stop::exhausted : Stop::go_on;
}

}  // namespace stab::stats
