// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/changes.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Assumption;

bool fails(const Analysis& analysis, const std::string& subject) {
  return std::ranges::any_of(analysis.assumptions, [&](const Assumption& a) {
    return a.subject == subject && !a.holds && !a.instead.empty();
  });
}

// The cells that name a row's comparison. They are empty in further rows about the same comparison
// (`follows`).
Row comparison_fields(const Analysis& analysis, const stats::Effect& effect, bool follows = false) {
  Row row{subject_column(analysis, effect.subject, effect.scope),
          shown_only("treatment", effect.treatment).named(longest_name),
          shown_only("from -> to", name(effect.baseline) + " -> " + name(effect.level)).left()};
  if (follows)
    for (Field& field : row) field.text.clear();
  return row;
}

void add_method(Row& row, const Analysis& analysis, const char* heading, const std::string& method,
                const std::string& change, const std::string& interval, double p) {
  row.push_back(shown_only(heading, method).left());
  row.push_back(shown_only("change", change).in(Style::bold));
  row.push_back(shown_only(level_text(analysis.spec.alpha) + " interval", interval));
  row.push_back(shown_only("p", p_text(p)));
}

Row other_row(const Analysis& analysis, const stats::Effect& effect, const char* heading,
              const std::string& method, const stats::Alternative& other, bool follows) {
  Row row = comparison_fields(analysis, effect, follows);
  add_method(row, analysis, heading, method, change_text(other.ratio, other.low, other.high),
             interval_text(other.low, other.high), other.p);
  return row;
}

}  // namespace

Section typical_section(const Analysis& analysis, bool full) {
  constexpr std::size_t most = 12;  // a short report leaves the section out if there are more
  const auto has = [&](const stats::Effect& effect) {
    return effect.averages.size() > 1 && (full || effect.scope == stats::deciding_scope(analysis));
  };
  const auto count = std::ranges::count_if(analysis.effects, has);
  if (count == 0 || (!full && static_cast<std::size_t>(count) > most)) return {};
  Part part;
  for (const stats::Effect& effect : analysis.effects) {
    if (!has(effect)) continue;
    bool follows = false;
    for (const stats::Alternative& other : effect.averages)
      if (other.method != stats::estimand_name(effect.estimand))
        part.rows.push_back(other_row(analysis, effect, "average",
                                      other.method == "typical" ? "typical run" : other.method,
                                      other, std::exchange(follows, true)));
  }
  constexpr std::string_view explained =
      "The average for a typical run leaves out the lowest and the highest fifth of the values, so "
      "it shows what most runs do, no matter what a few exceptional runs do. Half of the values "
      "lie above the median.";
  Section section{.parts = {std::move(part)}};
  // If the requested average is not known, the numbers above are about the mean.
  switch (std::ranges::find_if(analysis.effects, has)->estimand) {
    case stats::Estimand::mean:
      section.title = "A typical run and the median";
      section.words =
          fmt::format("{} The verdict is about the mean, not about these two.", explained);
      break;
    case stats::Estimand::typical:
      section.title = "The mean and the median";
      section.words =
          "The verdicts above are about a typical run. The mean includes outliers. Half of the "
          "values lie above the median.";
      break;
    case stats::Estimand::median:
      section.title = "The mean and a typical run";
      section.words = fmt::format(
          "The verdicts above are about the median. {} The mean includes outliers.", explained);
      break;
  }
  return section;
}

Section randomization_section(const Analysis& analysis) {
  Part part;
  std::uint64_t seed = 0;
  for (const stats::Effect& effect : analysis.effects) {
    if (!effect.randomization) continue;
    const stats::Randomization& test = *effect.randomization;
    seed = test.seed;
    Row& row = part.rows.emplace_back(comparison_fields(analysis, effect));
    const bool is_in_time = effect.estimate && effect.estimate->in_time > 0;
    for (Field& field :
         Row{shown_only(level_text(analysis.spec.alpha) + " interval",
                        interval_text(test.low, test.high)),
             shown_only("p", p_text(test.p)),
             shown_only("orders", fmt::format("{}{}", test.all ? "all " : "", test.draws)),
             shown_only("skewness", test.skewness ? fmt::format("{:.2f}", *test.skewness) : ""),
             shown_only("correlation",
                        is_in_time ? fmt::format("{:.2f}", effect.estimate->autocorrelation) : ""),
             shown_only("farthest", test.influential).named(longest_name),
             shown_only("without it", change_text(test.without, {}, {}))})
      row.push_back(std::move(field));
  }
  if (part.rows.empty()) return {};
  return {
      .title = "Randomization test",
      .words = fmt::format(
          "p is how often another order would have shown a change as large if the levels made no "
          "difference in any block; it is exact. The interval assumes that the ratio between the "
          "levels is the same in all blocks. A verdict about the mean needs both the randomization "
          "test and the test above. The test tries random orders (seed {}) until more orders could "
          "not change a verdict.",
          seed),
      .parts = {std::move(part)}};
}

Section alternatives_section(const Analysis& analysis) {
  Part part;
  for (const stats::Effect& effect : analysis.effects) {
    if (effect.alternatives.empty() || !effect.p || !fails(analysis, effect.subject)) continue;
    const ChangeWords words = change_words(analysis, effect);
    add_method(part.rows.emplace_back(comparison_fields(analysis, effect)), analysis, "test",
               effect.method + " (above)", words.change, words.interval, *effect.p);
    for (const stats::Alternative& other : effect.alternatives)
      part.rows.push_back(other_row(analysis, effect, "test", other.method, other, true));
  }
  if (part.rows.empty()) return {};
  return {.title = "If an assumption does not hold",
          .words =
              "The table repeats the comparisons with tests that need fewer assumptions. "
              "These tests are for information only and do not change any verdict.",
          .parts = {std::move(part)}};
}

}  // namespace stab::report
