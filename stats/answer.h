// SPDX-License-Identifier: MIT
// Verdicts, and how they are said.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stats/analysis.h"

namespace stab::stats {

// "faster", "slower" for times; "lower", "higher" for what is no time, whichever of them is better;
// "same", "unsure".
std::string_view verdict_word(Verdict verdict, const Spec& spec);

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

// "opt=O2 takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string effect_sentence(const Effect& effect, const Spec& spec);

// The answer to the plan's question as far as the data has one: a sentence a line, first those that
// have a verdict; many that have none are only counted.
std::string answer(const Analysis& analysis);

}  // namespace stab::stats
