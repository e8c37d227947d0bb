// SPDX-License-Identifier: MIT
// The assumptions of the analysis, and the tests that do not need them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

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

std::string property_name(Property property) {
  switch (property) {
    case Property::normality:
      return "normality";
    case Property::equal_variances:
      return "equal variances";
    case Property::independence:
      return "independence";
  }
  return "normality";
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

bool has_one_subject(const Analysis& analysis) {
  return std::ranges::all_of(analysis.means, [&](const stats::CellMean& mean) {
    return mean.subject == analysis.means.front().subject;
  });
}

// "Normality is rejected for sort, fft: the signed-rank test is still valid."
std::vector<std::string> failures(const Analysis& analysis, Rejected which) {
  constexpr std::size_t most = 6;
  const bool with_names = !has_one_subject(analysis);
  std::map<std::pair<Property, std::string>, std::vector<std::string>> groups;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.instead.empty()) continue;
    if (which == Rejected::with_consequences && a.is_allowed_for) continue;
    auto& names = groups[{a.property, a.instead}];
    if (!with_names) continue;
    const std::string label = label_of(analysis, a.subject, model_scope(analysis, a.subject));
    if (std::ranges::find(names, label) == names.end()) names.push_back(label);
  }
  std::vector<std::string> sentences;
  for (const auto& [what, names] : groups) {
    std::string who;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
      if (!names[i].empty()) who += (who.empty() ? " for " : ", ") + names[i];
    if (names.size() > most) who += fmt::format(" and {} more", names.size() - most);
    sentences.push_back(
        fmt::format("{} is rejected{}: {}.", property_words(what.first), who, what.second));
  }
  return sentences;
}

}  // namespace

Row assumption_row(const Assumption& assumption) {
  return {json_only("benchmark", known(assumption.subject)),
          json_only("property", property_name(assumption.property)),
          json_only("test", assumption.test),
          json_only("of", assumption.of),
          json_only("n", static_cast<std::uint64_t>(assumption.n)),
          json_only("statistic", assumption.statistic),
          json_only("p", assumption.p),
          json_only("holds", assumption.holds),
          json_only("instead", known(assumption.instead))};
}

Section assumptions_section(const Analysis& analysis) {
  if (analysis.assumptions.empty()) return {};
  std::vector<Kind> kinds{{Property::normality, "", property_name(Property::normality)},
                          {Property::equal_variances, "", property_name(Property::equal_variances)},
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
  const bool has_independence = std::ranges::any_of(analysis.assumptions, [](const Assumption& a) {
    return a.property == stats::Property::independence;
  });
  Section section{
      .title = "Assumptions",
      .words = fmt::format(
          "p-values of the tests of the model's assumptions ({}). An assumption is "
          "rejected if p is below {:.4g}{}. By chance, about 1 in {:.0f} true assumptions is "
          "rejected.",
          tests, analysis.spec.alpha,
          has_independence ? "; in the two tests of independence, this limit is half as high" : "",
          1 / analysis.spec.alpha),
      .parts = {std::move(part)}};
  if (auto rejected = failures(analysis, Rejected::all); !rejected.empty())
    section.parts.push_back({.below = std::move(rejected)});
  return section;
}

std::string rejected_assumptions(const Analysis& analysis, Rejected which) {
  const std::vector<std::string> sentences = failures(analysis, which);
  const bool has_other_tests = std::ranges::any_of(analysis.assumptions, [&](const Assumption& a) {
    return !a.holds && !a.is_allowed_for && !a.instead.empty() &&
           a.property == Property::normality &&
           std::ranges::any_of(analysis.effects, [&](const stats::Effect& effect) {
             return effect.subject == a.subject && !effect.alternatives.empty();
           });
  });
  return fmt::format("{}{}", fmt::join(sentences, " "),
                     which == Rejected::with_consequences && has_other_tests
                         ? " --full compares with tests that do not assume normality."
                         : "");
}

namespace {

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
      section.words = fmt::format(
          "{} The verdict is about the mean, not about a typical run or the median.", explained);
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

namespace {

std::string randomization_words(const Analysis& analysis, std::uint64_t seed) {
  std::string text =
      "Suppose that the levels made no difference in any block. Then p says how often another "
      "order of the trials would show a change at least as large as the measured one; the test is "
      "exact. The interval assumes that the ratio between the levels is the same in all blocks.";
  if (analysis.spec.looks) text += " Both are corrected for all looks at the data.";
  if (has_family(analysis))
    text += " They are for one comparison alone, but verdicts are corrected for all comparisons.";
  text +=
      " A change gets a verdict only if this test and the test above agree. If there are too few "
      "blocks for this test to find any change, the test above decides alone, and a note says so.";
  if (std::ranges::any_of(analysis.effects, [](const stats::Effect& effect) {
        return effect.randomization && !effect.randomization->influential.empty();
      }))
    text +=
        " 'Farthest' is the block whose change is farthest from the mean change, and 'without it' "
        "is the mean change of the other blocks.";
  return text + fmt::format(
                    " The test tries random orders (seed {}) until more orders could no longer "
                    "change a verdict, or until it has tried as many as it may.",
                    seed);
}

}  // namespace

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
  return {.title = "Randomization test",
          .words = randomization_words(analysis, seed),
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
