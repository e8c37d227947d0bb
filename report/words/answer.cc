// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/words/quantity.h"
#include "stats/data/notes.h"
#include "stats/numbers/distribution.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/foresight.h"

namespace stab::report {
namespace {

using stats::Calibration;
using stats::Spec;

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

}  // namespace

std::string margin_words(double margin) {
  const double size = 100 * margin;
  if (!(size > 0)) return "0 %";
  const int digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 0, 4);
  return fmt::format("{:.{}f} %", size, digits);
}

std::string calibration_answer(const Calibration& calibration, const Spec& spec) {
  const stats::Floor& any = calibration.any;
  std::string text;
  if (any.margin) {
    text = fmt::format("this machine cannot resolve changes below {} in {} ",
                       margin_words(*any.margin), response_words(spec));
    if (any.interval)
      text += fmt::format("({} interval {} to {}) ", percent(1 - spec.alpha),
                          margin_words(any.interval->low), margin_words(any.interval->high));
    text += fmt::format(
        "with {} blocks. This limit is the noise floor: if a program is compared with itself, the "
        "change stays within this limit in {} of the comparisons",
        calibration.blocks, percent(1 - spec.alpha));
  } else if (any.loss_low) {
    text =
        "cannot tell which changes this machine can resolve: trials are missing, and the missing "
        "trials may have differed by any amount (see the notes)";
  } else {
    text =
        "cannot tell which changes this machine can resolve: there are too few comparisons (see "
        "the notes); raise 'design.comparisons' or use more benchmarks";
  }
  if (!any.share) return text;
  return text +
         fmt::format(
             "; {} of {} comparisons came out significant, {} ({} interval {} to {}), where {} is "
             "expected",
             any.significant, any.comparisons,
             percent(static_cast<double>(any.significant) / static_cast<double>(any.comparisons)),
             percent(1 - spec.alpha), percent(any.share->low), percent(any.share->high),
             percent(spec.alpha));
}

// Words for the changes that an experiment could have found.

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
    "to make 'the same' a possible answer, set 'equivalence' (the smallest change that matters)";

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

namespace {

using stats::Analysis;
using stats::is_withheld;
using stats::Programs;
using stats::Scope;
using stats::Verdict;

using Effects = std::vector<const Effect*>;

// The subjects' names. If there are more than four, the first four and the number of the others.
std::string names(const Effects& effects) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(effects.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + effects[i]->subject;
  if (effects.size() > most) text += fmt::format(" and {} more", effects.size() - most);
  return text;
}

// The state by which the answer counts effects: "faster", "not clearly different".
std::string_view state_words(const Effect& effect, const Spec& spec) {
  if (effect.verdict != Verdict::unsure) return verdict_text(effect.verdict, spec);
  // If the verdict is withheld, the effect may still be clearly different.
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
  // Treatments with the same place keep their order.
  std::ranges::sort(groups, {}, [&](const Effects& group) {
    return std::pair(analysis.spec.place_of(group.front()->treatment), group.front());
  });
  return groups;
}

std::string at_each_level(const Analysis& analysis, const stats::Interplay& each) {
  const auto& treatments = analysis.spec.treatments;
  if (treatments.size() != 2 || each.scope != Scope::subject) return "";
  // The sentence changes the treatment that comes first in the answer, at each level of the other
  // treatment.
  const std::size_t changing =
      analysis.spec.place_of(treatments[0]) < analysis.spec.place_of(treatments[1]) ? 0 : 1;
  const std::size_t fixed = 1 - changing;
  std::vector<const stats::CellMean*> cells;
  for (const stats::CellMean& mean : analysis.means)
    if (mean.subject == each.subject && mean.levels.size() == 2) cells.push_back(&mean);
  if (cells.size() != 4) return "";
  const stats::CellMean& first = *cells.front();
  std::string text;
  for (const stats::CellMean* base : cells) {
    if (base->levels[changing] != first.levels[changing] || !(base->mean > 0)) continue;
    for (const stats::CellMean* other : cells) {
      if (other->levels[fixed] != base->levels[fixed] || other == base) continue;
      if (text.empty())
        text = fmt::format("; {} -> {} is ", treatments[changing] + "=" + base->levels[changing],
                           other->levels[changing]);
      else
        text += " and ";
      text += fmt::format("{} at {}={}", percent_change(other->mean / base->mean, {}, {}),
                          treatments[fixed], base->levels[fixed]);
    }
  }
  return text;
}

// "opt and cc"
std::string names_of(const stats::Interplay& each) {
  std::string names = each.term;
  for (std::size_t at = 0; (at = names.find(':', at)) != std::string::npos; at += 5)
    names.replace(at, 1, " and ");
  return names;
}

// "opt and cc interact: ..."
std::string interplay_sentence(const Analysis& analysis, const stats::Interplay& each) {
  const std::string p = (each.family > 1 ? "adjusted " : "") + stats::p_words(each.p_adjusted);
  std::string size = fmt::format(" ({})", p);
  if (each.size != nullptr && each.size->ratio && each.size->low && each.size->high)
    size = fmt::format(": their changes differ by {} ({} interval {}, {})",
                       percent_change(*each.size->ratio, each.size->low, each.size->high),
                       level_text(analysis.spec.alpha),
                       percent_interval(*each.size->low, *each.size->high), p);
  const std::string or_else =
      each.aliases.empty()
          ? ""
          : fmt::format(" (or an effect that looks the same in this design: {})", each.aliases);
  return fmt::format("{}{} interact{}{}, so a change averaged over their levels is misleading{}",
                     each.subject.empty() ? "" : each.subject + ": ", names_of(each), or_else, size,
                     at_each_level(analysis, each));
}

// "opt and cc may interact: ..."
std::string doubtful_sentence(const Spec& spec, const stats::Interplay& each) {
  const std::string doubt =
      each.is_dependent ? fmt::format("there are too few independent {}s to be certain", spec.block)
                        : "missing trials may also explain this result";
  return fmt::format(
      "{}{} may interact ({}{}), but {}. If the treatments interact, a change averaged over their "
      "levels is misleading",
      each.subject.empty() ? "" : each.subject + ": ", names_of(each),
      each.family > 1 ? "adjusted " : "", stats::p_words(each.p_adjusted), doubt);
}

// Sentences about the interactions that matter, in the deciding scope, the certain ones first.
std::vector<std::string> interplay_sentences(const Analysis& analysis) {
  constexpr std::size_t most = 2;
  std::vector<std::string> lines;
  std::size_t more = 0;
  std::size_t more_doubtful = 0;
  const auto add = [&](const stats::Interplay& each, bool doubtful) {
    if (each.scope != deciding_scope(analysis)) return;
    // An interaction that missing trials may have made may have any size.
    if ((!doubtful || each.is_dependent) && !each.matters(analysis.spec)) return;
    if (lines.size() < most)
      lines.push_back(doubtful ? doubtful_sentence(analysis.spec, each)
                               : interplay_sentence(analysis, each));
    else
      ++(doubtful ? more_doubtful : more);
  };
  for (const stats::Interplay& each : stats::interplays(analysis)) add(each, false);
  for (const stats::Interplay& each : stats::doubtful_interplays(analysis)) add(each, true);
  const auto say = [&](std::size_t count, std::string_view which) {
    if (count > 0)
      lines.push_back(fmt::format("and {} more {}interaction{} between treatments (see the notes)",
                                  count, which, count == 1 ? "" : "s"));
  };
  say(more, "");
  say(more_doubtful, "possible ");
  return lines;
}

std::string size_of(const Effect& effect, const Spec& spec) {
  return effect.low || (effect.exact && effect.ratio)
             ? percent_change(*effect.ratio, effect.low, effect.high)
             : difference_words(effect, spec);
}

// Lists the members of a suite that changed, which does not depend on the suite's verdict.
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
      fmt::format("{} of {} comparisons within a single {} found a change: ", changed.size(), all,
                  analysis.spec.subject);
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i)
    text += fmt::format("{}{} at {} ({})", i == 0 ? "" : ", ", changed[i]->subject,
                        level_name(*changed[i], changed[i]->level),
                        size_of(*changed[i], analysis.spec));
  if (changed.size() > most) text += fmt::format(" and {} more", changed.size() - most);
  return text;
}

std::string suite_prefix(const Analysis& analysis, Scope scope) {
  if (analysis.suite == 0) return "";
  return scope == Scope::these
             ? fmt::format("on these {} {}s, ", analysis.suite, analysis.spec.subject)
             : fmt::format("on {}s like these {}, ", analysis.spec.subject, analysis.suite);
}

// The other question about machines, with what few machines mean for it, and the changes that
// differ between machines.
std::vector<std::string> machine_sentences(const Analysis& analysis) {
  std::vector<std::string> lines;
  if (!analysis.spec.machines || analysis.suite == 0) return lines;
  const Scope other = deciding_scope(analysis) == Scope::these ? Scope::like_these : Scope::these;
  constexpr std::size_t most = 3;
  for (const stats::SlowMachine& machine : analysis.slow_machines)
    lines.push_back(
        fmt::format("the analysis leaves out {}, because its values are {:.2g} times as "
                    "{} as the values of the other {}s of the same kind",
                    machine.name, machine.times, analysis.spec.higher_is_better ? "low" : "high",
                    analysis.spec.subject));
  if (!analysis.lacking_machines.empty())
    lines.push_back(
        fmt::format("the means leave out {0}s that lack trials of a level (see the notes): {1}",
                    analysis.spec.subject, fmt::join(analysis.lacking_machines, ", ")));
  std::size_t said = 0;
  for (const Effect& effect : analysis.effects)
    if (effect.scope == other && !is_control(effect, analysis.spec) && ++said <= most)
      lines.push_back(suite_prefix(analysis, other) + effect_sentence(effect, analysis.spec));
  constexpr std::size_t enough = 5;
  const double df = static_cast<double>(analysis.suite) - 1;
  const auto own = stats::t_upper_quantile(analysis.spec.alpha / 2, df);
  const auto many = stats::normal_quantile(1 - analysis.spec.alpha / 2);
  if (analysis.suite < enough && own && many)
    lines.push_back(fmt::format(
        "only {0} {1}s were compared ({2:.0f} degree{3} of freedom), so the interval for {1}s like "
        "these is {4:.2g} times as wide as it would be if the variation between {1}s were known; "
        "use {5} or more {1}s",
        analysis.suite, analysis.spec.subject, df, df == 1 ? "" : "s", *own / *many, enough));
  for (const stats::MachineChange& each : analysis.machine_changes)
    if (each.p_adjusted && *each.p_adjusted < analysis.spec.alpha)
      lines.push_back(fmt::format("the change from {0}={1} to {2} is not the same on all {3}s: {4}",
                                  each.treatment, each.baseline, each.level, analysis.spec.subject,
                                  machines_words(each, analysis.spec)));
  return lines;
}

std::string of_effects(const Analysis& analysis) {
  constexpr std::size_t most_open = 3;
  std::vector<std::string> lines;
  std::vector<std::string> open;
  Effects unsure;
  for (const Effects& effects : answering(analysis)) {
    const bool asked =
        analysis.spec.place_of(effects.front()->treatment) < analysis.spec.asked.size();
    const bool is_counted = !asked && is_open(effects);
    (is_counted ? open : lines).push_back(sentence(effects, analysis.spec));
    if (is_counted) unsure.insert(unsure.end(), effects.begin(), effects.end());
  }
  if (lines.empty() && open.empty())
    return "cannot tell: there is nothing to compare (see the notes); a treatment needs two "
           "levels, each with successful trials";
  if (open.size() > most_open)
    lines.push_back(
        fmt::format("cannot tell whether the levels differ in {}{} comparisons (see the changes){}",
                    analysis.spec.asked.empty() ? "" : "the other ", open.size(),
                    foresight_words(unsure, analysis.spec)));
  else
    lines.insert(lines.end(), open.begin(), open.end());
  lines.front() = suite_prefix(analysis, deciding_scope(analysis)) + lines.front();
  for (std::string& each : interplay_sentences(analysis)) lines.push_back(std::move(each));
  for (std::string& few : few_sentences(deciding_effects(analysis)))
    lines.push_back(std::move(few));
  for (std::string& each : machine_sentences(analysis)) lines.push_back(std::move(each));
  if (analysis.suite > 0)
    if (std::string members = members_that_changed(analysis); !members.empty())
      lines.push_back(std::move(members));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

std::string machines_words(const stats::MachineChange& change, const Spec& spec) {
  const double none = change.ratios ? 1 : 0;
  std::string text;
  for (const bool up : {true, false}) {
    std::vector<double> some;
    std::ranges::copy_if(change.changes, std::back_inserter(some),
                         [&](double each) { return (each >= none) == up; });
    if (some.empty()) continue;
    const auto [low, high] = std::ranges::minmax(some);
    std::string size;
    if (some.size() == 1)
      size = change.ratios ? percent_change(low, {}, {}) : fmt::format("{:+.4g}", low);
    else
      size = change.ratios ? percent_interval(low, high)
                           : fmt::format("{:+.4g} to {:+.4g}", low, high);
    text += fmt::format("{}{} on {}", text.empty() ? "" : " and ", size,
                        count_words(some.size(), spec.subject));
  }
  return change.p ? fmt::format("{} ({})", text, stats::p_words(*change.p)) : text;
}

std::string answer(const Analysis& analysis) {
  if (analysis.calibration) return calibration_answer(*analysis.calibration, analysis.spec);
  const std::string text = of_effects(analysis);
  if (analysis.withheld.empty()) return text;
  return fmt::format("no verdict: {}\n{}", analysis.withheld, text);
}

// The sentence about one effect, and the words in it.

namespace {

using stats::p_words;
using stats::Unit;

double in_percent(double ratio) {
  return 100 * (ratio - 1);
}

int order_of(double size) {
  return static_cast<int>(std::floor(std::log10(size)));
}

// The largest number of decimals that says something about a change of this size. Changes of counts
// may be tiny, but smaller ones are only rounding errors.
int most_decimals(double largest) {
  constexpr int usual = 4;
  constexpr double smallest = 1e-9;
  return largest >= smallest ? std::max(usual, 2 - order_of(largest)) : usual;
}

// Shows two digits of the interval's half width, or three digits of the number if there is no
// interval.
int decimals(double value, std::optional<double> low, std::optional<double> high) {
  double size = std::abs(value) / 10;
  double largest = std::abs(value);
  if (low && high && *high > *low) {
    size = (in_percent(*high) - in_percent(*low)) / 2;
    largest = std::max({largest, std::abs(in_percent(*low)), std::abs(in_percent(*high))});
  }
  if (!(size > 0)) return 1;
  return std::clamp(1 - order_of(size), 0, most_decimals(largest));
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
    return sign ? fmt::format("{:+.{}g}", value / step_.factor, most_digits)
                : fmt::format("{:.{}g}", value / step_.factor, most_digits);
  }
  // "1.084 to 2.866 ms"
  [[nodiscard]] std::string range(double low, double high, bool sign) const {
    const auto [first, second] =
        rounded_ends(low / step_.factor, high / step_.factor, most_digits, sign);
    return first + " to " + second + unit();
  }
  [[nodiscard]] std::string with_unit(double value, bool sign) const {
    return number(value, sign) + unit();
  }

 private:
  static constexpr int most_digits = 4;
  [[nodiscard]] std::string unit() const {
    return (*step_.name == 0 ? "" : " ") + std::string(step_.name);
  }

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
  const std::string direction = less ? less_of(response_words(spec)) : "more";
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
        "; this comparison alone would count as the same within {:.4g} %, but not after the "
        "correction "
        "for all comparisons (adjusted {})",
        100 * *spec.equivalence, p_words(*effect.p_same_adjusted));
  if (excludes_none(effect) && effect.p_adjusted)
    text += fmt::format(
        "; this comparison alone would count as a change, but not after the correction for all "
        "comparisons (adjusted {})",
        p_words(*effect.p_adjusted));
  return text;
}

std::string unsure_words(const Effect& effect, const Spec& spec) {
  const std::string level = level_name(effect, effect.level);
  const std::string baseline = level_name(effect, effect.baseline);
  const std::string question =
      stats::is_withheld(effect)
          ? fmt::format("no verdict on {} against {}", level, baseline)
          : fmt::format("cannot tell whether {} {} more or {} {} than {}", level, verb(spec),
                        less_of(response_words(spec)), response_words(spec), baseline);
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

// The tests of 'the same' use a shorter interval, so the other one may reach beyond the margin.
std::string shorter_interval(const Effect& effect, const Spec& spec) {
  const double most = 1 + spec.equivalence.value_or(0);
  const bool is_within = *effect.low >= 1 / most && *effect.high <= most;
  if (is_within || !effect.tost_low || !effect.tost_high || !correction_words(effect, spec).empty())
    return "";
  return fmt::format("; the verdict uses the {} interval, {}", level_text(2 * spec.alpha),
                     percent_interval(*effect.tost_low, *effect.tost_high));
}

std::string same_words(const Effect& effect, const Spec& spec) {
  std::string text =
      fmt::format("{} and {} are the same within {:.4g} %", level_name(effect, effect.level),
                  level_name(effect, effect.baseline), 100 * spec.equivalence.value_or(0));
  if (effect.low && effect.high)
    text += fmt::format(": the change in {} is {} ({} interval{})", response_words(spec),
                        percent_interval(*effect.low, *effect.high), level_text(spec.alpha),
                        shorter_interval(effect, spec));
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

std::string value_words(const Spec& spec) {
  return spec.ratio_of_times ? "relative CPU" : response_words(spec);
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
