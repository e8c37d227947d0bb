// SPDX-License-Identifier: MIT
#include "report/html/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "report/html/canvas.h"

namespace stab::report::html {
namespace {

// The length in bytes of the first character. 0 if it is not valid UTF-8 or not allowed in XML.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 ? (first == 0x7f ? 0 : 1) : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  // C1 controls, marks that reorder the text around them, and noncharacters.
  const bool control = code < 0xa0 || code == 0x061c || code == 0x200e || code == 0x200f ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                       (code & 0xfffeU) == 0xfffe;
  return too_long || surrogate || control || code > 0x10ffff ? 0 : length;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with("\r\n")) text.remove_prefix(1);
    const char c = text.front();
    const std::size_t length = c == '\n' || c == '\t' ? 1 : character_length(text);
    if (const std::string_view name = entity(c); !name.empty())
      result += name;
    else if (length == 0)
      result += '?';
    else
      result += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

void Markup::begin(Literal element, Attributes attributes) {
  text_ += '<';
  text_ += element.text();
  for (const Attribute& each : attributes) {
    text_ += ' ';
    text_ += each.name.text();
    text_ += "=\"" + escaped(each.value) + '"';
  }
}

Markup& Markup::open(Literal element, Attributes attributes) {
  begin(element, attributes);
  text_ += '>';
  open_.push_back(element);
  return *this;
}

Markup& Markup::close() {
  assert(!open_.empty());  // M2
  text_ += "</";
  text_ += open_.back().text();
  text_ += ">\n";
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  text_ += escaped(text);
  return *this;
}

Markup& Markup::leaf(Literal element, std::string_view text, Attributes attributes) {
  return open(element, attributes).text(text).close();
}

Markup& Markup::empty(Literal element, Attributes attributes) {
  begin(element, attributes);
  text_ += "/>\n";
  return *this;
}

Markup& Markup::literal(Literal text) {
  text_ += text.text();
  return *this;
}

Markup& Markup::add(const Markup& whole) {
  assert(whole.is_whole());  // M2
  text_ += whole.text_;
  return *this;
}

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
                            "'stabctl export' write all rows.",
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
