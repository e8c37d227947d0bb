// SPDX-License-Identifier: MIT
// HTML that is also well-formed XML. M1: the names of elements and attributes are literals in our
// sources; all other text is escaped. M2: every element that is opened is closed. Tables and
// figures consist of such elements.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::report::html {

// Escapes text and the values of attributes. Control characters, marks that reorder text, and bytes
// that are not UTF-8 become '?'. CR LF becomes LF.
std::string escaped(std::string_view text);

// A string that is known at compile time, so it never comes from a plan or a database (M1).
class Literal {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Literal(const char* text) : text_(text) {}
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

struct Attribute {
  Literal name;
  std::string value;
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
 public:
  Markup& open(Literal element, Attributes attributes = {});
  Markup& close();  // the element that was opened last
  Markup& text(std::string_view text);
  Markup& leaf(Literal element, std::string_view text, Attributes attributes = {});
  Markup& empty(Literal element, Attributes attributes = {});
  Markup& literal(Literal text);  // without escaping
  Markup& add(const Markup& whole);

  [[nodiscard]] bool is_whole() const { return open_.empty(); }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  void begin(Literal element, Attributes attributes);

  std::string text_;
  std::vector<Literal> open_;
};

// Tables, and pictures with the table of their numbers behind them.

struct Column {
  std::string title{};
  bool number = false;
};

struct Table {
  std::vector<Column> columns{};
  std::vector<std::vector<std::string>> rows{};  // as many cells as columns
};

// A table on a page has at most this many rows, and says so if there are more.
inline constexpr std::size_t most_rows = 1000;

Markup table(const Table& table);
// The same table, hidden until the user opens it with a click on `line`.
Markup folded_table(const Table& table, std::string_view line);

struct Figure {
  std::string title{};
  std::string words{};  // how to read the picture; may be ""
  Markup picture{};
  std::vector<std::string> legend{};  // the name of each colour's group; empty: there is no legend
  Table numbers{};                    // F1: it has rows
};

Markup figure(const Figure& figure);

// A part of the page with a heading; empty if `inside` is empty. Figures stand side by side where
// there is room.
Markup section(Literal id, std::string_view title, std::string_view words,
               const std::vector<Figure>& inside);

}  // namespace stab::report::html
