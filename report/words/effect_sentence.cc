// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Effect;
using stats::p_words;
using stats::Spec;
using stats::Unit;
using stats::Verdict;

double in_percent(double ratio) {
  return 100 * (ratio - 1);
}

// Shows two digits of the interval's half width, or three digits of the number if there is no
// interval.
int decimals(double value, std::optional<double> low, std::optional<double> high) {
  double size = std::abs(value) / 10;
  if (low && high && *high > *low) size = (in_percent(*high) - in_percent(*low)) / 2;
  if (!(size > 0)) return 1;
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 0, 4);
}

// A number that rounds to 0 is never printed as "-0.0".
std::string with_digits(double value, int digits, bool sign) {
  const double unit = std::pow(10, -digits);
  if (std::abs(value) < unit / 2) return fmt::format("{:.{}f}", 0.0, digits);
  return sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

bool has_range(const Effect& effect) {
  return (effect.low && effect.high) || (effect.difference_low && effect.difference_high);
}

// Whether the level needs less of the response.
bool is_less(const Effect& effect) {
  return effect.ratio ? *effect.ratio < 1 : effect.difference.value_or(0) < 0;
}

std::string verb(const Spec& spec) {
  return spec.unit == Unit::number && !spec.ratio_of_times ? "has" : "takes";
}

// Formats the differences of one comparison, all in the same unit.
class Differences {
 public:
  Differences(const Effect& effect, const Spec& spec)
      : step_(unit_step(std::max({std::abs(effect.difference.value_or(0)),
                                  std::abs(effect.difference_low.value_or(0)),
                                  std::abs(effect.difference_high.value_or(0))}),
                        spec.unit)) {}

  // "1.975"
  [[nodiscard]] std::string number(double value, bool sign) const {
    return sign ? fmt::format("{:+.4g}", value / step_.factor)
                : fmt::format("{:.4g}", value / step_.factor);
  }
  // "1.084 to 2.866 ms"
  [[nodiscard]] std::string range(double low, double high, bool sign) const {
    return number(low, sign) + " to " + with_unit(high, sign);
  }
  [[nodiscard]] std::string with_unit(double value, bool sign) const {
    return number(value, sign) + (*step_.name == 0 ? "" : " ") + step_.name;
  }

 private:
  UnitStep step_;
};

// "95 % interval 10.1 to 14.5 %"; bounds of a decrease are given as decreases.
std::string range_words(const Effect& effect, const Spec& spec, bool less) {
  const double sign = less ? -1 : 1;
  if (!effect.low) {
    const double low = sign * (less ? *effect.difference_high : *effect.difference_low);
    const double high = sign * (less ? *effect.difference_low : *effect.difference_high);
    return fmt::format("{} interval {}", level_text(spec.alpha),
                       Differences(effect, spec).range(low, high, false));
  }
  const int digits = decimals(in_percent(*effect.ratio), effect.low, effect.high);
  const double low = sign * in_percent(less ? *effect.high : *effect.low);
  const double high = sign * in_percent(less ? *effect.low : *effect.high);
  return fmt::format("{} interval {} to {} %", level_text(spec.alpha),
                     with_digits(low, digits, false), with_digits(high, digits, false));
}

// "12.3 % less", "1.975 ms more", or only "less" if the size has no interval.
std::string amount_words(const Effect& effect, const Spec& spec, bool less) {
  const double sign = less ? -1 : 1;
  const std::string direction = less ? "less" : "more";
  if (effect.exact && effect.ratio)
    return with_digits(sign * in_percent(*effect.ratio),
                       decimals(in_percent(*effect.ratio), {}, {}), false) +
           " % " + direction;
  if (effect.exact)
    return Differences(effect, spec).with_unit(sign * effect.difference.value_or(0), false) + " " +
           direction;
  if (!has_range(effect)) return direction;
  if (!effect.low)
    return Differences(effect, spec).with_unit(sign * effect.difference.value_or(0), false) + " " +
           direction;
  const int digits = decimals(in_percent(*effect.ratio), effect.low, effect.high);
  return with_digits(sign * in_percent(*effect.ratio), digits, false) + " % " + direction;
}

// "takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, p = 0.003)".
std::string size_words(const Effect& effect, const Spec& spec) {
  const bool less = is_less(effect);
  std::string text = fmt::format("{} {} {} than {}", verb(spec), amount_words(effect, spec, less),
                                 response_words(spec), level_name(effect, effect.baseline));
  if (effect.exact) return fmt::format("{} ({})", text, effect.reason);
  std::string known = has_range(effect) ? range_words(effect, spec, less) : "";
  if (effect.p) known += (known.empty() ? "" : ", ") + p_words(*effect.p);
  return known.empty() ? text : fmt::format("{} ({})", text, known);
}

bool excludes_none(const Effect& effect) {
  if (effect.low) return *effect.low > 1 || *effect.high < 1;
  return effect.difference_low && (*effect.difference_low > 0 || *effect.difference_high < 0);
}

bool within_margin(const Effect& effect, const Spec& spec) {
  return spec.equivalence && effect.p_same && *effect.p_same < spec.alpha;
}

// Explains why the run's control withholds the verdict that the comparison's own numbers allow.
std::string control_words(const Effect& effect, const Spec& spec) {
  if (!effect.reach || (!effect.reach->share && !effect.reach->difference))
    return fmt::format("; the control {} has no interval, so there is no verdict", spec.control);
  const std::string reach =
      effect.reach->share ? rounded(100 * *effect.reach->share, 2) + " %"
                          : Differences(effect, spec).with_unit(*effect.reach->difference, false);
  return effect.held_back == Verdict::same
             ? fmt::format(
                   "; the control, a second measurement of {}, may differ from the first by {}: "
                   "more than the margin",
                   level_name(effect, effect.baseline), reach)
             : fmt::format(
                   "; the control, a second measurement of {}, may differ from the first by {}: a "
                   "smaller change cannot be told from noise",
                   level_name(effect, effect.baseline), reach);
}

// Explains why the verdict differs from what the comparison's own interval suggests.
std::string correction_words(const Effect& effect, const Spec& spec) {
  if (effect.held_back) return control_words(effect, spec);
  std::string text;
  if (within_margin(effect, spec) && effect.p_same_adjusted)
    text += fmt::format(
        "; this comparison alone would be the same within {:.4g} %, but not after the correction "
        "for all comparisons (adjusted {})",
        100 * *spec.equivalence, p_words(*effect.p_same_adjusted));
  if (excludes_none(effect) && effect.p_adjusted)
    text += fmt::format(
        "; this comparison alone would be a change, but not after the correction for all "
        "comparisons (adjusted {})",
        p_words(*effect.p_adjusted));
  return text;
}

std::string unsure_words(const Effect& effect, const Spec& spec) {
  const std::string level = level_name(effect, effect.level);
  const std::string baseline = level_name(effect, effect.baseline);
  const std::string question =
      stats::is_withheld(effect) ? fmt::format("no verdict on {} against {}", level, baseline)
                                 : fmt::format("cannot tell whether {} {} more or less {} than {}",
                                               level, verb(spec), response_words(spec), baseline);
  if (!has_range(effect) && stats::is_withheld(effect) && effect.ratio)
    return fmt::format("{}: the change is {}, without an interval (see the notes)", question,
                       percent_change(*effect.ratio, {}, {}));
  if (!has_range(effect)) return question + " (see the notes)" + foresight_words({&effect}, spec);
  const std::string change =
      effect.low
          ? percent_interval(*effect.low, *effect.high)
          : Differences(effect, spec).range(*effect.difference_low, *effect.difference_high, true);
  return fmt::format("{}: the change is {} ({} interval{}){}{}", question, change,
                     level_text(spec.alpha), effect.p ? ", " + p_words(*effect.p) : "",
                     correction_words(effect, spec),
                     stats::is_withheld(effect) ? "; the notes say what would help"
                                                : foresight_words({&effect}, spec));
}

std::string same_words(const Effect& effect, const Spec& spec) {
  std::string text =
      fmt::format("{} and {} are the same within {:.4g} %", level_name(effect, effect.level),
                  level_name(effect, effect.baseline), 100 * spec.equivalence.value_or(0));
  if (effect.tost_low && effect.tost_high)
    text += fmt::format(": the change in {} is {} ({} interval)", response_words(spec),
                        percent_interval(*effect.tost_low, *effect.tost_high),
                        level_text(2 * spec.alpha));
  if (!excludes_none(effect)) return text;
  const bool sure = effect.p_adjusted && *effect.p_adjusted < spec.alpha;
  return text +
         fmt::format("; there {} a change, but not one that matters", sure ? "is" : "may be");
}

std::string sentence_of(const Effect& effect, const Spec& spec) {
  if (!effect.reason.empty() && effect.verdict == Verdict::same)
    return fmt::format("{} and {} are the same: {}", level_name(effect, effect.level),
                       level_name(effect, effect.baseline), effect.reason);
  switch (effect.verdict) {
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{} {}", level_name(effect, effect.level), size_words(effect, spec));
    case Verdict::same:
      return same_words(effect, spec);
    case Verdict::unsure:
      return unsure_words(effect, spec);
  }
  return "";
}

}  // namespace

std::string_view verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::unsure:
      break;
  }
  return "unsure";
}

std::string_view verdict_text(Verdict verdict, const Spec& spec) {
  const bool time =
      (spec.unit == Unit::nanoseconds || spec.ratio_of_times) && !spec.higher_is_better;
  switch (verdict) {
    case Verdict::same:
      return "the same";
    case Verdict::faster:
      return time ? "faster" : spec.higher_is_better ? "higher" : "lower";
    case Verdict::slower:
      return time ? "slower" : spec.higher_is_better ? "lower" : "higher";
    case Verdict::unsure:
      break;
  }
  return "cannot tell";
}

std::string response_words(const Spec& spec) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> words{
      {{"wall", "wall time"},
       {"user", "user CPU time"},
       {"system", "system CPU time"},
       {"cpu", "CPU time"},
       {"relative_cpu", "CPU time"},
       {"max_rss", "peak memory"},
       {"main_to_exit", "time from main to exit"},
       {"region", "time in the region"},
       {"code-size", "code"},
       {"compile-time", "CPU time to compile"}}};
  for (const auto& [name, text] : words)
    if (spec.response == name) return std::string(text);
  return spec.response;
}

std::string percent_interval(double low, double high) {
  const int digits = decimals(in_percent(low), low, high);
  return fmt::format("{} to {} %", with_digits(in_percent(low), digits, true),
                     with_digits(in_percent(high), digits, true));
}

std::string percent_change(double ratio, std::optional<double> low, std::optional<double> high) {
  const double change = in_percent(ratio);
  return with_digits(change, decimals(change, low, high), true) + " %";
}

std::string level_name(const Effect& effect, const std::string& level) {
  return effect.treatment + "=" + level;
}

std::string difference_words(const Effect& effect, const Spec& spec) {
  return Differences(effect, spec).with_unit(effect.difference.value_or(0), true);
}

std::string effect_sentence(const Effect& effect, const Spec& spec) {
  const std::string sentence = sentence_of(effect, spec);
  if (sentence.empty() || effect.estimand == stats::Estimand::mean) return sentence;
  return fmt::format("{}; this answer is about {}, not the mean", sentence,
                     effect.estimand == stats::Estimand::median ? "the median" : "a typical run");
}

}  // namespace stab::report
