// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "stats/verdicts/decide.h"
#include "stats/verdicts/foresight.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::is_withheld;
using stats::Programs;
using stats::Scope;
using stats::Spec;
using stats::Verdict;

using Effects = std::vector<const Effect*>;

// The names, or the first four of them and how many more.
std::string names(const Effects& effects) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(effects.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + effects[i]->subject;
  if (effects.size() > most) text += fmt::format(" and {} more", effects.size() - most);
  return text;
}

// How an effect counts: "faster", "not clearly different".
std::string_view state_words(const Effect& effect, const Spec& spec) {
  if (effect.verdict != Verdict::unsure) return verdict_word(effect.verdict, spec);
  // One whose verdict is withheld may be as different as can be.
  return is_withheld(effect) ? "without a verdict" : "not clearly different";
}

// "against opt=O1, opt=O2 is faster on 2 of 5 (a, b), slower on 1 of 5 (c)".
std::string count_sentence(const Effects& effects, const Spec& spec) {
  const Effect& first = *effects.front();
  std::string text = fmt::format("against {}, {} is", level_name(first, first.baseline),
                                 level_name(first, first.level));
  std::string separator = " ";
  const auto add = [&](Verdict verdict, bool withheld) {
    Effects those;
    std::ranges::copy_if(effects, std::back_inserter(those), [&](const Effect* effect) {
      return effect->verdict == verdict && is_withheld(*effect) == withheld;
    });
    if (those.empty()) return;
    text += fmt::format("{}{} on {} of {} ({})", separator, state_words(*those.front(), spec),
                        those.size(), effects.size(), names(those));
    separator = ", ";
  };
  for (const Verdict verdict : {Verdict::faster, Verdict::slower, Verdict::same, Verdict::unsure})
    add(verdict, false);
  add(Verdict::unsure, true);
  Effects unsure;
  std::ranges::copy_if(effects, std::back_inserter(unsure),
                       [](const Effect* effect) { return effect->verdict == Verdict::unsure; });
  return text + foresight_words(unsure, spec);
}

bool is_open(const Effects& effects) {
  return std::ranges::all_of(
      effects, [](const Effect* effect) { return effect->verdict == Verdict::unsure; });
}

std::string sentence(const Effects& effects, const Spec& spec) {
  if (effects.size() > 1) return count_sentence(effects, spec);
  const Effect& only = *effects.front();
  return (only.subject.empty() ? "" : only.subject + ": ") + effect_sentence(only, spec);
}

// The effects that answer the question, grouped by what is compared.
std::vector<Effects> answering(const Analysis& analysis) {
  std::vector<Effects> groups;
  for (const Effect* effect : deciding_effects(analysis)) {
    const auto known = std::ranges::find_if(groups, [&](const Effects& group) {
      const Effect& first = *group.front();
      return first.treatment == effect->treatment && first.baseline == effect->baseline &&
             first.level == effect->level;
    });
    if (known == groups.end())
      groups.push_back({effect});
    else
      known->push_back(effect);
  }
  return groups;
}

std::string size_of(const Effect& effect, const Spec& spec) {
  return effect.low || (effect.exact && effect.ratio)
             ? percent_change(*effect.ratio, effect.low, effect.high)
             : difference_words(effect, spec);
}

// The members of a suite that changed, whatever the suite's answer is.
std::string members_that_changed(const Analysis& analysis) {
  Effects changed;
  std::size_t all = 0;
  for (const Effect& effect : analysis.effects) {
    if (effect.scope != Scope::subject) continue;
    ++all;
    if (effect.verdict == Verdict::faster || effect.verdict == Verdict::slower)
      changed.push_back(&effect);
  }
  if (changed.empty()) return "";
  constexpr std::size_t most = 4;
  std::string text =
      fmt::format("By itself, {} of {} comparisons of a single {} changed: ", changed.size(), all,
                  analysis.spec.subject);
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i)
    text += fmt::format("{}{} at {} ({})", i == 0 ? "" : ", ", changed[i]->subject,
                        level_name(*changed[i], changed[i]->level),
                        size_of(*changed[i], analysis.spec));
  if (changed.size() > most) text += fmt::format(" and {} more", changed.size() - most);
  return text;
}

std::string suite_prefix(const Analysis& analysis) {
  if (analysis.suite == 0) return "";
  return analysis.spec.programs == Programs::these
             ? fmt::format("on these {} {}s, ", analysis.suite, analysis.spec.subject)
             : fmt::format("on {}s like these {}, ", analysis.spec.subject, analysis.suite);
}

std::string of_effects(const Analysis& analysis) {
  constexpr std::size_t most_open = 3;
  std::vector<std::string> lines;
  std::vector<std::string> open;
  Effects unsure;
  for (const Effects& effects : answering(analysis)) {
    (is_open(effects) ? open : lines).push_back(sentence(effects, analysis.spec));
    if (is_open(effects)) unsure.insert(unsure.end(), effects.begin(), effects.end());
  }
  if (lines.empty() && open.empty())
    return "cannot tell: there is nothing to compare (see the notes); it takes a treatment with "
           "two "
           "levels and trials of both that succeed";
  if (open.size() > most_open)
    lines.push_back(fmt::format("cannot tell in {} comparisons (see the changes){}", open.size(),
                                foresight_words(unsure, analysis.spec)));
  else
    lines.insert(lines.end(), open.begin(), open.end());
  lines.front() = suite_prefix(analysis) + lines.front();
  for (std::string& few : few_sentences(deciding_effects(analysis)))
    lines.push_back(std::move(few));
  if (analysis.suite > 0)
    if (std::string members = members_that_changed(analysis); !members.empty())
      lines.push_back(std::move(members));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

std::string answer(const Analysis& analysis) {
  if (analysis.calibration) return calibration_answer(*analysis.calibration, analysis.spec);
  const std::string text = of_effects(analysis);
  if (analysis.withheld.empty()) return text;
  return fmt::format("no verdict: {}\n{}", analysis.withheld, text);
}

}  // namespace stab::report
