// SPDX-License-Identifier: MIT
// Renders sections of the report and their tables for the page.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "report/html/parts.h"

namespace stab::report::html {

Table page_table(const Part& part) {
  Table table;
  const Shown shown = shown_columns(part, true);
  for (const std::size_t i : shown.fields)
    table.columns.push_back(
        {*(*shown.headings)[i].heading, (*shown.headings)[i].align == Align::right});
  for (const Row& row : part.rows) {
    if (row.empty()) continue;
    auto& cells = table.rows.emplace_back();
    for (const std::size_t i : shown.fields) cells.push_back(text_on_page(row[i]));
  }
  return table;
}

Markup section_part(Literal id, const Section& section) {
  Markup markup;
  if (section.parts.empty()) return markup;
  markup.open("section", {{"id", std::string(id.text())}}).leaf("h2", section.title);
  markup.leaf("p", section.words, {{"class", "words"}});
  const std::size_t shown = std::min(section.parts.size(), most_lines);
  for (const Part& part : std::span(section.parts).first(shown)) {
    if (part.is_for_text) continue;
    if (!part.title.empty()) markup.leaf("h3", title_of(part, part.title.size()));
    if (!part.rows.empty()) markup.add(table(page_table(part)));
    for (const std::string& each : part.below) markup.leaf("p", each, {{"class", "words"}});
  }
  if (shown < section.parts.size())
    markup.leaf("p",
                fmt::format("The page shows the first {} of {} tables; the text report shows all.",
                            shown, section.parts.size()));
  return std::move(markup.close());
}

}  // namespace stab::report::html
