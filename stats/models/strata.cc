// SPDX-License-Identifier: MIT
#include "stats/models/strata.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "stats/data/terms.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_cells = 512;

using Row = std::vector<double>;

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Rows of unit length that are orthogonal to each other and to the constant: a term's contrasts of
// the cells follow those of earlier terms.
class Basis {
 public:
  explicit Basis(std::size_t cells) {
    rows_.emplace_back(cells, 1 / std::sqrt(static_cast<double>(cells)));
  }

  // Orthogonalizes by Gram-Schmidt, twice, because once loses digits. Returns false if the row
  // depends on the rows before it.
  bool add(Row row) {
    const double length = std::sqrt(dot(row, row));
    for (int pass = 0; pass < 2; ++pass)
      for (const Row& other : rows_) {
        const double share = dot(row, other);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] -= share * other[i];
      }
    const double rest = std::sqrt(dot(row, row));
    if (!(rest > 1e-9 * length)) return false;
    for (double& x : row) x /= rest;
    rows_.push_back(std::move(row));
    return true;
  }

  [[nodiscard]] std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

std::vector<std::size_t> levels_of(std::size_t cell, std::span<const std::size_t> shape) {
  std::vector<std::size_t> levels(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    levels[i] = cell % shape[i];
    cell /= shape[i];
  }
  return levels;
}

// Adds the contrasts of the term and returns how many there are.
std::size_t add_term(std::uint32_t term, std::span<const std::size_t> shape,
                     std::span<const std::size_t> cells, Basis& basis) {
  const auto columns = static_cast<std::size_t>(term_columns(term, shape));
  std::vector<Row> rows(columns, Row(cells.size()));
  Row column(columns);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    write_sum_coding(term, shape, levels_of(cells[i], shape), column);
    for (std::size_t j = 0; j < columns; ++j) rows[j][i] = column[j];
  }
  std::size_t added = 0;
  for (Row& row : rows) added += basis.add(std::move(row)) ? 1 : 0;
  return added;
}

// The values of all units in each of a term's contrasts.
struct Scores {
  std::vector<Moments> contrasts;
  std::vector<Row> deviations;  // by contrast, one for each unit
};

Scores scores_of(std::span<const Row> rows, std::span<const double> means, std::size_t units) {
  Scores scores;
  const std::size_t cells = means.size() / units;
  for (const Row& row : rows) {
    Row values;
    for (std::size_t u = 0; u < units; ++u)
      values.push_back(dot(row, means.subspan(u * cells, cells)));
    scores.contrasts.push_back(moments(values));
    for (double& value : values) value -= scores.contrasts.back().mean;
    scores.deviations.push_back(std::move(values));
  }
  return scores;
}

// tr(S)^2 / (k tr(S^2)), where S is the covariance matrix of the k contrasts.
double epsilon_of(const Scores& scores) {
  double trace = 0;
  double squares = 0;
  for (std::size_t i = 0; i < scores.deviations.size(); ++i) {
    trace += dot(scores.deviations[i], scores.deviations[i]);
    for (std::size_t j = 0; j < scores.deviations.size(); ++j) {
      const double s = dot(scores.deviations[i], scores.deviations[j]);
      squares += s * s;
    }
  }
  const double k = static_cast<double>(scores.deviations.size());
  return std::clamp(trace * trace / (k * squares), 1 / k, 1.0);
}

StratumTerm test(std::uint32_t term, std::span<const Row> rows, std::span<const double> means,
                 std::size_t units) {
  const Scores scores = scores_of(rows, means, units);
  const double n = static_cast<double>(units);
  StratumTerm result{.treatments = term, .df = static_cast<double>(rows.size())};
  result.error_df = result.df * (n - 1);
  for (const Moments& contrast : scores.contrasts) {
    result.ss += n * contrast.mean * contrast.mean;
    result.error_ss += contrast.ss;
  }
  if (rows.size() > 1 && units > rows.size() && result.error_ss > 0)
    result.epsilon = epsilon_of(scores);
  return result;
}

}  // namespace

std::optional<Strata> strata_of(std::span<const std::size_t> shape,
                                std::span<const std::size_t> cells,
                                std::span<const std::uint32_t> terms,
                                std::span<const Moments> table, double noise) {
  if (cells.empty() || cells.size() > most_cells) return std::nullopt;
  const std::size_t units = table.size() / cells.size();
  Strata result;
  std::vector<double> means;
  double reciprocals = 0;
  double n = 0;
  for (const Moments& cell : table) {
    means.push_back(cell.mean);
    reciprocals += 1 / static_cast<double>(cell.n);
    n += static_cast<double>(cell.n);
    result.within_ss += cell.ss;
    result.balanced = result.balanced && cell.n == table.front().n;
  }
  const double size = static_cast<double>(table.size());
  const double trials = result.balanced ? static_cast<double>(table.front().n) : size / reciprocals;
  const auto denoise = [&](double ss) { return ss <= n * noise ? 0 : ss; };
  result.within_df = n - size;
  result.within_ss = denoise(result.within_ss);
  Basis all(cells.size());
  const StratumTerm whole = test(0, all.rows(), means, units);
  result.unit_df = static_cast<double>(units - 1);
  result.unit_ss = denoise(trials * whole.error_ss);
  const std::size_t complete =
      std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  for (const std::uint32_t term : terms) {
    Basis adjusted(cells.size());
    if (cells.size() < complete)
      for (const std::uint32_t other : terms)
        if ((other & term) != term) add_term(other, shape, cells, adjusted);
    Basis& basis = cells.size() < complete ? adjusted : all;
    const std::size_t first = basis.rows().size();
    if (add_term(term, shape, cells, basis) == 0) continue;
    StratumTerm tested = test(term, basis.rows().subspan(first), means, units);
    tested.ss = denoise(trials * tested.ss);
    tested.error_ss = denoise(trials * tested.error_ss);
    if (tested.error_ss == 0) tested.epsilon.reset();
    result.terms.push_back(tested);
  }
  return result;
}

}  // namespace stab::stats
