// SPDX-License-Identifier: MIT
#include "report/sections/shared_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report {

std::string name(const std::string& text) {
  return one_line(text, longest_name);
}

std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options) {
  return styled(title, Style::bold, options.colour) + "\n" +
         paragraph("  ", explanation, options.width) + "\n";
}

std::string labelled(std::string_view label, const std::string& text, const TextOptions& options) {
  // The label is coloured after the text is broken into lines, because escapes would count as
  // characters.
  const std::string broken = paragraph(label, text, options.width);
  return styled(broken.substr(0, label.size()), Style::bold, options.colour) +
         broken.substr(label.size());
}

bool has_subjects(const stats::Analysis& analysis) {
  return std::ranges::any_of(analysis.means,
                             [](const auto& mean) { return !mean.subject.empty(); });
}

bool has_family(const stats::Analysis& analysis) {
  std::size_t tested = 0;
  return std::ranges::any_of(analysis.effects, [&](const auto& effect) {
    tested += effect.p && !stats::is_control(effect, analysis.spec) ? 1 : 0;
    return tested > 1;
  });
}

std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope) {
  if (scope == stats::Scope::subject) return name(subject);
  const std::string kind = name(analysis.spec.subject);
  return scope == stats::Scope::these ? fmt::format("these {} {}s", analysis.suite, kind)
                                      : fmt::format("{}s like these", kind);
}

std::string row_label(const stats::Analysis& analysis, const std::string& subject,
                      stats::Scope scope) {
  if (scope == stats::Scope::subject) return subject;
  return scope == stats::Scope::these ? fmt::format("these {}", analysis.suite) : "like these";
}

Field subject_column(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope) {
  if (!has_subjects(analysis)) return json_only("benchmark", known(subject));
  return column("benchmark", known(subject), name(analysis.spec.subject),
                row_label(analysis, subject, scope))
      .named(longest_name)
      .in(Style::bold);
}

std::string_view scope_word(stats::Scope scope) {
  switch (scope) {
    case stats::Scope::subject:
      return "";
    case stats::Scope::these:
      return "these";
    case stats::Scope::like_these:
      return "like-these";
  }
  return "";
}

stats::Scope model_scope(const stats::Analysis& analysis, const std::string& subject) {
  const bool suite = subject.empty() && analysis.suite > 0;
  return suite ? stats::Scope::like_these : stats::Scope::subject;
}

std::string_view less_word(const stats::Spec& spec) {
  return verdict_text(spec.higher_is_better ? stats::Verdict::slower : stats::Verdict::faster,
                      spec);
}

std::string_view more_word(const stats::Spec& spec) {
  return verdict_text(spec.higher_is_better ? stats::Verdict::faster : stats::Verdict::slower,
                      spec);
}

std::string_view better_words(const stats::Spec& spec) {
  return spec.higher_is_better ? "more is better" : "less is better";
}

}  // namespace stab::report
