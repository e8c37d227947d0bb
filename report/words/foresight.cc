// SPDX-License-Identifier: MIT
// What an experiment could have seen, in words.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/words/answer.h"
#include "stats/data/notes.h"

namespace stab::report {
namespace {

using stats::count_words;
using stats::Effect;

// In percent. With hardly any degree of freedom it may have any size, which says no more.
std::string size_of(double change) {
  constexpr double most = 10;
  return change > most ? "more than 1000" : fmt::format("{:.2g}", 100 * change);
}

}  // namespace

std::string foresight_words(const std::vector<const Effect*>& effects, const stats::Spec& spec) {
  std::vector<const Effect*> known;
  std::ranges::copy_if(effects, std::back_inserter(known),
                       [](const Effect* effect) { return effect->detectable.has_value(); });
  if (known.empty()) return "";
  const auto [least, most] =
      std::ranges::minmax_element(known, {}, [](const Effect* e) { return *e->detectable; });
  const std::string low = size_of(*(*least)->detectable);
  const std::string high = size_of(*(*most)->detectable);
  std::string text = fmt::format("; with {} a change of {} % is found in 8 of 10 cases",
                                 count_words((*most)->units, (*most)->unit),
                                 low == high ? low : low + " to " + high);
  const Effect& worst = **most;
  if (worst.needed && spec.equivalence)
    text += fmt::format(", for {:.3g} % it takes about {}", 100 * *spec.equivalence,
                        count_words(*worst.needed, worst.unit));
  return text;
}

}  // namespace stab::report
