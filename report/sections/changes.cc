// SPDX-License-Identifier: MIT
// The changes between levels: of the first response, under each seed of a padding study, and of
// further responses.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/numbers/summary.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Scope;
using stats::Verdict;
using Effects = std::vector<const Effect*>;

// The most comparisons of single subjects in a short report.
constexpr std::size_t most_rows = 24;
constexpr std::size_t widest_picture = 31;

Effects of_scope(const Analysis& analysis, Scope scope) {
  Effects result;
  for (const Effect& effect : analysis.effects)
    if (effect.scope == scope) result.push_back(&effect);
  return result;
}

// The order of scopes: the scope that answers the question, the suite's other scope, single
// subjects.
std::array<Scope, 3> order(const Analysis& analysis) {
  if (stats::deciding_scope(analysis) == Scope::these)
    return {Scope::these, Scope::like_these, Scope::subject};
  return {Scope::like_these, Scope::these, Scope::subject};
}

// Keeps at most `most_rows` effects. If there are more, effects without a verdict are left out.
void shorten(Effects& effects) {
  if (effects.size() <= most_rows) return;
  std::erase_if(effects, [](const Effect* effect) { return effect->verdict == Verdict::unsure; });
  if (effects.size() > most_rows) effects.resize(most_rows);
}

// The interval that decides the verdict; absent if there is no interval in percent.
std::optional<ChangeInterval> drawn(const Analysis& analysis, const Effect& effect) {
  if (!change_words(analysis, effect).ratio) return std::nullopt;
  const auto& low = has_family(analysis) ? effect.low_adjusted : effect.low;
  const auto& high = has_family(analysis) ? effect.high_adjusted : effect.high;
  if (!effect.ratio || !low || !high || std::isnan(*effect.ratio + *low + *high))
    return std::nullopt;
  return ChangeInterval{.low = *low - 1, .value = *effect.ratio - 1, .high = *high - 1};
}

// Adds a column with pictures of the intervals if the page has room for it.
void add_pictures(Grid& grid, const Analysis& analysis, const Effects& rows, std::size_t width) {
  const std::size_t used = grid.width() + 2;
  std::vector<ChangeInterval> all;
  for (const Effect* effect : rows)
    if (const auto interval = effect ? drawn(analysis, *effect) : std::nullopt)
      all.push_back(*interval);
  if (all.empty() || used + IntervalAxis::least_width > width) return;
  const IntervalAxis axis(all, std::min(width - used, widest_picture));
  grid.column(axis.header(), Align::left);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto interval = rows[i] ? drawn(analysis, *rows[i]) : std::nullopt)
      grid.append(i, {axis.draw(*interval)});
}

Row alternative_fields(const stats::Alternative& other) {
  return {json_only("method", other.method), json_only("ratio", known(other.ratio)),
          json_only("low", known(other.low)), json_only("high", known(other.high)),
          json_only("p", other.p)};
}

std::vector<Row> all_fields(const std::vector<stats::Alternative>& others) {
  std::vector<Row> rows;
  for (const stats::Alternative& other : others) rows.push_back(alternative_fields(other));
  return rows;
}

Value randomization_value(const std::optional<stats::Randomization>& test) {
  if (!test) return {};
  return Row{json_only("p", test->p),
             json_only("p_low", test->p_low),
             json_only("p_high", test->p_high),
             json_only("p_adjusted", known(test->p_adjusted)),
             json_only("p_equivalence", known(test->p_same)),
             json_only("p_equivalence_adjusted", known(test->p_same_adjusted)),
             json_only("low", known(test->low)),
             json_only("high", known(test->high)),
             json_only("units", test->units),
             json_only("draws", test->draws),
             json_only("all", test->all),
             json_only("seed", test->seed),
             json_only("skewness", known(test->skewness)),
             json_only("influential", known(test->influential)),
             json_only("without_it", known(test->without))};
}

Value losses_value(const std::optional<stats::Losses>& losses) {
  if (!losses) return {};
  return std::string(*losses == stats::Losses::monotone ? "monotone" : "extremes");
}

// A number about units in the order of time. Absent if the standard error assumes that the units
// are independent.
Value in_time(const Effect& effect, double stats::Estimate::* number) {
  if (!effect.estimate || effect.estimate->in_time == 0) return {};
  return *effect.estimate.*number;
}

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
        " If the interval for one comparison excludes 0 but the verdict is 'cannot tell', the "
        "change would have a verdict if it were the only comparison.";
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
      "the same: the change surely lies within the margin of equivalence, {:.3g} to {:+.3g} % (two "
      "one-sided tests); ",
      100 * (1 / (1 + *spec.equivalence) - 1), 100 * *spec.equivalence);
}

// Explains the verdicts in the table of changes, and why some seem to disagree with the interval
// beside them. `full`: the table also has each comparison's own interval.
std::string changes_legend(const Analysis& analysis, bool full) {
  const stats::Spec& spec = analysis.spec;
  std::string text = same_words(spec);
  text += fmt::format(
      "{0}: the change is below 0 with {1} < {2:.4g}; {3}: the change is above 0 with {1} < "
      "{2:.4g}; cannot tell: all other changes.",
      less_word(spec), has_family(analysis) ? "adjusted p" : "p", spec.alpha, more_word(spec));
  text += family_words(analysis, full);
  if (any(analysis, [](const Effect& effect) { return effect.held_back.has_value(); }))
    text +=
        " Because of the control, a change gets a verdict only if it is larger than every change "
        "in the control's interval. 'The same' is given only if the control's interval lies within "
        "the "
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

std::string explanation(const stats::Spec& spec) {
  return fmt::format(
      "The table shows the change in {} from {} to another level. A negative change means {}; {}.",
      one_line(response_words(spec), 60),
      spec.all_pairs ? "one level of a treatment" : "a treatment's first level", less_word(spec),
      better_words(spec));
}

}  // namespace

Style verdict_style(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return Style::good;
    case Verdict::slower:
      return Style::bad;
    case Verdict::unsure:
      return Style::warning;
    case Verdict::same:
      return Style::plain;
  }
  return Style::plain;
}

Row effect_row(const Analysis& analysis, const Effect& effect, bool full) {
  const stats::Spec& spec = analysis.spec;
  const ChangeWords words = change_words(analysis, effect);
  const auto p = [](std::optional<double> value) { return value ? p_text(*value) : "-"; };
  const bool family = has_family(analysis);
  const bool is_control = stats::is_control(effect, spec);
  const std::string verdict(is_control ? control_verdict : verdict_text(effect.verdict, spec));
  return {
      subject_column(analysis, effect.subject, effect.scope).once(),
      json_only("programs", known(scope_word(effect.scope))),
      shown_only("comparison", fmt::format("{}: {} -> {}", name(effect.treatment),
                                           name(effect.baseline), name(effect.level)))
          .left()
          .on_page_as(fmt::format("{} against {}", level_name(effect, effect.level),
                                  level_name(effect, effect.baseline))),
      json_only("treatment", effect.treatment),
      json_only("baseline", effect.baseline),
      json_only("level", effect.level),
      shown_only("change", words.change).in(Style::bold),
      json_only("ratio", known(effect.ratio)),
      shown_only(level_text(spec.alpha) + " interval", words.interval).on_page(family && !full),
      json_only("low", known(effect.low)),
      json_only("high", known(effect.high)),
      json_only("difference", known(effect.difference)),
      json_only("difference_low", known(effect.difference_low)),
      json_only("difference_high", known(effect.difference_high)),
      json_only("low_adjusted", known(effect.low_adjusted)),
      json_only("high_adjusted", known(effect.high_adjusted)),
      json_only("equivalence_low", known(effect.tost_low)),
      json_only("equivalence_high", known(effect.tost_high)),
      json_only("df", known(effect.df)),
      column("p", known(effect.p), "p", p(effect.p)).on_page(family && !full),
      shown_only("adjusted interval", words.adjusted).on_page(!family),
      column("p_adjusted", known(effect.p_adjusted), "adjusted p", p(effect.p_adjusted))
          .on_page(!family),
      json_only("p_equivalence", known(effect.p_same)),
      json_only("p_equivalence_adjusted", known(effect.p_same_adjusted)),
      json_only("error", effect.method),
      json_only("unit", known(effect.unit)),
      json_only("units", effect.units),
      json_only("detectable", known(effect.detectable)),
      json_only("needed_units", effect.needed ? Value(*effect.needed) : Value()),
      json_only("reason", known(effect.reason)),
      json_only("exact", effect.exact),
      json_only("aliases", known(effect.aliases)),
      json_only("autocorrelation", in_time(effect, &stats::Estimate::autocorrelation)),
      json_only("independent_units", in_time(effect, &stats::Estimate::independent)),
      json_only("estimand", std::string(stats::estimand_name(effect.estimand))),
      json_only("beside", effect.beside ? Value(alternative_fields(*effect.beside)) : Value()),
      json_only("averages", all_fields(effect.averages)),
      json_only("randomization", randomization_value(effect.randomization)),
      json_only("loss_bounds", losses_value(effect.loss_bounds)),
      json_only("loss_low", known(effect.loss_low)),
      json_only("loss_high", known(effect.loss_high)),
      json_only("loss_difference_low", known(effect.loss_difference_low)),
      json_only("loss_difference_high", known(effect.loss_difference_high)),
      json_only("loss_p", known(effect.loss_p)),
      json_only("alternatives", all_fields(effect.alternatives)),
      json_only("variance", spread_value(effect.spread)),
      json_only("control", is_control),
      json_only("control_reach", effect.reach ? known(effect.reach->share) : Value()),
      json_only("held_back",
                effect.held_back ? Value(std::string(verdict_word(*effect.held_back))) : Value()),
      column("verdict", is_control ? Value() : Value(std::string(verdict_word(effect.verdict))),
             "verdict", verdict)
          .left()
          .in(is_control ? Style::plain : verdict_style(effect.verdict))
          .on_page_as(effect.reason.empty() ? "" : verdict + ": " + effect.reason),
  };
}

std::string effects_section(const Analysis& analysis, const TextOptions& options,
                            std::string_view title) {
  if (analysis.effects.empty()) return "";
  Part part;
  Effects rows;  // null: an empty line
  std::size_t hidden = 0;
  for (const Scope scope : order(analysis)) {
    Effects effects = of_scope(analysis, scope);
    hidden += effects.size();
    if (scope == Scope::subject && !options.full) shorten(effects);
    hidden -= effects.size();
    if (effects.empty()) continue;
    if (!rows.empty()) {
      part.rows.emplace_back();
      rows.push_back(nullptr);
    }
    for (const Effect* effect : effects) {
      part.rows.push_back(effect_row(analysis, *effect, options.full));
      drop_json_only(part.rows.back());
      rows.push_back(effect);
    }
  }
  Grid grid = grid_of(part);
  add_pictures(grid, analysis, rows, options.width);
  std::string text = heading(title, explanation(analysis.spec), options);
  text += grid.render(options.colour) + "\n";
  if (hidden > 0)
    text += fmt::format("  and {} more comparisons of a single {}: see --full\n\n", hidden,
                        name(analysis.spec.subject));
  return text + paragraph("  ", changes_legend(analysis, options.full), options.width) + "\n";
}

// The change under each seed of a padding study.

namespace {

std::string change(double percent) {
  return fmt::format("{:+.2f} %", percent);
}

}  // namespace

std::vector<Row> seed_rows(const stats::PaddingSeeds& study) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(study.seeds.size(), study.percent.size()); ++i)
    rows.push_back({column("seed", study.seeds[i], "seed", study.seeds[i]).left(),
                    column("percent", study.percent[i], "change", change(study.percent[i]))});
  return rows;
}

Section padding_section(const stats::Analysis& analysis) {
  if (analysis.padding.empty()) return {};
  Part part;
  for (const stats::PaddingSeeds& study : analysis.padding) {
    const stats::Moments percent = stats::moments(study.percent);
    part.rows.push_back({
        subject_column(analysis, study.subject, stats::Scope::subject),
        json_only("treatment", study.treatment),
        json_only("baseline", study.baseline),
        json_only("level", study.level),
        json_only("factor", analysis.spec.seed),
        json_only("seeds", seed_rows(study)),
        shown_only("from -> to", name(study.baseline) + " -> " + name(study.level)).left(),
        shown_only("seeds", fmt::format("{}", study.percent.size())),
        shown_only("mean change", change(percent.mean)).in(Style::bold),
        shown_only("sd of the seeds",
                   fmt::format("{:.2f} %", std::sqrt(percent.variance().value_or(0)))),
        shown_only("smallest", change(std::ranges::min(study.percent))),
        shown_only("largest", change(std::ranges::max(study.percent))),
    });
  }
  return {
      .title = "Padding study",
      .words = fmt::format(
          "The table shows how much the mean changes under each seed of {}, in percent; both "
          "levels use the same seeds. Each seed counts as one value, no matter how many runs it "
          "has. With a single seed, you could have measured the smallest or the largest of these "
          "changes.",
          name(analysis.spec.seed)),
      .parts = {std::move(part)}};
}

namespace {

bool is_time(const Analysis& analysis) {
  return analysis.spec.unit == stats::Unit::nanoseconds || analysis.spec.ratio_of_times;
}

// Whether one of the two is faster and the other one is slower.
bool are_opposed(const Effect& a, const Effect& b) {
  return (a.verdict == Verdict::faster && b.verdict == Verdict::slower) ||
         (a.verdict == Verdict::slower && b.verdict == Verdict::faster);
}

void add_disagreements(const Analysis& time, const Analysis& count,
                       std::vector<std::string>& sentences) {
  for (const Effect& of_time : time.effects) {
    const auto of_count = std::ranges::find_if(
        count.effects, [&](const Effect& each) { return is_same_comparison(each, of_time); });
    if (of_count == count.effects.end() || !are_opposed(of_time, *of_count)) continue;
    const std::string where =
        has_subjects(time) ? label_of(time, of_time.subject, of_time.scope) + ", " : "";
    sentences.push_back(fmt::format(
        "{}{}, from {} to {}: the change of {} is {}, but the change of {} is {}. So the time and "
        "the count disagree about which level is better.",
        where, name(of_time.treatment), name(of_time.baseline), name(of_time.level),
        name(time.spec.response), change_words(time, of_time).change, name(count.spec.response),
        change_words(count, *of_count).change));
  }
}

// The notes about a further response that the first response does not have.
std::string own_notes(const Analysis& other, const Analysis& first, std::size_t width) {
  std::string text;
  for (const std::string& note : other.notes)
    if (std::ranges::find(first.notes, note) == first.notes.end())
      text += paragraph("  - ", one_line(note, longest), width);
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::vector<std::string> disagreements(const Document& document) {
  std::vector<const Analysis*> all{&document.analysis};
  for (const Analysis& other : document.others) all.push_back(&other);
  std::vector<std::string> sentences;
  for (const Analysis* time : all)
    for (const Analysis* count : all)
      if (is_time(*time) && document.counts.contains(count->spec.response))
        add_disagreements(*time, *count, sentences);
  return sentences;
}

std::string responses_section(const Document& document, const TextOptions& options) {
  std::string text;
  for (const Analysis& other : document.others) {
    const std::string table =
        effects_section(other, options, "Changes of " + name(other.spec.response));
    text += table.empty() ? heading("Changes of " + name(other.spec.response),
                                    "There is nothing to compare.", options) +
                                "\n"
                          : table;
    text += own_notes(other, document.analysis, options.width);
  }
  if (!document.others.empty())
    text +=
        paragraph("",
                  "The p-values and intervals of each response are corrected for the comparisons "
                  "of this response, but not for the comparisons of other responses. " +
                      name(document.analysis.spec.response) + " decides.",
                  options.width) +
        "\n";
  const auto opposed = disagreements(document);
  if (opposed.empty()) return text;
  text += styled("Times and counts disagree", Style::bold, options.colour) + "\n";
  for (const std::string& sentence : opposed)
    text += paragraph("  - ", one_line(sentence, longest), options.width);
  return text +
         paragraph("  ", "doc/statistics.md explains when to trust times and when to trust counts.",
                   options.width) +
         "\n";
}

}  // namespace stab::report
