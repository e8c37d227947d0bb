// SPDX-License-Identifier: MIT
// The terms of a full factorial model. A term is a set of treatments, as bits; `shape` has the
// number of levels of each treatment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stab::stats {

// No experiment can cross more treatments than this.
inline constexpr std::size_t most_treatments = 16;

// The number of treatments with two or more levels.
std::size_t active_treatments(std::span<const std::size_t> shape);

// Returns the terms of at most `order` active treatments, in R's order: a, b, c, a:b, a:c, b:c,
// a:b:c.
std::vector<std::uint32_t> all_terms(std::span<const std::size_t> shape, std::size_t order);

// The degrees of freedom of a term if no cell is empty.
double term_columns(std::uint32_t term, std::span<const std::size_t> shape);

// Writes a cell's values in the columns of a term, coded so that they sum to zero over each
// treatment's levels.
void write_sum_coding(std::uint32_t term, std::span<const std::size_t> shape,
                      std::span<const std::size_t> levels, std::span<double> columns);

// "a:b"
std::string term_name(std::uint32_t term, std::span<const std::string> names);

// "a * b": the active treatments, or "1" if there are none.
std::string crossing(std::span<const std::size_t> shape, std::span<const std::string> names);

}  // namespace stab::stats
