// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Assumption;
using stats::Property;

// The subjects of the assumptions, in the order of the assumptions.
std::vector<std::string> subjects_of(const Analysis& analysis) {
  std::vector<std::string> result;
  for (const Assumption& a : analysis.assumptions)
    if (std::ranges::find(result, a.subject) == result.end()) result.push_back(a.subject);
  return result;
}

// A column of the table: all tests of a property, or a single test.
struct Kind {
  Property property;
  std::string test;  // "": all
  std::string heading;

  [[nodiscard]] bool is_of(const Assumption& each) const {
    return each.property == property && (test.empty() || each.test == test);
  }
};

// "0.31", or for several tests "0.31, 0.02", or for many tests "3 of 36 below 0.05".
Field p_field(const Analysis& analysis, const std::string& subject, const Kind& kind) {
  constexpr std::size_t most = 3;
  std::vector<const Assumption*> found;
  for (const Assumption& a : analysis.assumptions)
    if (a.subject == subject && kind.is_of(a)) found.push_back(&a);
  if (found.empty()) return shown_only(kind.heading, "-");
  const auto failed = std::ranges::count_if(found, [](const auto* a) { return !a->holds; });
  std::string text;
  if (found.size() > most)
    text = fmt::format("{} of {} below {:.4g}", failed, found.size(), analysis.spec.alpha);
  else
    for (const Assumption* a : found) text += (text.empty() ? "" : ", ") + p_text(a->p);
  return shown_only(kind.heading, text).in(failed > 0 ? Style::warning : Style::plain);
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
std::vector<std::string> failures(const Analysis& analysis) {
  constexpr std::size_t most = 6;
  std::map<std::pair<Property, std::string>, std::vector<std::string>> groups;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.instead.empty()) continue;
    auto& names = groups[{a.property, a.instead}];
    const std::string label = label_of(analysis, a.subject, model_scope(analysis, a.subject));
    if (std::ranges::find(names, label) == names.end()) names.push_back(label);
  }
  std::vector<std::string> sentences;
  for (const auto& [what, names] : groups) {
    std::string who;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
      if (!names[i].empty()) who += (who.empty() ? " for " : ", ") + names[i];
    if (names.size() > most) who += fmt::format(" and {} more", names.size() - most);
    sentences.push_back(fmt::format("{} is rejected{}. Still valid: {}.",
                                    property_words(what.first), who, what.second));
  }
  return sentences;
}

constexpr std::size_t most_names = 4;

// "normality (sort, fft)".
std::string rejected_words(const Analysis& analysis, Property property, const char* words) {
  std::vector<std::string> names;
  bool any = false;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.property != property) continue;
    any = true;
    std::string label = label_of(analysis, a.subject, model_scope(analysis, a.subject));
    if (!label.empty() && std::ranges::find(names, label) == names.end())
      names.push_back(std::move(label));
  }
  if (!any) return "";
  const std::size_t shown = std::min(most_names, names.size());
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text.empty() ? words : fmt::format("{} ({})", words, text);
}

}  // namespace

Section assumptions_section(const Analysis& analysis) {
  if (analysis.assumptions.empty()) return {};
  std::vector<Kind> kinds{{Property::normality, "", "normality"},
                          {Property::equal_variances, "", "equal variances"},
                          {Property::independence, "lag-1 autocorrelation", "autocorrelation"},
                          {Property::independence, "runs", "runs"}};
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::ranges::none_of(analysis.assumptions,
                                [&](const Assumption& a) { return kind.is_of(a); });
  });
  Part part;
  for (const std::string& subject : subjects_of(analysis)) {
    const bool lone = subject.empty() && analysis.suite == 0;
    Row row{
        shown_only(has_subjects(analysis) ? name(analysis.spec.subject) : "",
                   lone ? "model" : row_label(analysis, subject, model_scope(analysis, subject)))
            .named(longest_name)
            .in(Style::bold)};
    for (const Kind& kind : kinds) row.push_back(p_field(analysis, subject, kind));
    part.rows.push_back(std::move(row));
  }
  std::string tests;
  for (const Assumption& a : analysis.assumptions)
    if (!tests.contains(a.test)) tests += (tests.empty() ? "" : ", ") + a.test;
  Section section{
      .title = "Assumptions",
      .words = fmt::format(
          "p of the tests of the model's assumptions ({}). An assumption is rejected if p is below "
          "{:.4g}; by chance, about 1 in {:.0f} true assumptions is rejected.",
          tests, analysis.spec.alpha, 1 / analysis.spec.alpha),
      .parts = {std::move(part)}};
  if (auto rejected = failures(analysis); !rejected.empty())
    section.parts.push_back({.below = std::move(rejected)});
  return section;
}

std::string rejected_assumptions(const Analysis& analysis) {
  constexpr std::array<std::pair<Property, const char*>, 3> kinds{
      {{Property::normality, "normality"},
       {Property::equal_variances, "equal variances"},
       {Property::independence, "independence of the trials"}}};
  std::string rejected;
  for (const auto& [property, words] : kinds)
    if (const std::string text = rejected_words(analysis, property, words); !text.empty())
      rejected += (rejected.empty() ? "" : ", ") + text;
  if (rejected.empty()) return "";
  const auto failed =
      std::ranges::count_if(analysis.assumptions, [](const auto& a) { return !a.holds; });
  return fmt::format("{} of {} tests reject an assumption of the model: {}.", failed,
                     analysis.assumptions.size(), rejected);
}

}  // namespace stab::report
