// SPDX-License-Identifier: MIT
#include "design/rank.h"

#include <map>
#include <set>
#include <utility>

namespace stab::plan {
namespace {

// Elimination modulo this prime is exact. The rank of a 0/1 matrix modulo the prime is its rank
// over the rationals, unless the prime divides one of its minors.
constexpr std::uint64_t prime = 2147483647;
constexpr std::uint64_t max_work = 300'000'000;  // multiplications; takes less than a second

using Column = std::vector<std::uint64_t>;

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * base % prime;
    base = base * base % prime;
  }
  return result;
}

std::uint64_t inverse(std::uint64_t value) {
  return power(value, prime - 2);
}

// The vector space that the added columns span.
class Span {
 public:
  explicit Span(std::size_t rows) : basis_(rows) {}

  // Returns whether the column was outside of the space; if so, the space now contains it.
  bool add(Column column) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] == 0) continue;
      work_ += column.size() - i;
      if (basis_[i].empty()) {
        scale(column, i, inverse(column[i]));
        basis_[i] = std::move(column);
        return true;
      }
      const std::uint64_t factor = prime - column[i];
      for (std::size_t j = i; j < column.size(); ++j)
        column[j] = (column[j] + factor * basis_[i][j]) % prime;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  static void scale(Column& column, std::size_t from, std::uint64_t factor) {
    for (std::size_t j = from; j < column.size(); ++j) column[j] = column[j] * factor % prime;
  }

  std::vector<Column> basis_;  // by the row of the leading 1; empty for rows without one
  std::uint64_t work_ = 0;
};

// Each cell's group. Groups are numbered in the order in which they first occur.
using Groups = std::vector<std::size_t>;

// Cells with equal levels in all factors of the term form a group.
Groups groups_of(const std::vector<std::vector<std::size_t>>& cells, std::uint32_t term) {
  std::map<std::vector<std::size_t>, std::size_t> numbers;
  Groups groups;
  for (const auto& cell : cells) {
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < cell.size(); ++i)
      if ((term >> i & 1) != 0) levels.push_back(cell[i]);
    groups.push_back(numbers.emplace(std::move(levels), numbers.size()).first->second);
  }
  return groups;
}

std::int64_t add_term(Span& span, const Groups& groups) {
  std::vector<Column> columns;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == columns.size()) columns.emplace_back(groups.size());
    columns[groups[row]][row] = 1;
  }
  std::int64_t df = 0;
  for (Column& column : columns) df += span.add(std::move(column)) ? 1 : 0;
  return df;
}

}  // namespace

SequentialDf sequential_df(const std::vector<std::vector<std::size_t>>& cells,
                           const std::vector<std::uint32_t>& terms) {
  SequentialDf result{.df = std::vector<std::int64_t>(terms.size()), .rest = 0};
  Span span(cells.size());
  std::set<Groups> seen{Groups(cells.size())};
  std::int64_t left = static_cast<std::int64_t>(cells.size()) - add_term(span, *seen.begin());
  for (std::size_t i = 0; i < terms.size() && left > 0; ++i) {
    if (span.work() > max_work) {
      result.rest = left;
      break;
    }
    Groups groups = groups_of(cells, terms[i]);
    if (seen.contains(groups)) continue;
    result.df[i] = add_term(span, groups);
    left -= result.df[i];
    seen.insert(std::move(groups));
  }
  return result;
}

}  // namespace stab::plan
