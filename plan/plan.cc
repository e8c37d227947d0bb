// SPDX-License-Identifier: MIT
#include "plan/plan.h"

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
  }
  return "unknown";
}

}  // namespace stab::plan
