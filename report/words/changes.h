// SPDX-License-Identifier: MIT
// Changes as tables show them: in percent, or as differences in the response's unit.
#pragma once

#include <optional>
#include <string>

#include "report/words/quantity.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

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
