// SPDX-License-Identifier: MIT
#include "plan/plan.h"

#include <fmt/format.h>

#include "plan/quantities.h"

namespace stab::plan {

bool Factor::is_treatment() const {
  const auto* fixed = std::get_if<FixedLevels>(&levels);
  return fixed != nullptr && fixed->levels.size() >= 2;
}

bool lists_cells(DesignKind kind) {
  return kind == DesignKind::custom || kind == DesignKind::fractional;
}

std::string describe(const Stop& stop) {
  if (stop.rule == StopRule::precision)
    return fmt::format(
        "by precision: when every interval is within +-{:.3g} %, after {} to {} blocks",
        100 * stop.half_width, stop.min(), stop.max);
  return fmt::format(
      "sequential: when every comparison is decided, at {} looks after {} to {} blocks",
      stop.looks.size() + 1, stop.min(), stop.max);
}

std::string describe(const Exclusion& rule) {
  return fmt::format("{} {} {}", rule.quantity, to_string(rule.bound), rule.limit);
}

}  // namespace stab::plan
