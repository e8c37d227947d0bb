// SPDX-License-Identifier: MIT
// Words for the changes that an experiment could have found.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text.h"
#include "report/words/answer.h"
#include "stats/data/notes.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::count_words;
using stats::Effect;

// In percent. With very few degrees of freedom the size can be huge, and then the number is
// meaningless.
std::string size_of(double change) {
  constexpr double most = 10;
  return change > most ? "more than 1000" : rounded(100 * change, 2);
}

// An interval of half the width needs four times as many units.
std::string count_for_half(const Effect& effect) {
  return count_words(4 * effect.units, effect.unit);
}

// Says what it takes to find a change of the margin, or, if there are enough units for that, to
// halve the interval.
std::string margin_words_of(const Effect& effect, double margin) {
  const std::string size = fmt::format("{:.3g} %", 100 * margin);
  if (!effect.needed)
    return fmt::format(", for {} it would take more than 10 million {}: choose a larger margin",
                       size, stats::plural(effect.unit));
  if (*effect.needed > effect.units)
    return fmt::format(", for {} it would take about {}", size,
                       count_words(*effect.needed, effect.unit));
  return fmt::format("; about {} would make the interval half as wide", count_for_half(effect));
}

constexpr std::string_view name_a_margin =
    "set 'equivalence', the smallest change that matters, to make 'the same' a possible answer";

// For effects without an estimate of the change that could have been found.
std::string more_words(const Effect& effect) {
  constexpr std::size_t enough = 6;  // six pairs have 5 degrees of freedom
  const std::string unit = effect.unit.empty() ? "trial" : effect.unit;
  if (effect.estimate && effect.estimate->bound > 0 && !(effect.estimate->variance > 0))
    return "; the change is within one step of the clock, so more measurements can't help: use a "
           "finer clock or longer runs";
  if (effect.units < enough)
    return fmt::format("; it needs more {}, at least {}", stats::plural(unit), enough);
  return fmt::format("; it needs more than {}", count_words(effect.units, unit));
}

}  // namespace

std::string foresight_words(const std::vector<const Effect*>& effects, const stats::Spec& spec) {
  std::vector<const Effect*> open;
  std::ranges::copy_if(effects, std::back_inserter(open),
                       [](const Effect* effect) { return !stats::is_withheld(*effect); });
  if (open.empty()) return "";
  std::vector<const Effect*> known;
  std::ranges::copy_if(open, std::back_inserter(known),
                       [](const Effect* effect) { return effect->detectable.has_value(); });
  if (known.empty()) return more_words(*std::ranges::min(open, {}, &Effect::units));
  const auto [least, most] =
      std::ranges::minmax_element(known, {}, [](const Effect* e) { return *e->detectable; });
  const std::string low = size_of(*(*least)->detectable);
  const std::string high = size_of(*(*most)->detectable);
  const Effect& worst = **most;
  const std::string text =
      fmt::format("; with {} a change of {} % is found in 8 of 10 cases",
                  count_words(worst.units, worst.unit), low == high ? low : low + " to " + high);
  if (spec.equivalence) return text + margin_words_of(worst, *spec.equivalence);
  return text +
         fmt::format(", half of that with about {}; {}", count_for_half(worst), name_a_margin);
}

}  // namespace stab::report
