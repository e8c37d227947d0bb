// SPDX-License-Identifier: MIT
#include "stats/data/csv_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/numbers/decimal.h"

namespace stab::stats {
namespace {

// Whether the cell begins with a date such as "2026-01-31".
bool is_time(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00";
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

template <class T>
void rearrange(std::vector<T>& values, const std::vector<std::uint32_t>& rows) {
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::uint32_t row : rows) sorted.push_back(values[row]);
  values = std::move(sorted);
}

}  // namespace

bool CsvOrder::add(std::string_view cell, char decimal_point) {
  const auto number = parse_number(cell, decimal_point);
  if (number && std::isfinite(number->value)) {
    numbers_.push_back(number->value);
    return times_.empty();
  }
  if (!is_time(cell)) return false;
  times_.emplace_back(cell);
  return numbers_.empty();
}

bool CsvOrder::before(std::uint32_t a, std::uint32_t b) const {
  return times_.empty() ? numbers_[a] < numbers_[b] : times_[a] < times_[b];
}

std::vector<std::uint32_t> CsvOrder::rows() const {
  std::vector<std::uint32_t> result(std::max(numbers_.size(), times_.size()));
  std::iota(result.begin(), result.end(), 0U);
  std::ranges::sort(result, [&](std::uint32_t a, std::uint32_t b) {
    return before(a, b) || (a < b && !before(b, a));
  });
  return result;
}

void CsvOrder::sort(Dataset& data) const {
  const std::vector<std::uint32_t> sorted = rows();
  rearrange(data.response, sorted);
  for (Column& column : data.columns) rearrange(column.codes, sorted);
}

std::size_t CsvOrder::ties() const {
  const std::vector<std::uint32_t> sorted = rows();
  const auto equal = [&](std::size_t i) { return !before(sorted[i - 1], sorted[i]); };
  std::size_t result = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    result += (i > 0 && equal(i)) || (i + 1 < sorted.size() && equal(i + 1)) ? 1 : 0;
  return result;
}

}  // namespace stab::stats
