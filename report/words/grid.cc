// SPDX-License-Identifier: MIT
#include "report/words/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stab::report {
namespace {

std::string_view code(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::bad:
      return "\x1b[31m";
    case Style::warning:
      return "\x1b[33m";
  }
  return "";
}

void strip_end(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::plain || text.empty()) return std::string(text);
  return std::string(code(style)).append(text).append("\x1b[0m");
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

void Grid::column(std::string header, Align align) {
  columns_.push_back({.header = std::move(header), .align = align});
}

std::string Grid::line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                       bool colour) const {
  std::string line = "  ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string pad(widths[i] - display_width(cells[i].text), ' ');
    if (i > 0) line += "  ";
    if (columns_[i].align == Align::right) line += pad;
    line += styled(cells[i].text, cells[i].style, colour);
    if (columns_[i].align == Align::left) line += pad;
  }
  strip_end(line);
  return line + "\n";
}

std::vector<std::size_t> Grid::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i].text));
  return widths;
}

std::size_t Grid::width() const {
  std::size_t all = 0;
  for (const std::size_t width : widths()) all += 2 + width;
  return all;
}

std::string Grid::render(bool colour) const {
  const std::vector<std::size_t> columns = widths();
  std::vector<Cell> header;
  for (const Column& column : columns_) header.push_back({column.header, Style::faint});
  std::string text = line(header, columns, colour);
  for (const auto& row : rows_) text += line(row, columns, colour);
  return text;
}

std::string paragraph(std::string_view first, std::string_view text, std::size_t width) {
  const std::string indent(display_width(first), ' ');
  std::string result;
  std::string line(first);
  bool empty = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!empty && display_width(line) + 1 + display_width(word) > width) {
      result += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return result + line + "\n";
}

namespace {

constexpr double most = 1;

std::string end_text(double share) {
  return share == 0 ? "0" : fmt::format("{:+.3g} %", 100 * share);
}

}  // namespace

IntervalAxis::IntervalAxis(const std::vector<ChangeInterval>& all, std::size_t width)
    : width_(std::max(width, least_width)) {
  for (const ChangeInterval& each : all) {
    low_ = std::min({low_, each.low, each.value});
    high_ = std::max({high_, each.high, each.value});
  }
  low_ = std::max(low_, -most);
  high_ = std::min(high_, most);
  // If nothing differs, 0 is in the middle.
  if (low_ == high_) {
    low_ = -0.01;
    high_ = 0.01;
  }
}

std::size_t IntervalAxis::column(double share) const {
  const double within = std::clamp(share, low_, high_);
  return static_cast<std::size_t>(
      std::lround((within - low_) / (high_ - low_) * static_cast<double>(width_ - 1)));
}

std::string IntervalAxis::header() const {
  std::string text(width_, ' ');
  const std::string left = end_text(low_);
  const std::string right = end_text(high_);
  text.replace(0, left.size(), left);
  text.replace(width_ - right.size(), right.size(), right);
  const std::size_t zero = column(0);
  const bool is_free = zero > left.size() && zero + 1 < width_ - right.size();
  if (is_free) text[zero] = '0';
  return text;
}

std::string IntervalAxis::draw(const ChangeInterval& interval) const {
  std::string text(width_, ' ');
  const std::size_t first = column(interval.low);
  const std::size_t last = column(interval.high);
  for (std::size_t i = first; i <= last; ++i) text[i] = '-';
  text[column(0)] = '|';
  if (first < last) {
    text[first] = interval.low < low_ ? '<' : '[';
    text[last] = interval.high > high_ ? '>' : ']';
  }
  if (interval.value < low_)
    text.front() = '<';
  else if (interval.value > high_)
    text.back() = '>';
  else
    text[column(interval.value)] = 'o';
  return text;
}

}  // namespace stab::report
