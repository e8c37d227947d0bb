// SPDX-License-Identifier: MIT
#include "report/words/loads.h"

#include <fmt/format.h>

#include <chrono>

#include "base/duration.h"

namespace stab::report {

std::string load_name(const stats::causal::Load& load) {
  return load.asked > 0 ? fmt::format("{}x", load.asked)
                        : format_duration(std::chrono::nanoseconds(load.speedup_ns));
}

std::string measured_words(const stats::causal::Measured& measured, double unit) {
  if (!measured.interval) return fmt::format("{:.4g}", measured.value / unit);
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", measured.value / unit,
                     measured.interval->low / unit, measured.interval->high / unit);
}

}  // namespace stab::report
