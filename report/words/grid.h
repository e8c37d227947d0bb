// SPDX-License-Identifier: MIT
// Tables, paragraphs and intervals of plain text. Widths count characters, not bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stab::report {

enum class Style { plain, bold, faint, good, bad, warning };

// The text in the style's colour; unchanged if `colour` is false.
std::string styled(std::string_view text, Style style, bool colour);

enum class Align { left, right };

struct Cell {
  std::string text{};
  Style style = Style::plain;
};

// Columns as wide as their widest cell, two spaces apart, indented by two. Rows may be shorter than
// the header.
class Grid {
 public:
  void column(std::string header, Align align);
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  void gap() { rows_.emplace_back(); }  // an empty line
  // Adds a cell after the last cell of the row with this index. An empty line counts as a row.
  void append(std::size_t row, Cell cell) { rows_.at(row).push_back(std::move(cell)); }
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::string render(bool colour) const;

 private:
  struct Column {
    std::string header;
    Align align = Align::left;
  };
  [[nodiscard]] std::string line(const std::vector<Cell>& cells,
                                 const std::vector<std::size_t>& widths, bool colour) const;
  [[nodiscard]] std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Breaks the text at spaces. The first line starts with `first`, the others with as many spaces.
std::string paragraph(std::string_view first, std::string_view text, std::size_t width);

// The number of characters in UTF-8 text.
std::size_t display_width(std::string_view text);

// Intervals of changes as lines of text under one axis: "   [---o---]     |   ".

// A change and its interval as shares: -0.1 is -10 %.
struct ChangeInterval {
  double low = 0;
  double value = 0;
  double high = 0;
};

// The axis covers 0 and all numbers of all intervals, but at most from -100 to +100 %. Numbers
// beyond are drawn at the edge, as < or >.
class IntervalAxis {
 public:
  static constexpr std::size_t least_width = 16;

  IntervalAxis(const std::vector<ChangeInterval>& all, std::size_t width);

  // "-15 %      0   +5 %".
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string draw(const ChangeInterval& interval) const;

 private:
  [[nodiscard]] std::size_t column(double share) const;

  std::size_t width_;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace stab::report
