// SPDX-License-Identifier: MIT
#include "plan/plan.h"

#include <fmt/format.h>

namespace stab::plan {

bool Factor::is_treatment() const {
  const auto* fixed = std::get_if<FixedLevels>(&levels);
  return fixed != nullptr && fixed->levels.size() >= 2;
}

std::string_view to_string(DesignKind kind) {
  switch (kind) {
    case DesignKind::one_way:
      return "one-way";
    case DesignKind::within_subjects:
      return "within-subjects";
    case DesignKind::full_factorial:
      return "full-factorial";
    case DesignKind::nested:
      return "nested";
    case DesignKind::custom:
      return "custom";
    case DesignKind::calibration:
      return "calibration";
    case DesignKind::padding_study:
      return "padding-study";
    case DesignKind::fractional:
      return "fractional";
  }
  return "unknown";
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

std::string_view to_string(StopRule rule) {
  return rule == StopRule::precision ? "precision" : "sequential";
}

}  // namespace stab::plan
