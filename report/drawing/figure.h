// SPDX-License-Identifier: MIT
// Tables, and pictures with the table of their numbers behind them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/drawing/markup.h"

namespace stab::report::html {

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
