// SPDX-License-Identifier: MIT
#include "stats/tests/wilcoxon.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "stats/numbers/distribution.h"
#include "stats/numbers/summary.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

void normalise(std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (double& count : counts) count /= total;
}

}  // namespace

std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m) {
  if (n > m) std::swap(n, m);
  // ways[i][w]: ways to choose i of the numbers so far, such that w pairs have the chosen number
  // above the other.
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

namespace {

constexpr std::size_t fewest_inexact = 50;

// The two-sided p, corrected for continuity.
double normal_p(double statistic, double mean, double sd) {
  return std::min(1.0, 2 * normal_tail(std::max(0.0, std::abs(statistic - mean) - 0.5) / sd));
}

// The interval reaches from the k-th smallest of `total` shifts to the k-th largest, where k is the
// result. If k is 0, there is no interval.
std::uint64_t exact_bound(std::span<const double> distribution, double alpha) {
  return ranks_within(distribution, alpha / 2);
}

std::uint64_t normal_bound(double total, double sd, double alpha) {
  const double z = -normal_quantile(alpha / 2).value_or(0);
  return static_cast<std::uint64_t>(std::max(0.0, std::ceil(total / 2 - 0.5 - z * sd)));
}

template <class Nth>
void set_shift(RankTest& test, Nth nth, std::uint64_t total, std::uint64_t bound) {
  test.shift = total % 2 == 1 ? nth(total / 2 + 1) : nth(total / 2) / 2 + nth(total / 2 + 1) / 2;
  if (bound > 0) test.interval = Interval{nth(bound), nth(total + 1 - bound)};
}

Result<void> require_both(std::span<const double> a, std::span<const double> b, double alpha,
                          std::string_view test) {
  for (const auto& sample : {a, b})
    if (auto usable = require_sample(sample, 1, test); !usable) return usable;
  return require_alpha(alpha);
}

std::vector<double> in_order(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  std::ranges::sort(result);
  return result;
}

}  // namespace

Result<RankTest> rank_sum(std::span<const double> a, std::span<const double> b, double alpha) {
  if (const auto usable = require_both(a, b, alpha, "the rank sum test"); !usable)
    return std::unexpected(usable.error());
  std::vector<double> all(b.begin(), b.end());
  all.insert(all.end(), a.begin(), a.end());
  const Ranks order = ranks(all);
  const double n = static_cast<double>(a.size());
  const double m = static_cast<double>(b.size());
  RankTest test;
  for (std::size_t i = 0; i < b.size(); ++i) test.statistic += order.ranks[i];
  test.statistic -= m * (m + 1) / 2;
  const double variance = n * m / 12 * (n + m + 1 - order.ties / ((n + m) * (n + m - 1)));
  if (!(variance > 0)) return fail("the rank sum test needs values that are not all equal");
  const double sd = std::sqrt(variance);
  test.exact = a.size() < fewest_inexact && b.size() < fewest_inexact && order.ties == 0;
  std::uint64_t bound = 0;
  if (test.exact) {
    const auto distribution = rank_sum_distribution(a.size(), b.size());
    test.p = two_sided(distribution, static_cast<std::size_t>(test.statistic));
    bound = exact_bound(distribution, alpha);
  } else {
    test.p = normal_p(test.statistic, n * m / 2, sd);
    bound = normal_bound(n * m, sd, alpha);
  }
  const std::vector<double> x = in_order(a);
  const std::vector<double> y = in_order(b);
  const auto nth = [&](std::uint64_t k) { return nth_difference(y, x, k); };
  set_shift(test, nth, std::uint64_t{a.size()} * b.size(), bound);
  return test;
}

Result<RankTest> signed_rank(std::span<const double> a, std::span<const double> b, double alpha) {
  if (a.size() != b.size()) return fail("the signed rank test needs samples of the same size");
  if (const auto usable = require_both(a, b, alpha, "the signed rank test"); !usable)
    return std::unexpected(usable.error());
  std::vector<double> differences;
  std::vector<double> sizes;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    differences.push_back(b[i] - a[i]);
    sizes.push_back(std::abs(b[i] - a[i]));
  }
  if (differences.empty())
    return fail("the signed rank test needs at least one pair whose two values differ");
  if (!std::isfinite(std::ranges::max(sizes)))
    return fail("the values are too far apart for the signed rank test");
  const Ranks order = ranks(sizes);
  const std::size_t count = differences.size();
  const double n = static_cast<double>(count);
  RankTest test;
  for (std::size_t i = 0; i < count; ++i)
    if (differences[i] > 0) test.statistic += order.ranks[i];
  const double sd = std::sqrt(n * (n + 1) * (2 * n + 1) / 24 - order.ties / 48);
  const double total = n * (n + 1) / 2;
  test.exact = count < fewest_inexact && order.ties == 0 && count == a.size();
  std::uint64_t bound = 0;
  if (test.exact) {
    const auto distribution = signed_rank_distribution(count);
    test.p = two_sided(distribution, static_cast<std::size_t>(test.statistic));
    bound = exact_bound(distribution, alpha);
  } else {
    test.p = normal_p(test.statistic, total / 2, sd);
    bound = normal_bound(total, sd, alpha);
  }
  std::ranges::sort(differences);
  const auto nth = [&](std::uint64_t k) { return nth_walsh_average(differences, k); };
  set_shift(test, nth, std::uint64_t{count} * (count + 1) / 2, bound);
  return test;
}

}  // namespace stab::stats
