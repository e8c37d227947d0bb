// SPDX-License-Identifier: MIT
#include "report/sections/changes_legend.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/changes.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Verdict;

bool off(std::optional<double> low, std::optional<double> high, double none) {
  return low && high && (*low > none || *high < none);
}

bool own_excludes_none(const Effect& effect) {
  return effect.low ? off(effect.low, effect.high, 1)
                    : off(effect.difference_low, effect.difference_high, 0);
}

bool changed(const Effect& effect) {
  return effect.verdict == Verdict::faster || effect.verdict == Verdict::slower;
}

bool adjusted_holds_none(const Effect& effect) {
  return effect.low_adjusted && effect.high_adjusted &&
         !off(effect.low_adjusted, effect.high_adjusted, effect.low ? 1 : 0);
}

bool any(const Analysis& analysis, auto&& is) {
  return std::ranges::any_of(analysis.effects, is);
}

std::string family_words(const Analysis& analysis, bool full) {
  if (!has_family(analysis)) return "";
  std::string text =
      fmt::format(" The adjusted interval and p are valid for all comparisons{} together{}.",
                  analysis.suite > 0 ? " of a group" : "",
                  full ? fmt::format("; the {} interval is for one comparison alone",
                                     level_text(analysis.spec.alpha))
                       : "");
  if (full && any(analysis, [](const Effect& effect) {
        return effect.verdict == Verdict::unsure && own_excludes_none(effect);
      }))
    text +=
        " If the interval for one comparison excludes 0 but the verdict is unsure, the change "
        "would have a verdict if it were the only comparison.";
  if (any(analysis,
          [](const Effect& effect) { return changed(effect) && adjusted_holds_none(effect); }))
    text +=
        " An adjusted interval may contain 0 even though there is a verdict, because Holm's "
        "procedure finds more changes than simultaneous intervals can show.";
  return text;
}

std::string same_words(const stats::Spec& spec) {
  if (!spec.equivalence) return "";
  return fmt::format(
      "same: the change is surely between {:.3g} and {:+.3g} %, the margin of equivalence (two "
      "one-sided tests); ",
      100 * (1 / (1 + *spec.equivalence) - 1), 100 * *spec.equivalence);
}

}  // namespace

std::string changes_legend(const Analysis& analysis, bool full) {
  const stats::Spec& spec = analysis.spec;
  std::string text = same_words(spec);
  text +=
      fmt::format("{}: below 0 with {} < {:.4g}; {}: above 0; unsure: neither.", less_word(spec),
                  has_family(analysis) ? "adjusted p" : "p", spec.alpha, more_word(spec));
  text += family_words(analysis, full);
  if (any(analysis, [](const Effect& effect) { return effect.held_back.has_value(); }))
    text +=
        " Because of the control, a change gets a verdict only if it is larger than every change "
        "in the control's interval. 'same' is given only if the control's interval lies within the "
        "margin.";
  if (any(analysis, [](const Effect& effect) { return effect.exact; }))
    text += " Exact: a fact about the builds, which does not vary and needs no interval or test.";
  if (any(analysis, [&](const Effect& effect) { return !change_words(analysis, effect).ratio; }))
    text += fmt::format(
        " A change without % is a difference of {}, because a mean that is not clearly above 0 has "
        "no ratio.",
        one_line(response_words(spec), 60));
  return text;
}

}  // namespace stab::report
