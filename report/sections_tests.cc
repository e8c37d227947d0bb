// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "report/grid.h"
#include "report/quantity.h"
#include "report/section_words.h"
#include "report/sections.h"
#include "stats/answer.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Assumption;
using stats::Property;

// Assumptions and variances of a suite are those of the model of subjects like these.
std::string subject_label(const Analysis& analysis, const std::string& subject) {
  const bool suite = subject.empty() && analysis.suite > 0;
  return label_of(analysis, subject, suite ? stats::Scope::like_these : stats::Scope::subject);
}

// The subjects of the assumptions, in their order.
std::vector<std::string> subjects_of(const Analysis& analysis) {
  std::vector<std::string> result;
  for (const Assumption& a : analysis.assumptions)
    if (std::ranges::find(result, a.subject) == result.end()) result.push_back(a.subject);
  return result;
}

// "0.31", several as "0.31, 0.02", many as "3 of 36 below 0.05".
Cell p_cell(const Analysis& analysis, const std::string& subject, Property property,
            const std::string& test) {
  constexpr std::size_t most = 3;
  std::vector<const Assumption*> found;
  for (const Assumption& a : analysis.assumptions)
    if (a.subject == subject && a.property == property && (test.empty() || a.test == test))
      found.push_back(&a);
  if (found.empty()) return {"-"};
  const auto failed = std::ranges::count_if(found, [](const auto* a) { return !a->holds; });
  const Style style = failed > 0 ? Style::warning : Style::plain;
  if (found.size() > most)
    return {fmt::format("{} of {} below {:.4g}", failed, found.size(), analysis.spec.alpha), style};
  std::string text;
  for (const Assumption* a : found) text += (text.empty() ? "" : ", ") + p_text(a->p);
  return {text, style};
}

std::string property_words(Property property) {
  switch (property) {
    case Property::normality:
      return "Normality";
    case Property::equal_variances:
      return "That variances are equal";
    case Property::independence:
      return "Independence of the trials";
  }
  return "";
}

// "Normality (differences within blocks) is rejected for sort, fft: what does not need it is ...".
std::string failures(const Analysis& analysis) {
  constexpr std::size_t most = 6;
  std::map<std::pair<Property, std::string>, std::vector<std::string>> groups;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.instead.empty()) continue;
    auto& names = groups[{a.property, a.instead}];
    const std::string label = subject_label(analysis, a.subject);
    if (std::ranges::find(names, label) == names.end()) names.push_back(label);
  }
  std::string text;
  for (const auto& [what, names] : groups) {
    std::string who;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
      if (!names[i].empty()) who += (who.empty() ? " for " : ", ") + names[i];
    if (names.size() > most) who += fmt::format(" and {} more", names.size() - most);
    text += paragraph("  ",
                      fmt::format("{} is rejected{}. What holds without it: {}.",
                                  property_words(what.first), who, what.second),
                      page_width);
  }
  return text;
}

bool fails(const Analysis& analysis, const std::string& subject) {
  return std::ranges::any_of(analysis.assumptions, [&](const Assumption& a) {
    return a.subject == subject && !a.holds && !a.instead.empty();
  });
}

std::string change(std::optional<double> ratio, std::optional<double> low,
                   std::optional<double> high) {
  return ratio ? stats::percent_change(*ratio, low, high) : "-";
}

std::string interval(std::optional<double> low, std::optional<double> high) {
  return low && high ? stats::percent_interval(*low, *high) : "-";
}

// The unit of the subject's means (the suite: of all), the digits that the difference deserves.
Scale scale_of(const Analysis& analysis, const stats::Interaction& each) {
  std::vector<stats::CellMean> means{{.mean = 0, .low = each.low, .high = each.high}};
  std::ranges::copy_if(analysis.means, std::back_inserter(means), [&](const auto& mean) {
    return each.subject.empty() || mean.subject == each.subject;
  });
  return scale_for(means, analysis.spec.unit);
}

std::string difference(std::optional<double> value, const Scale& scale) {
  return value ? (*value > 0 ? "+" : "") + quantity(*value, scale) : "-";
}

std::string range(std::optional<double> low, std::optional<double> high, const Scale& scale) {
  if (!low || !high) return "-";
  const auto sign = [](double x) { return x > 0 ? "+" : ""; };
  return fmt::format("{}{} to {}{}", sign(*low), number(*low, scale), sign(*high),
                     quantity(*high, scale));
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

// Two digits of the interval's half width, but three of the ratio at least.
std::string ratio_text(double ratio, const stats::Spread& spread) {
  const double half = (spread.high - spread.low) / 2;
  if (!(half > 0) || half > ratio / 10) return fmt::format("{:.3g}", ratio);
  return fmt::format("{:.{}f}", ratio,
                     std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6));
}

void add_spread(Grid& grid, const Analysis& analysis, bool subjects, const std::string& subject,
                const std::string& treatment, const std::string& levels,
                const stats::Spread& spread) {
  std::vector<Cell> row;
  if (subjects) row.push_back({subject_label(analysis, subject), Style::bold});
  row.push_back({name(treatment)});
  row.push_back({levels});
  row.push_back({ratio_text(spread.ratio, spread), Style::bold});
  row.push_back(
      {fmt::format("{} to {}", ratio_text(spread.low, spread), ratio_text(spread.high, spread))});
  row.push_back({p_text(spread.p)});
  grid.row(std::move(row));
}

}  // namespace

std::string assumptions_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.assumptions.empty()) return "";
  struct Kind {
    Property property;
    std::string test;
    std::string title;
  };
  std::vector<Kind> kinds{{Property::normality, "", "normality"},
                          {Property::equal_variances, "", "equal variances"},
                          {Property::independence, "lag-1 autocorrelation", "autocorrelation"},
                          {Property::independence, "runs", "runs"}};
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::ranges::none_of(analysis.assumptions, [&](const Assumption& a) {
      return a.property == kind.property && (kind.test.empty() || a.test == kind.test);
    });
  });
  Grid grid;
  grid.column(has_subjects(analysis) ? name(analysis.spec.subject) : "", Align::left);
  for (const Kind& kind : kinds) grid.column(kind.title, Align::right);
  for (const std::string& subject : subjects_of(analysis)) {
    const bool lone = subject.empty() && analysis.suite == 0;
    std::vector<Cell> row{{lone ? "model" : subject_label(analysis, subject), Style::bold}};
    for (const Kind& kind : kinds)
      row.push_back(p_cell(analysis, subject, kind.property, kind.test));
    grid.row(std::move(row));
  }
  std::string tests;
  for (const Assumption& a : analysis.assumptions)
    if (!tests.contains(a.test)) tests += (tests.empty() ? "" : ", ") + a.test;
  const std::string rejected = failures(analysis);
  return heading("Assumptions",
                 fmt::format(
                     "p of tests of what the model assumes ({}). Below {:.4g} it does not hold; "
                     "of {:.0f} that do hold about one comes out so by chance.",
                     tests, analysis.spec.alpha, 1 / analysis.spec.alpha),
                 options) +
         grid.render(options.colour) + "\n" + rejected + (rejected.empty() ? "" : "\n");
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
    std::vector<Cell> first;
    if (subjects) first.push_back({label_of(analysis, effect.subject, effect.scope), Style::bold});
    first.push_back({name(effect.treatment)});
    first.push_back({name(effect.baseline) + " -> " + name(effect.level)});
    add_row(grid, first, false, effect.method + " (above)",
            change(effect.ratio, effect.low, effect.high), interval(effect.low, effect.high),
            *effect.p);
    for (const stats::Alternative& other : effect.alternatives)
      add_row(grid, first, true, other.method, change(other.ratio, other.low, other.high),
              interval(other.low, other.high), other.p);
  }
  if (!any) return "";
  return heading("Where an assumption does not hold",
                 "The same comparisons by tests that need less. They stand beside the result; the "
                 "verdict does not change to the one that suits.",
                 options) +
         grid.render(options.colour) + "\n";
}

std::string spread_section(const Analysis& analysis, const TextOptions& options) {
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column("variance ratio", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  bool any = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (!effect.spread) continue;
    any = true;
    add_spread(grid, analysis, subjects, effect.subject, effect.treatment,
               name(effect.baseline) + " -> " + name(effect.level), *effect.spread);
  }
  for (const stats::Interaction& each : analysis.interactions) {
    if (!each.spread) continue;
    any = true;
    add_spread(grid, analysis, subjects, each.subject, each.term, "(interaction)", *each.spread);
  }
  if (!any) return "";
  const bool nested = analysis.spec.design == stats::Design::nested;
  return heading("Changes of the variance",
                 fmt::format("Variance of {} within a cell at the one level, as a multiple of that "
                             "at the other; 1 is no change.",
                             nested ? "the means of seeds" : "the trials"),
                 options) +
         grid.render(options.colour) + "\n";
}

std::string interactions_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.interactions.empty()) return "";
  const bool subjects = has_subjects(analysis);
  const bool log_scale = analysis.spec.log_scale;
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("interaction", Align::left);
  grid.column(log_scale ? "change" : "difference", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  for (const stats::Interaction& each : analysis.interactions) {
    const Scale scale = scale_of(analysis, each);
    std::vector<Cell> row;
    if (subjects) row.push_back({label_of(analysis, each.subject, each.scope), Style::bold});
    row.push_back({one_line(each.term, 60)});
    row.push_back(
        {log_scale ? change(each.ratio, each.low, each.high) : difference(each.difference, scale),
         Style::bold});
    row.push_back({log_scale ? interval(each.low, each.high) : range(each.low, each.high, scale)});
    row.push_back({each.p ? p_text(*each.p) : "-"});
    grid.row(std::move(row));
  }
  return heading("Interactions",
                 log_scale
                     ? "How much one treatment's change differs between the levels of the other; "
                       "0 % is no interaction."
                     : "How much one treatment's difference differs between the levels of the "
                       "other; 0 is no interaction.",
                 options) +
         grid.render(options.colour) + "\n";
}

}  // namespace stab::report
