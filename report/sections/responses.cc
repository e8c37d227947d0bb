// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/changes.h"
#include "report/words/grid.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Verdict;

bool is_time(const Analysis& analysis) {
  return analysis.spec.unit == stats::Unit::nanoseconds;
}

// Whether one of the two is faster and the other one is slower.
bool are_opposed(const Effect& a, const Effect& b) {
  return (a.verdict == Verdict::faster && b.verdict == Verdict::slower) ||
         (a.verdict == Verdict::slower && b.verdict == Verdict::faster);
}

std::string change_of(const Analysis& analysis, const Effect& effect) {
  return fmt::format("{} by {}", name(analysis.spec.response),
                     change_words(analysis, effect).change);
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
        "{}{}: {} -> {} changes {}, and {}: the time and the count disagree about which is better.",
        where, name(of_time.treatment), name(of_time.baseline), name(of_time.level),
        change_of(time, of_time), change_of(count, *of_count)));
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
  return text + paragraph("  ", "doc/statistics.md says when to trust which.", options.width) +
         "\n";
}

}  // namespace stab::report
