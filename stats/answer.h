// SPDX-License-Identifier: MIT
// Verdicts, and how they are said.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stats/analysis.h"

namespace stab::stats {

// With a margin m: `same` if the (1 - 2 alpha) interval lies within [1 / (1 + m), 1 + m] (two
// one-sided tests; Schuirmann, 1987). Else `faster` or `slower` if the (1 - alpha) interval
// excludes 1. Else, or without an interval, `unsure`.
Verdict verdict(const Effect& effect, std::optional<double> margin);

// "faster", "slower" for times, "lower", "higher" for what is no time; "same", "unsure".
std::string_view verdict_word(Verdict verdict, Unit unit);

// "wall time", "peak memory", or the response's own name.
std::string response_words(const Spec& spec);

// "p = 0.0898", "p < 0.0001".
std::string p_words(double p);

// An interval of ratios as changes in percent, with the digits that its width allows: "-14.5 to
// -10.1 %".
std::string percent_interval(double low, double high);

// One ratio as a change with the digits that fit the interval, "-12.3 %"; the interval may be
// absent.
std::string percent_change(double ratio, std::optional<double> low, std::optional<double> high);

// "O2 is faster than O1: 12.3 % less wall time (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string effect_sentence(const Effect& effect, const Spec& spec);

// The answer to the plan's question as far as the data has one: a sentence a line, first those that
// have a verdict; many that have none are only counted.
std::string answer(const Analysis& analysis);

}  // namespace stab::stats
