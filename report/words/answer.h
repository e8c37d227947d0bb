// SPDX-License-Identifier: MIT
// The answer, and the words for verdicts, changes and intervals in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/verdicts/analysis.h"

namespace stab::report {

// The word for scripts: "faster", "slower", "same" or "unsure"; "faster" means better.
std::string_view verdict_word(stats::Verdict verdict);

// The words for people: "the same", "cannot tell", and "faster" or "slower" if the response is a
// time and less is better. Other responses are "lower" or "higher", which are directions of the
// number.
std::string_view verdict_text(stats::Verdict verdict, const stats::Spec& spec);

// The words that stand in the place of a control's verdict.
inline constexpr std::string_view control_verdict = "(control)";

// "wall time", "peak memory", or the response's own name.
std::string response_words(const stats::Spec& spec);
// The same as a heading of the numbers themselves: "relative CPU" if they have no unit because each
// is a time divided by another.
std::string value_words(const stats::Spec& spec);

// An interval of ratios as changes in percent, with as many digits as its width allows: "-14.5 to
// -10.1 %".
std::string percent_interval(double low, double high);

// A ratio as a change, "-12.3 %", with as many digits as fit the interval. The interval may be
// absent.
std::string percent_change(double ratio, std::optional<double> low, std::optional<double> high);

// "opt=O2"
std::string level_name(const stats::Effect& effect, const std::string& level);

// "+1.975", "-12.3 ms": the difference of raw numbers.
std::string difference_words(const stats::Effect& effect, const stats::Spec& spec);

// "opt=O2 takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string effect_sentence(const stats::Effect& effect, const stats::Spec& spec);

// Suggests what to do when the data cannot tell the versions apart: "; with 5 programs a change of
// 2 % is found in 8 of 10 cases, for 1 % it takes about 20 programs". "" if every verdict is
// withheld, because a note explains the reason.
std::string foresight_words(const std::vector<const stats::Effect*>& effects,
                            const stats::Spec& spec);

// How a change differs between machines: "+2.0 to +2.4 % on 2 nodes and -3.1 % on 1 node (p = 0.001)".
std::string machines_words(const stats::MachineChange& change, const stats::Spec& spec);

// The answer to the plan's question as far as the data has one, with one sentence on each line.
// Comparisons with a verdict come first; many comparisons without a verdict are only counted.
std::string answer(const stats::Analysis& analysis);

// "0.83 %"
std::string margin_words(double margin);

// "this machine cannot resolve less than 0.83 % ...".
std::string calibration_answer(const stats::Calibration& calibration, const stats::Spec& spec);

}  // namespace stab::report
