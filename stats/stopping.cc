// SPDX-License-Identifier: MIT
#include "stats/stopping.h"

#include <algorithm>

namespace stab::stats {

Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects) {
  const bool precise = !effects.empty() && std::ranges::all_of(effects, [&](const Effect& effect) {
    return effect.low && effect.high && (*effect.high - *effect.low) / 2 <= rule.half_width;
  });
  if (precise && blocks >= rule.min_blocks) return Stop::precise;
  return blocks >= rule.max_blocks ? Stop::exhausted : Stop::go_on;
}

Result<SequentialTest> SequentialTest::plan(std::span<const std::size_t> looks, double alpha) {
  if (looks.empty() || looks.front() < 2)
    return fail("a sequential test needs looks, the first after two blocks or more");
  std::vector<double> fractions;
  for (const std::size_t blocks : looks)
    fractions.push_back(static_cast<double>(blocks) / static_cast<double>(looks.back()));
  auto planned = spend_alpha(fractions, alpha);
  if (!planned) return std::unexpected(planned.error());
  return SequentialTest({looks.begin(), looks.end()}, std::move(*planned));
}

const Look* SequentialTest::look_at(std::size_t blocks) const {
  const auto found = std::ranges::find(blocks_, blocks);
  return found == blocks_.end() ? nullptr
                                : &looks_[static_cast<std::size_t>(found - blocks_.begin())];
}

Stop SequentialTest::decide(std::size_t blocks, const Estimate& estimate) const {
  const Look* look = look_at(blocks);
  const auto p = p_value(estimate);
  if (look && look->z && p && *p <= look->nominal) return Stop::different;
  return blocks >= blocks_.back() ? Stop::exhausted : Stop::go_on;
}

std::optional<Interval> SequentialTest::interval(std::size_t blocks,
                                                 const Estimate& estimate) const {
  const Look* look = look_at(blocks);
  if (!look || !look->z) return std::nullopt;
  return difference_interval(estimate, look->nominal);
}

}  // namespace stab::stats
