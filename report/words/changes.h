// SPDX-License-Identifier: MIT
// Changes in the words of a table: in percent, or as differences in the response's unit.
#pragma once

#include <optional>
#include <string>

#include "report/words/quantity.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

// "-12.3 %" and "-14.5 to -10.1 %"; "-" if it is absent.
std::string change_text(std::optional<double> ratio, std::optional<double> low,
                        std::optional<double> high);
std::string interval_text(std::optional<double> low, std::optional<double> high);

// The unit of the subject's means ("": of all), the digits that a difference with this interval
// deserves.
Scale difference_scale(const stats::Analysis& analysis, const std::string& subject,
                       std::optional<double> low, std::optional<double> high);

// "+12.3 ms" and "+10.1 to +14.5 ms"; "-" if it is absent.
std::string difference_text(std::optional<double> value, const Scale& scale);
std::string range_text(std::optional<double> low, std::optional<double> high, const Scale& scale);

// How a table shows one effect.
struct ChangeWords {
  std::string change{};
  std::string interval{};
  std::string adjusted{};  // the interval that holds for all comparisons together
  bool ratio = true;       // percent; else a difference
};

// In percent where the ratio has an interval, else as a difference where that has one.
ChangeWords change_words(const stats::Analysis& analysis, const stats::Effect& effect);

}  // namespace stab::report
