// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Assumption;
using stats::Property;

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
      return "Equality of variances";
    case Property::independence:
      return "Independence of the trials";
  }
  return "";
}

// "Normality (differences within blocks) is rejected for sort, fft: what does not need it is ...".
std::string failures(const Analysis& analysis, std::size_t width) {
  constexpr std::size_t most = 6;
  std::map<std::pair<Property, std::string>, std::vector<std::string>> groups;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.instead.empty()) continue;
    auto& names = groups[{a.property, a.instead}];
    const std::string label = label_of(analysis, a.subject, model_scope(analysis, a.subject));
    if (std::ranges::find(names, label) == names.end()) names.push_back(label);
  }
  std::string text;
  for (const auto& [what, names] : groups) {
    std::string who;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
      if (!names[i].empty()) who += (who.empty() ? " for " : ", ") + names[i];
    if (names.size() > most) who += fmt::format(" and {} more", names.size() - most);
    text += paragraph("  ",
                      fmt::format("{} is rejected{}. Still valid: {}.", property_words(what.first),
                                  who, what.second),
                      width);
  }
  return text;
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
    std::vector<Cell> row{lone ? Cell{"model", Style::bold}
                               : row_label(analysis, subject, model_scope(analysis, subject))};
    for (const Kind& kind : kinds)
      row.push_back(p_cell(analysis, subject, kind.property, kind.test));
    grid.row(std::move(row));
  }
  std::string tests;
  for (const Assumption& a : analysis.assumptions)
    if (!tests.contains(a.test)) tests += (tests.empty() ? "" : ", ") + a.test;
  const std::string rejected = failures(analysis, options.width);
  return table_section(
             "Assumptions",
             fmt::format(
                 "p of the tests of the model's assumptions ({}). An assumption is rejected if p "
                 "is below {:.4g}; by chance, about 1 in {:.0f} true assumptions is rejected.",
                 tests, analysis.spec.alpha, 1 / analysis.spec.alpha),
             grid, options) +
         rejected + (rejected.empty() ? "" : "\n");
}

}  // namespace stab::report
