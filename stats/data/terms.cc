// SPDX-License-Identifier: MIT
#include "stats/data/terms.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace stab::stats {
namespace {

std::string join(std::uint32_t term, std::span<const std::string> names, const char* separator) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((term >> i & 1U) == 0) continue;
    if (!text.empty()) text += separator;
    text += names[i];
  }
  return text;
}

std::uint32_t active_mask(std::span<const std::size_t> shape) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1) mask |= 1U << i;
  return mask;
}

}  // namespace

std::size_t active_treatments(std::span<const std::size_t> shape) {
  return static_cast<std::size_t>(std::popcount(active_mask(shape)));
}

std::vector<std::uint32_t> all_terms(std::span<const std::size_t> shape, std::size_t order) {
  const std::uint32_t active = active_mask(shape);
  std::vector<std::uint32_t> terms;
  for (std::uint32_t term = 1; term <= active; ++term)
    if ((term & active) == term && static_cast<std::size_t>(std::popcount(term)) <= order)
      terms.push_back(term);
  std::ranges::sort(terms, {},
                    [](std::uint32_t term) { return std::pair(std::popcount(term), term); });
  return terms;
}

double term_columns(std::uint32_t term, std::span<const std::size_t> shape) {
  double columns = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if ((term >> i & 1U) != 0) columns *= static_cast<double>(shape[i] - 1);
  return columns;
}

void write_sum_coding(std::uint32_t term, std::span<const std::size_t> shape,
                      std::span<const std::size_t> levels, std::span<double> columns) {
  // A treatment with L levels has L - 1 columns: level l < L - 1 is 1 in column l, the last level
  // is -1 in all.
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::size_t rest = column;
    double value = 1;
    for (std::size_t i = shape.size(); i-- > 0 && value != 0;) {
      if ((term >> i & 1U) == 0) continue;
      const std::size_t own = rest % (shape[i] - 1);
      rest /= shape[i] - 1;
      if (levels[i] + 1 == shape[i])
        value = -value;
      else if (levels[i] != own)
        value = 0;
    }
    columns[column] = value;
  }
}

std::string term_name(std::uint32_t term, std::span<const std::string> names) {
  return join(term, names, ":");
}

std::string crossing(std::span<const std::size_t> shape, std::span<const std::string> names) {
  const std::uint32_t active = active_mask(shape);
  return active == 0 ? "1" : join(active, names, " * ");
}

}  // namespace stab::stats
