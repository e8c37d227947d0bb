// SPDX-License-Identifier: MIT
// Numbers with units, in the digits that they deserve.
#pragma once

#include <optional>
#include <string>

#include "stats/verdicts/analysis.h"

namespace stab::report {

struct UnitStep {
  double factor = 1;  // divide by this
  const char* name = "";
};

// The largest step that leaves the size 1 or more; the smallest one if none does.
UnitStep unit_step(double size, stats::Unit unit);

// One unit and one number of decimals for a group of numbers that are compared with each other.
struct Scale {
  double factor = 1;   // divide by this
  std::string unit{};  // "ms", "MiB", or ""
  int decimals = 0;
  std::string exponent{};  // "e-09": numbers too small or too large for decimals
};

// For these means: the unit fits the largest, the decimals show two digits of the narrowest
// interval. Means without an interval show four digits. Numbers that are all tiny, or huge, are
// multiples of one power of ten.
Scale scale_for(const std::vector<stats::CellMean>& means, stats::Unit unit);

// "512.3", "2.80e-09", and "512.3 ms".
std::string number(double value, const Scale& scale);
std::string quantity(double value, const Scale& scale);

// "0.0898", "0.00364", "<0.0001".
std::string p_text(double p);

// The level of an interval: "95 %".
std::string level_text(double alpha);

// Four digits: "0.009523", "2.4e+15".
std::string short_number(double value);

}  // namespace stab::report
