// SPDX-License-Identifier: MIT
// Formats numbers with units, and with as many digits as their precision allows.
#pragma once

#include <optional>
#include <string>

#include "stats/verdicts/analysis.h"

namespace stab::report {

struct UnitStep {
  double factor = 1;  // divide by this
  const char* name = "";
};

// The largest unit in which the size is at least 1, else the smallest unit.
UnitStep unit_step(double size, stats::Unit unit);

// One unit and one number of decimals for a group of numbers that are compared with each other.
struct Scale {
  double factor = 1;   // divide by this
  std::string unit{};  // "ms", "MiB", or ""
  int decimals = 0;
  std::string exponent{};  // "e-09" if numbers are too small or too large for decimals
};

// The scale for these means: the unit fits the largest mean, and the decimals show two digits of
// the narrowest interval. Means without an interval show four digits. If all numbers are tiny, or
// all are huge, they share a power of ten.
Scale scale_for(const std::vector<stats::CellMean>& means, stats::Unit unit);

// "512.3", "2.80e-09", and "512.3 ms".
std::string number(double value, const Scale& scale);
std::string quantity(double value, const Scale& scale);

// "0.0898", "0.00364", "<0.0001".
std::string p_text(double p);

// The confidence level of an interval: "95 %".
std::string level_text(double alpha);

// With four digits: "0.009523", "2.4e+15".
std::string short_number(double value);

}  // namespace stab::report
