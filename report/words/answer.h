// SPDX-License-Identifier: MIT
// The answer, and how a verdict, a change and an interval read in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/verdicts/analysis.h"

namespace stab::report {

// "faster", "slower" for times; "lower", "higher", which are directions of the number, for what is
// no time or better if there is more of it; "same", "unsure".
std::string_view verdict_word(stats::Verdict verdict, const stats::Spec& spec);

// "wall time", "peak memory", or the response's own name.
std::string response_words(const stats::Spec& spec);

// An interval of ratios as changes in percent, with the digits that its width allows: "-14.5 to
// -10.1 %".
std::string percent_interval(double low, double high);

// One ratio as a change with the digits that fit the interval, "-12.3 %"; the interval may be
// absent.
std::string percent_change(double ratio, std::optional<double> low, std::optional<double> high);

// "opt=O2"
std::string level_name(const stats::Effect& effect, const std::string& level);

// "+1.975", "-12.3 ms": the difference of raw numbers.
std::string difference_words(const stats::Effect& effect, const stats::Spec& spec);

// "opt=O2 takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string effect_sentence(const stats::Effect& effect, const stats::Spec& spec);

// What who cannot tell does next: "; with 5 programs a change of 2 % is found in 8 of 10 cases, for
// 1 % it takes about 20 programs". "" if all of them have a reason, of which a note says it.
std::string foresight_words(const std::vector<const stats::Effect*>& effects,
                            const stats::Spec& spec);

// The answer to the plan's question as far as the data has one: a sentence a line, first those that
// have a verdict; many that have none are only counted.
std::string answer(const stats::Analysis& analysis);

// "0.83 %"
std::string margin_words(double margin);

// "this machine cannot resolve less than 0.83 % ...".
std::string calibration_answer(const stats::Calibration& calibration, const stats::Spec& spec);

}  // namespace stab::report
