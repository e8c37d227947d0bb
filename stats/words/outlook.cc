// SPDX-License-Identifier: MIT
// What an experiment could have seen, in words.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "stats/words/answer.h"

namespace stab::stats {
namespace {

// Below so many degrees of freedom the t distribution's tails are long.
constexpr double few_df = 5;

// "5 programs"; a name of one letter does not take an s.
std::string count_words(std::size_t n, const std::string& unit) {
  if (unit.size() < 2) return fmt::format("{} levels of {}", n, unit);
  return fmt::format("{} {}{}", n, unit, n == 1 ? "" : "s");
}

std::string plural(const std::string& unit) {
  return unit.size() < 2 ? "levels of " + unit : unit + "s";
}

}  // namespace

std::string foresight_words(const std::vector<const Effect*>& effects, const Spec& spec) {
  std::vector<const Effect*> known;
  std::ranges::copy_if(effects, std::back_inserter(known),
                       [](const Effect* effect) { return effect->detectable.has_value(); });
  if (known.empty()) return "";
  const auto [least, most] =
      std::ranges::minmax_element(known, {}, [](const Effect* e) { return *e->detectable; });
  const std::string low = fmt::format("{:.2g}", 100 * *(*least)->detectable);
  const std::string high = fmt::format("{:.2g}", 100 * *(*most)->detectable);
  std::string text = fmt::format("; with {} a change of {} % is found in 8 of 10 cases",
                                 count_words((*most)->units, (*most)->unit),
                                 low == high ? low : low + " to " + high);
  const Effect& worst = **most;
  if (worst.needed && spec.equivalence)
    text += fmt::format(", for {:.3g} % it takes about {}", 100 * *spec.equivalence,
                        count_words(*worst.needed, worst.unit));
  return text;
}

std::vector<std::string> few_sentences(const std::vector<const Effect*>& effects) {
  std::map<std::string, const Effect*> fewest;  // by what counts as a number
  for (const Effect* effect : effects) {
    if (effect->estimate && effect->estimate->variance == 0) continue;  // exact
    if (!effect->df || *effect->df >= few_df || effect->unit.empty()) continue;
    const auto [entry, fresh] = fewest.try_emplace(effect->unit, effect);
    if (!fresh && *effect->df < *entry->second->df) entry->second = effect;
  }
  std::vector<std::string> result;
  for (const auto& [unit, effect] : fewest)
    result.push_back(fmt::format(
        "With {:.3g} degree{} of freedom from {} only large effects can be seen: more {} would "
        "help",
        *effect->df, *effect->df == 1 ? "" : "s",
        effect->units > 0 ? count_words(effect->units, unit) : plural(unit), plural(unit)));
  return result;
}

}  // namespace stab::stats
