// SPDX-License-Identifier: MIT
#include "report/drawing/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <span>

#include "report/drawing/canvas.h"

namespace stab::report::html {
namespace {

void add_row(Markup& markup, const Table& table, const std::vector<std::string>& cells) {
  assert(cells.size() == table.columns.size());
  markup.open("tr");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (table.columns[i].number)
      markup.leaf("td", cells[i], {{"class", "n"}});
    else
      markup.leaf("td", cells[i]);
  }
  markup.close();
}

void add_legend(Markup& markup, const std::vector<std::string>& names) {
  if (names.empty()) return;
  markup.open("ul", {{"class", "legend"}});
  for (std::size_t i = 0; i < names.size(); ++i)
    markup.open("li")
        .leaf("span", "", {{"class", "key " + colour_class(i)}})
        .text(" " + names[i])
        .close();
  markup.close();
}

}  // namespace

Markup table(const Table& table) {
  Markup markup;
  // A table that is wider than the page has its own scroll area, which also takes keys.
  markup.open("div", {{"class", "scroll"}, {"tabindex", "0"}}).open("table");
  markup.open("thead").open("tr");
  for (const Column& each : table.columns)
    markup.leaf("th", each.title, {{"scope", "col"}, {"class", each.number ? "n" : ""}});
  markup.close().close().open("tbody");
  const std::size_t shown = std::min(table.rows.size(), most_rows);
  for (const auto& row : std::span(table.rows).first(shown)) add_row(markup, table, row);
  markup.close().close().close();
  if (shown < table.rows.size())
    markup.leaf("p",
                fmt::format("The table shows the first {} of {} rows; 'stabctl report --json' and "
                            "'stabctl export' have all rows.",
                            shown, table.rows.size()),
                {{"class", "words"}});
  return markup;
}

Markup folded_table(const Table& numbers, std::string_view line) {
  Markup markup;
  markup.open("details").leaf("summary", line).add(table(numbers)).close();
  return markup;
}

Markup figure(const Figure& figure) {
  assert(!figure.numbers.rows.empty());  // F1
  Markup markup;
  markup.open("figure").leaf("figcaption", figure.title);
  if (!figure.words.empty()) markup.leaf("p", figure.words, {{"class", "words"}});
  markup.add(figure.picture);
  add_legend(markup, figure.legend);
  markup.add(folded_table(figure.numbers, "The numbers in this picture")).close();
  return markup;
}

Markup section(Literal id, std::string_view title, std::string_view words,
               const std::vector<Figure>& inside) {
  Markup markup;
  if (inside.empty()) return markup;
  markup.open("section", {{"id", std::string(id.text())}}).leaf("h2", title);
  if (!words.empty()) markup.leaf("p", words, {{"class", "words"}});
  markup.open("div", {{"class", inside.size() > 1 ? "figures" : "one"}});
  for (const Figure& each : inside) markup.add(figure(each));
  markup.close().close();
  return markup;
}

}  // namespace stab::report::html
