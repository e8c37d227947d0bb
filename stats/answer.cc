// SPDX-License-Identifier: MIT
#include "stats/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "stats/decide.h"

namespace stab::stats {
namespace {

double percent(double ratio) {
  return 100 * (ratio - 1);
}

// Two digits of the interval's half width; three of the number itself if there is no interval.
int decimals(double value, std::optional<double> low, std::optional<double> high) {
  double size = std::abs(value) / 10;
  if (low && high) size = (percent(*high) - percent(*low)) / 2;
  if (!(size > 0)) return 1;
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 0, 4);
}

// No "-0.0".
std::string fixed(double value, int digits, bool sign) {
  const double unit = std::pow(10, -digits);
  if (std::abs(value) < unit / 2) return fmt::format("{:.{}f}", 0.0, digits);
  return sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

std::string level_text(double alpha) {
  return fmt::format("{:.4g} %", 100 * (1 - alpha));
}

std::string subject_prefix(const Effect& effect) {
  return effect.subject.empty() ? "" : effect.subject + ": ";
}

bool has_range(const Effect& effect) {
  return (effect.low && effect.high) || (effect.difference_low && effect.difference_high);
}

// Whether the level needs less of the response.
bool is_less(const Effect& effect) {
  return effect.ratio ? *effect.ratio < 1 : effect.difference.value_or(0) < 0;
}

// "heap=on"; names alone where the treatment is called like nothing else.
std::string at(const Effect& effect, const std::string& level) {
  return effect.treatment + "=" + level;
}

std::string verb(const Spec& spec) {
  return spec.unit == Unit::number ? "has" : "takes";
}

// "95 % interval 10.1 to 14.5 %"; bounds of a decrease are given as decreases.
std::string range_words(const Effect& effect, const Spec& spec, bool less) {
  const double sign = less ? -1 : 1;
  if (!effect.low)
    return fmt::format("{} interval {:.4g} to {:.4g}", level_text(spec.alpha),
                       sign * (less ? *effect.difference_high : *effect.difference_low),
                       sign * (less ? *effect.difference_low : *effect.difference_high));
  const int digits = decimals(percent(*effect.ratio), effect.low, effect.high);
  const double low = sign * percent(less ? *effect.high : *effect.low);
  const double high = sign * percent(less ? *effect.low : *effect.high);
  return fmt::format("{} interval {} to {} %", level_text(spec.alpha), fixed(low, digits, false),
                     fixed(high, digits, false));
}

// "takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string size_words(const Effect& effect, const Spec& spec) {
  const bool less = is_less(effect);
  const double sign = less ? -1 : 1;
  const std::string size =
      effect.low ? fixed(sign * percent(*effect.ratio),
                         decimals(percent(*effect.ratio), effect.low, effect.high), false) +
                       " %"
                 : fmt::format("{:.4g}", sign * effect.difference.value_or(0));
  std::string text = fmt::format("{} {} {} {} than {} (", verb(spec), size, less ? "less" : "more",
                                 response_words(spec), at(effect, effect.baseline));
  text += range_words(effect, spec, less);
  if (effect.p) text += ", " + p_words(*effect.p);
  return text + ")";
}

bool excludes_none(const Effect& effect) {
  if (effect.low) return *effect.low > 1 || *effect.high < 1;
  return effect.difference_low && (*effect.difference_low > 0 || *effect.difference_high < 0);
}

// Why the verdict is not what the comparison's own interval seems to say.
std::string correction_words(const Effect& effect) {
  if (!excludes_none(effect) || !effect.p_adjusted) return "";
  return fmt::format(
      "; by itself it would be a change, after the correction for all comparisons it is not "
      "(adjusted {})",
      p_words(*effect.p_adjusted));
}

// What the experiment could have seen, and what it would take.
std::string foresight_words(const Effect& effect, const Spec& spec) {
  if (!effect.detectable) return "";
  std::string text = fmt::format("; with {} {}s a change of {:.2g} % is found in 8 of 10 cases",
                                 effect.units, effect.unit, 100 * *effect.detectable);
  if (effect.needed && spec.equivalence)
    text += fmt::format(", for {:.3g} % it takes about {} {}s", 100 * *spec.equivalence,
                        *effect.needed, effect.unit);
  return text;
}

std::string unsure_words(const Effect& effect, const Spec& spec) {
  const std::string question =
      fmt::format("cannot tell whether {} {} more or less {} than {}", at(effect, effect.level),
                  verb(spec), response_words(spec), at(effect, effect.baseline));
  if (!has_range(effect)) return question + " (see the notes)";
  const std::string change = effect.low ? percent_interval(*effect.low, *effect.high)
                                        : fmt::format("{:+.4g} to {:+.4g}", *effect.difference_low,
                                                      *effect.difference_high);
  return fmt::format("{}: the change is {} ({} interval{}){}{}", question, change,
                     level_text(spec.alpha), effect.p ? ", " + p_words(*effect.p) : "",
                     correction_words(effect), foresight_words(effect, spec));
}

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

// "against opt=O1, opt=O2 is faster on 2 of 5 (a, b), slower on 1 of 5 (c)".
std::string count_sentence(const Effects& effects, const Spec& spec) {
  const Effect& first = *effects.front();
  std::string text =
      fmt::format("against {}, {} is", at(first, first.baseline), at(first, first.level));
  std::string separator = " ";
  for (const Verdict verdict : {Verdict::faster, Verdict::slower, Verdict::same, Verdict::unsure}) {
    Effects those;
    std::ranges::copy_if(effects, std::back_inserter(those),
                         [&](const Effect* effect) { return effect->verdict == verdict; });
    if (those.empty()) continue;
    text += fmt::format(
        "{}{} on {} of {} ({})", separator,
        verdict == Verdict::unsure ? "not clearly different" : verdict_word(verdict, spec),
        those.size(), effects.size(), names(those));
    separator = ", ";
  }
  return text;
}

bool is_open(const Effects& effects) {
  return std::ranges::all_of(
      effects, [](const Effect* effect) { return effect->verdict == Verdict::unsure; });
}

std::string sentence(const Effects& effects, const Spec& spec) {
  if (effects.size() > 1) return count_sentence(effects, spec);
  return subject_prefix(*effects.front()) + effect_sentence(*effects.front(), spec);
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
                        at(*changed[i], changed[i]->level),
                        changed[i]->ratio
                            ? percent_change(*changed[i]->ratio, changed[i]->low, changed[i]->high)
                            : fmt::format("{:+.4g}", changed[i]->difference.value_or(0)));
  if (changed.size() > most) text += fmt::format(" and {} more", changed.size() - most);
  return text;
}

std::string suite_prefix(const Analysis& analysis) {
  if (analysis.suite == 0) return "";
  return analysis.spec.programs == Programs::these
             ? fmt::format("on these {} {}s, ", analysis.suite, analysis.spec.subject)
             : fmt::format("on {}s like these {}, ", analysis.spec.subject, analysis.suite);
}

}  // namespace

std::string_view verdict_word(Verdict verdict, const Spec& spec) {
  const bool time = spec.unit == Unit::nanoseconds;
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::faster:
      return time ? "faster" : spec.higher_is_better ? "higher" : "lower";
    case Verdict::slower:
      return time ? "slower" : spec.higher_is_better ? "lower" : "higher";
    case Verdict::unsure:
      return "unsure";
  }
  return "unsure";
}

std::string response_words(const Spec& spec) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> words{
      {{"wall", "wall time"},
       {"user", "user CPU time"},
       {"system", "system CPU time"},
       {"cpu", "CPU time"},
       {"max_rss", "peak memory"},
       {"main_to_exit", "time from main to exit"},
       {"region", "time in the region"}}};
  for (const auto& [name, text] : words)
    if (spec.response == name) return std::string(text);
  return spec.response;
}

std::string p_words(double p) {
  if (p < 1e-4) return "p < 0.0001";
  return fmt::format("p = {:.3g}", p);
}

std::string percent_interval(double low, double high) {
  const int digits = decimals(0, low, high);
  return fmt::format("{} to {} %", fixed(percent(low), digits, true),
                     fixed(percent(high), digits, true));
}

std::string percent_change(double ratio, std::optional<double> low, std::optional<double> high) {
  const double change = percent(ratio);
  return fixed(change, decimals(change, low, high), true) + " %";
}

std::string effect_sentence(const Effect& effect, const Spec& spec) {
  if (!effect.reason.empty())
    return fmt::format("{} and {} are the same: {}", at(effect, effect.level),
                       at(effect, effect.baseline), effect.reason);
  switch (effect.verdict) {
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{} {}", at(effect, effect.level), size_words(effect, spec));
    case Verdict::same:
      return fmt::format(
          "{} and {} are the same within {:.4g} %: the change in {} is {} ({} interval){}",
          at(effect, effect.level), at(effect, effect.baseline), 100 * *spec.equivalence,
          response_words(spec), percent_interval(*effect.tost_low, *effect.tost_high),
          level_text(2 * spec.alpha),
          excludes_none(effect) ? "; there may be one, but none that matters" : "");
    case Verdict::unsure:
      return unsure_words(effect, spec);
  }
  return "";
}

std::string answer(const Analysis& analysis) {
  if (analysis.calibration) return calibration_answer(*analysis.calibration, analysis.spec);
  constexpr std::size_t most_open = 3;
  std::vector<std::string> lines;
  std::vector<std::string> open;
  for (const Effects& effects : answering(analysis))
    (is_open(effects) ? open : lines).push_back(sentence(effects, analysis.spec));
  if (lines.empty() && open.empty())
    return "cannot tell: there is nothing to compare (see the notes)";
  if (open.size() > most_open)
    lines.push_back(fmt::format("cannot tell in {} comparisons (see the changes)", open.size()));
  else
    lines.insert(lines.end(), open.begin(), open.end());
  lines.front() = suite_prefix(analysis) + lines.front();
  if (analysis.suite > 0)
    if (std::string members = members_that_changed(analysis); !members.empty())
      lines.push_back(std::move(members));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace stab::stats
