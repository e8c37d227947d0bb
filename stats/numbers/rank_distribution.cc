// SPDX-License-Identifier: MIT
#include "stats/numbers/rank_distribution.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stab::stats {
namespace {

void normalise(std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (double& count : counts) count /= total;
}

}  // namespace

std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m) {
  if (n > m) std::swap(n, m);
  // ways[i][w]: choices of i of the numbers so far that exceed w of those not chosen.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1));
  ways[0][0] = 1;
  for (std::size_t rank = 1; rank <= n + m; ++rank)
    for (std::size_t i = std::min(rank, n); i >= 1; --i) {
      if (rank - i > m) continue;
      const std::size_t exceeded = rank - i;
      for (std::size_t w = exceeded; w <= n * m; ++w) ways[i][w] += ways[i - 1][w - exceeded];
    }
  normalise(ways[n]);
  return std::move(ways[n]);
}

std::vector<double> signed_rank_distribution(std::size_t n) {
  std::vector<double> ways(n * (n + 1) / 2 + 1);
  ways[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank)
    for (std::size_t w = ways.size() - 1; w >= rank; --w) ways[w] += ways[w - rank];
  normalise(ways);
  return ways;
}

double two_sided(std::span<const double> distribution, std::size_t w) {
  const std::size_t nearer = std::min(w, distribution.size() - 1 - w);
  double tail = 0;
  for (std::size_t i = 0; i <= nearer; ++i) tail += distribution[i];
  return std::min(1.0, 2 * tail);
}

std::size_t ranks_within(std::span<const double> distribution, double tail) {
  double sum = 0;
  for (std::size_t w = 0; w < distribution.size(); ++w) {
    sum += distribution[w];
    if (sum > tail * (1 + 100 * std::numeric_limits<double>::epsilon())) return w;
  }
  return distribution.size();
}

}  // namespace stab::stats
