// SPDX-License-Identifier: MIT
#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/grid.h"
#include "report/quantity.h"
#include "report/section_words.h"
#include "stats/answer.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Unit;
using stats::Verdict;

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() -= 'a' - 'A';
  return text;
}

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

// A column's own name stays as it is.
std::string response_title(const stats::Spec& spec) {
  const std::string words = one_line(stats::response_words(spec), 60);
  return words == spec.response ? words : capital(words);
}

std::string sd_text(const stats::CellMean& mean) {
  if (!mean.sd || !(mean.mean > 0)) return "";
  const double percent = 100 * *mean.sd / mean.mean;
  return percent < 10 ? fmt::format("{:.2f} %", percent) : fmt::format("{:.3g} %", percent);
}

void add_mean(Grid& grid, const stats::CellMean& mean, const Scale& scale, bool first,
              bool subjects) {
  std::vector<Cell> row;
  if (subjects) row.push_back({first ? name(mean.subject) : "", Style::bold});
  for (const std::string& level : mean.levels) row.push_back({name(level)});
  row.push_back({fmt::format("{}", mean.n)});
  row.push_back({quantity(mean.mean, scale), Style::bold});
  row.push_back(
      {mean.low ? fmt::format("{} to {}", number(*mean.low, scale), quantity(*mean.high, scale))
                : "-"});
  row.push_back({sd_text(mean)});
  grid.row(std::move(row));
}

std::string faster(const Analysis& analysis) {
  return std::string(stats::verdict_word(Verdict::faster, analysis.spec));
}

bool has_family(const Analysis& analysis) {
  return std::ranges::count_if(analysis.effects, [](const Effect& e) { return e.p.has_value(); }) >
         1;
}

// What the words in the verdict column mean.
std::string legend(const Analysis& analysis) {
  const stats::Spec& spec = analysis.spec;
  const char* p = has_family(analysis) ? "adjusted p" : "p";
  std::string text;
  if (spec.equivalence)
    text = fmt::format(
        "same: surely within {:.3g} and {:+.3g} %, the margin of equivalence (two one-sided "
        "tests); ",
        100 * (1 / (1 + *spec.equivalence) - 1), 100 * *spec.equivalence);
  text += fmt::format("{}: below 0 with {} < {:.4g}; {}: above 0; unsure: neither.",
                      stats::verdict_word(Verdict::faster, spec), p, spec.alpha,
                      stats::verdict_word(Verdict::slower, spec));
  if (has_family(analysis))
    text += " Adjusted p holds for all comparisons together, intervals each for its own.";
  return text;
}

void add_effect(Grid& grid, const Analysis& analysis, const Effect& effect,
                const std::string& label, bool subjects) {
  std::vector<Cell> row;
  if (subjects) row.push_back({label, Style::bold});
  row.push_back({name(effect.treatment)});
  row.push_back({name(effect.baseline) + " -> " + name(effect.level)});
  row.push_back({effect.ratio ? stats::percent_change(*effect.ratio, effect.low, effect.high) : "-",
                 Style::bold});
  row.push_back({effect.low ? stats::percent_interval(*effect.low, *effect.high) : "-"});
  row.push_back({effect.p ? p_text(*effect.p) : "-"});
  if (has_family(analysis)) row.push_back({effect.p_adjusted ? p_text(*effect.p_adjusted) : "-"});
  row.push_back({std::string(stats::verdict_word(effect.verdict, analysis.spec)),
                 verdict_style(effect.verdict)});
  grid.row(std::move(row));
}

std::string share_text(const stats::AnovaRow& row) {
  if (!row.eta2) return "";
  if (!row.eta2_low) return fmt::format("{:.3f}", *row.eta2);
  return fmt::format("{:.3f} ({:.2f} to {:.2f})", *row.eta2, *row.eta2_low, *row.eta2_high);
}

std::string df_text(double df) {
  return df == std::floor(df) ? fmt::format("{:.0f}", df) : fmt::format("{:.6g}", df);
}

void add_anova(Grid& grid, const stats::AnovaTable& table, bool strata) {
  std::string last;
  for (const stats::AnovaRow& row : table.rows) {
    const auto optional = [](std::optional<double> x) {
      return x ? short_number(*x) : std::string();
    };
    std::vector<Cell> cells;
    if (strata) cells.push_back({row.stratum == last ? "" : one_line(row.stratum, 60)});
    last = row.stratum;
    cells.push_back({one_line(row.term, 60), row.f ? Style::bold : Style::plain});
    cells.push_back({df_text(row.df)});
    cells.push_back({short_number(row.ss)});
    cells.push_back({optional(row.ms)});
    cells.push_back({optional(row.f)});
    cells.push_back({row.p ? p_text(*row.p) : ""});
    cells.push_back({share_text(row)});
    grid.row(std::move(cells));
  }
}

}  // namespace

std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options) {
  return styled(title, Style::bold, options.colour) + "\n" +
         paragraph("  ", explanation, page_width) + "\n";
}

std::string means_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.means.empty()) return "";
  const stats::Spec& spec = analysis.spec;
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(spec.subject), Align::left);
  for (const std::string& treatment : spec.treatments) grid.column(name(treatment), Align::left);
  grid.column("trials", Align::right);
  grid.column("mean", Align::right);
  grid.column(level_text(spec.alpha) + " interval", Align::right);
  grid.column("sd", Align::right);
  for (auto begin = analysis.means.begin(); begin != analysis.means.end();) {
    const auto end = std::find_if(begin, analysis.means.end(),
                                  [&](const auto& mean) { return mean.subject != begin->subject; });
    const Scale scale = scale_for({begin, end}, spec.unit);
    if (begin != analysis.means.begin() && end - begin > 2) grid.gap();
    for (auto mean = begin; mean != end; ++mean)
      add_mean(grid, *mean, scale, mean == begin, subjects);
    begin = end;
  }
  return heading(response_title(spec),
                 fmt::format("{} means; less is better. sd: standard deviation of the trials, in "
                             "percent of the mean.",
                             spec.log_scale ? "Geometric" : "Arithmetic"),
                 options) +
         grid.render(options.colour) + "\n";
}

std::string effects_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.effects.empty()) return "";
  const stats::Spec& spec = analysis.spec;
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column("change", Align::right);
  grid.column(level_text(spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  if (has_family(analysis)) grid.column("adjusted p", Align::right);
  grid.column("verdict", Align::left);
  std::string last;
  for (const Effect& effect : analysis.effects) {
    const bool suite = effect.scope != stats::Scope::subject;
    const std::string label = label_of(analysis, effect.subject, effect.scope);
    if (suite && label != last) grid.gap();
    add_effect(grid, analysis, effect, label == last ? "" : label, subjects);
    last = label;
  }
  return heading(
             "Changes",
             fmt::format("Change of {} from a treatment's first level to another; negative is {}.",
                         one_line(stats::response_words(spec), 60), faster(analysis)),
             options) +
         grid.render(options.colour) + "\n" + paragraph("  ", legend(analysis), page_width) + "\n";
}

std::string components_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.components.empty()) return "";
  const bool subjects = has_subjects(analysis);
  const bool log_scale = analysis.spec.log_scale;
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("sd between seeds", Align::right);
  grid.column("sd between runs of a seed", Align::right);
  grid.column("seeds' share of the variance", Align::right);
  grid.column("p", Align::right);
  const auto sd = [&](std::optional<double> variance) {
    if (!variance) return std::string("-");
    return log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(*variance))
                     : short_number(std::sqrt(*variance));
  };
  const auto range = [&](std::optional<double> low, std::optional<double> high) {
    return low && high ? fmt::format(" ({} to {})", sd(low), sd(high)) : std::string();
  };
  for (const stats::VarianceComponents& c : analysis.components) {
    std::vector<Cell> row;
    if (subjects) row.push_back({name(c.subject), Style::bold});
    row.push_back({sd(c.between) + range(c.between_low, c.between_high)});
    row.push_back({sd(c.within) + range(c.within_low, c.within_high)});
    const bool share = c.between && c.within && *c.between + *c.within > 0;
    row.push_back(
        {share ? fmt::format("{:.0f} %", 100 * *c.between / (*c.between + *c.within)) : "-"});
    row.push_back({c.p ? p_text(*c.p) : "-"});
    grid.row(std::move(row));
  }
  return heading("Where the variance comes from",
                 fmt::format("What the random factor {} explains, within a level of the "
                             "treatments. p: of \"it does not "
                             "matter which seed\".",
                             name(analysis.spec.seed)),
                 options) +
         grid.render(options.colour) + "\n";
}

std::string anova_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.tables.empty()) return "";
  std::string text = heading(
      "Analysis of variance",
      "A term is tested against the Residuals of its own stratum; F is the ratio of the two mean "
      "squares. A small p says that the term matters. Partial eta2 is its share of its own and the "
      "error's sum of squares, with an interval that excludes 0 where p is below alpha.",
      options);
  for (const stats::AnovaTable& table : analysis.tables) {
    const bool strata =
        std::ranges::any_of(table.rows, [](const auto& row) { return !row.stratum.empty(); });
    const std::string label = label_of(analysis, table.subject, table.scope);
    const std::string who = label.empty() ? "" : label + ": ";
    text += "  " + styled(who + one_line(table.formula, 200), Style::bold, options.colour) + "\n";
    Grid grid;
    if (strata) grid.column("stratum", Align::left);
    grid.column("term", Align::left);
    for (const char* header : {"df", "sum of squares", "mean square", "F", "p", "partial eta2"})
      grid.column(header, Align::right);
    add_anova(grid, table, strata);
    text += grid.render(options.colour) + "\n";
  }
  return text;
}

}  // namespace stab::report
