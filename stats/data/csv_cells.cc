// SPDX-License-Identifier: MIT
#include "stats/data/csv_cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace stab::stats {

std::unexpected<Error> CsvCells::error(std::size_t column, const std::string& what) const {
  return fail(fmt::format("line {}, column {}: {}", line_, column, what));
}

bool CsvCells::at_end_of_line() const {
  if (at_ == text_.size() || text_[at_] == '\n') return true;
  return text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n');
}

void CsvCells::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size()) ++at_;
  ++next_line_;
}

Result<bool> CsvCells::next(std::vector<std::string_view>& cells) {
  cells.clear();
  unescaped_.clear();
  while (at_ < text_.size() && at_end_of_line()) end_line();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  while (true) {
    const auto text = cell(cells.size() + 1);
    if (!text) return std::unexpected(text.error());
    cells.push_back(*text);
    if (at_end_of_line()) break;
    ++at_;  // the separator
  }
  end_line();
  return true;
}

Result<std::string_view> CsvCells::cell(std::size_t column) {
  if (at_ < text_.size() && text_[at_] == '"') return quoted(column);
  const std::size_t begin = at_;
  for (; !at_end_of_line() && text_[at_] != separator_; ++at_) {
    if (text_[at_] == '"')
      return error(column,
                   "a quote inside a cell that does not begin with one; quote the whole "
                   "cell and double the quotes inside");
    if (text_[at_] == '\0') return error(column, "a zero byte: this is not text");
    if (text_[at_] == '\r') return error(column, "a carriage return inside a line");
  }
  return text_.substr(begin, at_ - begin);
}

Result<std::string_view> CsvCells::quoted(std::size_t column) {
  const std::size_t begin = ++at_;
  bool doubled = false;
  while (true) {
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos)
      return error(column, "the quote that begins here never ends");
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    doubled = true;
    ++at_;
  }
  const std::string_view inside = text_.substr(begin, at_ - 1 - begin);
  next_line_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
  if (inside.contains('\0')) return error(column, "a zero byte: this is not text");
  if (!at_end_of_line() && text_[at_] != separator_)
    return error(column, "text after the closing quote");
  if (!doubled) return inside;
  std::string& plain = unescaped_.emplace_back();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return std::string_view(plain);
}

}  // namespace stab::stats
