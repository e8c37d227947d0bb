// SPDX-License-Identifier: MIT
#include "stats/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

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

// "12.3 % less wall time (95 % interval 10.1 to 14.5 %, p = 0.003)"; bounds of a decrease are given
// as decreases.
std::string size_words(const Effect& effect, const Spec& spec) {
  const bool less = effect.verdict == Verdict::faster;
  const double sign = less ? -1 : 1;
  const double low = sign * percent(less ? *effect.high : *effect.low);
  const double high = sign * percent(less ? *effect.low : *effect.high);
  const int digits = decimals(percent(*effect.ratio), effect.low, effect.high);
  std::string text = fmt::format(
      "{} % {} {} ({} interval {} to {} %", fixed(sign * percent(*effect.ratio), digits, false),
      less ? "less" : "more", response_words(spec), level_text(spec.alpha),
      fixed(low, digits, false), fixed(high, digits, false));
  if (effect.p) text += ", " + p_words(*effect.p);
  return text + ")";
}

std::string unsure_words(const Effect& effect, const Spec& spec) {
  const std::string question =
      fmt::format("cannot tell whether {} is {} or {} than {}", effect.level,
                  verdict_word(Verdict::faster, spec.unit),
                  verdict_word(Verdict::slower, spec.unit), effect.baseline);
  if (!effect.low) return question + " (see the notes)";
  return fmt::format("{}: the change in {} is {} ({} interval{})", question, response_words(spec),
                     percent_interval(*effect.low, *effect.high), level_text(spec.alpha),
                     effect.p ? ", " + p_words(*effect.p) : "");
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

// "opt: O2 is faster than O1 on 2 of 5 (a, b), slower on 1 (c), and it cannot be told on 2 (d, e)".
std::string count_sentence(const Effects& effects, const Spec& spec) {
  const Effect& first = *effects.front();
  std::string text =
      fmt::format("{}: against {}, {} is", first.treatment, first.baseline, first.level);
  std::string separator = " ";
  for (const Verdict verdict : {Verdict::faster, Verdict::slower, Verdict::same, Verdict::unsure}) {
    Effects those;
    std::ranges::copy_if(effects, std::back_inserter(those),
                         [&](const Effect* effect) { return effect->verdict == verdict; });
    if (those.empty()) continue;
    text += fmt::format(
        "{}{} on {} of {} ({})", separator,
        verdict == Verdict::unsure ? "not clearly different" : verdict_word(verdict, spec.unit),
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
  const Effect& only = *effects.front();
  return subject_prefix(only) + only.treatment + ": " + effect_sentence(only, spec);
}

// The effects that the answer is about: the suite's if there are such, else all of them, grouped by
// what is compared.
std::vector<Effects> answering(const Analysis& analysis) {
  std::vector<Effects> groups;
  for (const Effect& effect : analysis.effects) {
    if (analysis.suite > 0 && !effect.subject.empty()) continue;
    const auto known = std::ranges::find_if(groups, [&](const Effects& group) {
      return group.front()->treatment == effect.treatment && group.front()->level == effect.level;
    });
    if (known == groups.end())
      groups.push_back({&effect});
    else
      known->push_back(&effect);
  }
  return groups;
}

}  // namespace

Verdict verdict(const Effect& effect, std::optional<double> margin) {
  if (margin && effect.tost_low && effect.tost_high && *effect.tost_low >= 1 / (1 + *margin) &&
      *effect.tost_high <= 1 + *margin)
    return Verdict::same;
  if (!effect.low || !effect.high) return Verdict::unsure;
  if (*effect.high < 1) return Verdict::faster;
  if (*effect.low > 1) return Verdict::slower;
  return Verdict::unsure;
}

std::string_view verdict_word(Verdict verdict, Unit unit) {
  const bool time = unit == Unit::nanoseconds;
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::faster:
      return time ? "faster" : "lower";
    case Verdict::slower:
      return time ? "slower" : "higher";
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
  switch (effect.verdict) {
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{} is {} than {}: {}", effect.level,
                         verdict_word(effect.verdict, spec.unit), effect.baseline,
                         size_words(effect, spec));
    case Verdict::same:
      return fmt::format(
          "{} and {} are the same within {:.4g} %: the change in {} is {} ({} interval)",
          effect.level, effect.baseline, 100 * *spec.equivalence, response_words(spec),
          percent_interval(*effect.tost_low, *effect.tost_high), level_text(2 * spec.alpha));
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
  std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  if (analysis.suite > 0)
    text = fmt::format("over {} {}s, {}", analysis.suite, analysis.spec.subject, text);
  return text;
}

}  // namespace stab::stats
