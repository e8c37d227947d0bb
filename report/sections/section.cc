// SPDX-License-Identifier: MIT
#include "report/sections/section.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/shared_words.h"

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
    if (field.heading && (is_page || !field.is_for_page) && !(field.is_rare && is_empty))
      shown.fields.push_back(i);
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

}  // namespace stab::report
