// SPDX-License-Identifier: MIT
#include "report/sections/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

[[maybe_unused]] bool is_same_column(const Field& a, const Field& b) {
  return (a.key == b.key || a.key.empty() || b.key.empty()) && a.heading == b.heading;
}

}  // namespace

Value known(std::optional<double> number) {
  return number ? Value(*number) : Value();
}

Value known(std::string_view text) {
  return text.empty() ? Value() : Value(std::string(text));
}

Field json_only(std::string key, Value value) {
  return {.key = std::move(key), .value = std::move(value)};
}

Field shown_only(std::string heading, std::string text) {
  return {.heading = std::move(heading), .text = std::move(text)};
}

Field column(std::string key, Value value, std::string heading, std::string text) {
  return {.key = std::move(key),
          .value = std::move(value),
          .heading = std::move(heading),
          .text = std::move(text)};
}

std::string title_of(const Part& part, std::size_t most) {
  return (part.owner.empty() ? "" : part.owner + ": ") + one_line(part.title, most);
}

const std::string& text_on_page(const Field& field) {
  return field.page_text.empty() ? field.text : field.page_text;
}

Shown shown_columns(const Part& part, bool is_page) {
  Shown shown;
  const auto first = std::ranges::find_if(part.rows, [](const Row& row) { return !row.empty(); });
  if (first == part.rows.end()) return shown;
  shown.headings = &*first;
  for (std::size_t i = 0; i < first->size(); ++i) {
    const Field& field = (*first)[i];
    const bool is_empty = std::ranges::none_of(
        part.rows, [&](const Row& row) { return !row.empty() && !row[i].text.empty(); });
    const bool is_elsewhere = is_page ? field.is_for_text : field.is_for_page;
    if (field.heading && !is_elsewhere && !(field.is_rare && is_empty)) shown.fields.push_back(i);
  }
  return shown;
}

void drop_json_only(Row& row) {
  std::erase_if(row, [](const Field& field) { return !field.heading; });
}

Grid grid_of(const Part& part) {
  Grid grid;
  const Shown shown = shown_columns(part, false);
  for (const std::size_t i : shown.fields)
    grid.column(*(*shown.headings)[i].heading, (*shown.headings)[i].align);
  const Row* above = nullptr;
  for (const Row& row : part.rows) {
    if (row.empty()) {
      grid.gap();
      continue;
    }
    assert(std::ranges::equal(row, *shown.headings, is_same_column));  // S1
    std::vector<Cell> cells;
    for (const std::size_t i : shown.fields) {
      const Field& field = row[i];
      const bool repeats = field.is_once && above != nullptr && (*above)[i].text == field.text;
      cells.push_back({repeats                  ? ""
                       : field.longest_text > 0 ? one_line(field.text, field.longest_text)
                                                : field.text,
                       field.style});
    }
    grid.row(std::move(cells));
    above = &row;
  }
  return grid;
}

std::string section_text(const Section& section, const TextOptions& options) {
  constexpr std::size_t longest_title = 200;
  if (section.parts.empty()) return "";
  std::string text = heading(section.title, section.words, options);
  for (const Part& part : section.parts) {
    if (!part.title.empty())
      text += "  " + styled(title_of(part, longest_title), Style::bold, options.colour) + "\n";
    if (!part.rows.empty()) text += grid_of(part).render(options.colour);
    for (const std::string& each : part.below) text += paragraph("  ", each, options.width);
    text += "\n";
  }
  return text;
}

std::string markdown_table(const Part& part) {
  const Shown shown = shown_columns(part, true);
  const auto line = [&](auto&& cell_of) {
    std::string text = "|";
    for (const std::size_t i : shown.fields) {
      text += ' ';
      for (const char c : one_line(cell_of(i), longest))
        text += c == '|' ? "\\|" : std::string(1, c);
      text += " |";
    }
    return text + "\n";
  };
  if (shown.headings == nullptr) return "";
  std::string text = line([&](std::size_t i) { return *(*shown.headings)[i].heading; }) + "|";
  for (std::size_t i = 0; i < shown.fields.size(); ++i) text += "---|";
  text += "\n";
  for (const Row& row : part.rows)
    if (!row.empty()) text += line([&](std::size_t i) { return text_on_page(row[i]); });
  return text;
}

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
  std::size_t adjusted = 0;
  bool is_larger = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (stats::is_control(effect, analysis.spec)) continue;
    tested += effect.p ? 1 : 0;
    adjusted += effect.p_adjusted ? 1 : 0;  // a withheld effect has none
    is_larger = is_larger || (effect.p && effect.p_adjusted && *effect.p_adjusted > *effect.p);
  }
  return tested > 1 && (adjusted > 1 || is_larger);
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
