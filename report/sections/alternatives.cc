// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/changes.h"
#include "report/words/grid.h"
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

void add_row(Grid& grid, std::vector<Cell> first, bool skip_first, const std::string& method,
             const std::string& size, const std::string& range, double p) {
  if (skip_first)
    for (Cell& cell : first) cell.text.clear();
  first.push_back({method});
  first.push_back({size, Style::bold});
  first.push_back({range});
  first.push_back({p_text(p)});
  grid.row(std::move(first));
}

}  // namespace

std::string typical_section(const Analysis& analysis, const TextOptions& options) {
  constexpr std::size_t most = 12;  // in a short report
  const auto has = [&](const stats::Effect& effect) {
    return effect.averages.size() > 1 &&
           (options.full || effect.scope == stats::deciding_scope(analysis));
  };
  const auto count = std::ranges::count_if(analysis.effects, has);
  if (count == 0 || (!options.full && static_cast<std::size_t>(count) > most)) return "";
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column("average", Align::left);
  grid.column("change", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  for (const stats::Effect& effect : analysis.effects) {
    if (!has(effect)) continue;
    std::vector<Cell> row;
    if (subjects) row.push_back({row_label(analysis, effect.subject, effect.scope)});
    row.push_back({name(effect.treatment)});
    row.push_back({name(effect.baseline) + " -> " + name(effect.level)});
    bool skip = false;
    for (const stats::Alternative& other : effect.averages) {
      if (other.method == stats::estimand_name(effect.estimand)) continue;
      const std::string method = other.method == "typical" ? "typical run" : other.method;
      add_row(grid, row, std::exchange(skip, true), method,
              change_text(other.ratio, other.low, other.high), interval_text(other.low, other.high),
              other.p);
    }
  }
  constexpr std::string_view explained =
      "The average for a typical run leaves out the lowest and the highest fifth of the values, so "
      "it shows what most runs do, no matter what a few exceptional runs do. Half of the values "
      "lie above the median.";
  // If the requested average is not known, the numbers above are about the mean.
  switch (std::ranges::find_if(analysis.effects, has)->estimand) {
    case stats::Estimand::mean:
      return table_section(
          "A typical run and the median",
          fmt::format("{} The verdict is about the mean, not about these two.", explained), grid,
          options);
    case stats::Estimand::typical:
      return table_section(
          "The mean and the median",
          "The verdicts above are about a typical run. The mean includes outliers. "
          "Half of the values lie above the median.",
          grid, options);
    case stats::Estimand::median:
      break;
  }
  return table_section("The mean and a typical run",
                       fmt::format("The verdicts above are about the median. {} The mean includes "
                                   "outliers.",
                                   explained),
                       grid, options);
}

std::string randomization_section(const Analysis& analysis, const TextOptions& options) {
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  grid.column("orders", Align::right);
  grid.column("skewness", Align::right);
  grid.column("correlation", Align::right);
  grid.column("farthest", Align::left);
  grid.column("without it", Align::right);
  std::uint64_t seed = 0;
  bool any = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (!effect.randomization) continue;
    any = true;
    const stats::Randomization& test = *effect.randomization;
    seed = test.seed;
    std::vector<Cell> row;
    if (subjects) row.push_back({row_label(analysis, effect.subject, effect.scope)});
    row.push_back({name(effect.treatment)});
    row.push_back({name(effect.baseline) + " -> " + name(effect.level)});
    row.push_back({interval_text(test.low, test.high)});
    row.push_back({p_text(test.p)});
    row.push_back({fmt::format("{}{}", test.all ? "all " : "", test.draws)});
    row.push_back({test.skewness ? fmt::format("{:.2f}", *test.skewness) : ""});
    row.push_back({effect.estimate && effect.estimate->in_time > 0
                       ? fmt::format("{:.2f}", effect.estimate->autocorrelation)
                       : ""});
    row.push_back({test.influential.empty() ? "" : name(test.influential)});
    row.push_back({change_text(test.without, {}, {})});
    grid.row(std::move(row));
  }
  if (!any) return "";
  return table_section(
      "Randomization test",
      fmt::format(
          "p is how often another order would have shown a change as large if the levels made no "
          "difference in any block; it is exact. The interval assumes that the ratio between the "
          "levels is the same in all blocks. A verdict about the mean needs both the randomization "
          "test and the test above. The test tries random orders (seed {}) until more orders could "
          "not change a verdict.",
          seed),
      grid, options);
}

std::string alternatives_section(const Analysis& analysis, const TextOptions& options) {
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column("test", Align::left);
  grid.column("change", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  bool any = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (effect.alternatives.empty() || !effect.p || !fails(analysis, effect.subject)) continue;
    any = true;
    const ChangeWords words = change_words(analysis, effect);
    std::vector<Cell> first;
    if (subjects) first.push_back(row_label(analysis, effect.subject, effect.scope));
    first.push_back({name(effect.treatment)});
    first.push_back({name(effect.baseline) + " -> " + name(effect.level)});
    add_row(grid, first, false, effect.method + " (above)", words.change, words.interval,
            *effect.p);
    for (const stats::Alternative& other : effect.alternatives)
      add_row(grid, first, true, other.method, change_text(other.ratio, other.low, other.high),
              interval_text(other.low, other.high), other.p);
  }
  if (!any) return "";
  return table_section("If an assumption does not hold",
                       "The table repeats the comparisons with tests that need fewer assumptions. "
                       "These tests are for information only and do not change any verdict.",
                       grid, options);
}

}  // namespace stab::report
