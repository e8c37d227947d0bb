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

// Of more rows a page has the first ones, and says so.
inline constexpr std::size_t most_rows = 1000;

Markup table(const Table& table);
// The same behind a line that opens it.
Markup folded_table(const Table& table, std::string_view line);

struct Figure {
  std::string title{};
  std::string words{};  // how to read it; "": nothing
  Markup picture{};
  std::vector<std::string> legend{};  // by colour; empty: none
  Table numbers{};                    // F1: not without rows
};

Markup figure(const Figure& figure);

// A part of the page with a heading; nothing if there is nothing in it. `inside`: figures, side by
// side where there is room.
Markup section(Literal id, std::string_view title, std::string_view words,
               const std::vector<Figure>& inside);

}  // namespace stab::report::html
