// SPDX-License-Identifier: MIT
// Formats numbers with units, and with as many digits as their precision allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

// "fewer" for a plural that is counted ("instructions"), "less" for other responses ("wall time",
// "max_rss", "latency_ms").
const char* less_of(std::string_view response);

// With four digits: "0.009523", "2.4e+15".
std::string short_number(double value);

// Changes as tables show them: in percent, or as differences in the response's unit.

// "-12.3 %" and "-14.5 to -10.1 %"; "-" if the value is absent.
std::string change_text(std::optional<double> ratio, std::optional<double> low,
                        std::optional<double> high);
std::string interval_text(std::optional<double> low, std::optional<double> high);

// The scale has the unit that fits the subject's means ("": all means), and as many digits as fit a
// difference with this interval.
Scale difference_scale(const stats::Analysis& analysis, const std::string& subject,
                       std::optional<double> low, std::optional<double> high);

// "+12.3 ms" and "+10.1 to +14.5 ms"; "-" if the value is absent.
std::string difference_text(std::optional<double> value, const Scale& scale);
std::string range_text(std::optional<double> low, std::optional<double> high, const Scale& scale);

// How a table shows one effect.
struct ChangeWords {
  std::string change{};
  std::string interval{};
  std::string adjusted{};  // the interval that is valid for all comparisons together
  bool ratio = true;       // in percent; else a difference
};

// In percent if the ratio has an interval, or if there is a ratio and the difference has no
// interval; else as a difference. The intervals of an exact ratio are the word "exact".
ChangeWords change_words(const stats::Analysis& analysis, const stats::Effect& effect);

}  // namespace stab::report
