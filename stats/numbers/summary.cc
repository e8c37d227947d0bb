// SPDX-License-Identifier: MIT
#include "stats/numbers/summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "stats/numbers/distribution.h"

namespace stab::stats {

void Moments::add(double x) {
  ++n;
  const double delta = x - mean;
  mean += delta / static_cast<double>(n);
  ss += delta * (x - mean);
}

void Moments::merge(const Moments& other) {
  if (other.n == 0) return;
  const double total = static_cast<double>(n + other.n);
  const double share = static_cast<double>(other.n) / total;
  const double delta = other.mean - mean;
  ss += other.ss + delta * delta * static_cast<double>(n) * share;
  mean += delta * share;
  n += other.n;
}

std::optional<double> Moments::variance() const {
  if (n < 2) return std::nullopt;
  return ss / static_cast<double>(n - 1);
}

Moments moments(std::span<const double> values) {
  Moments result;
  for (const double x : values) result.add(x);
  return result;
}

std::optional<Interval> mean_interval(const Moments& moments, double alpha) {
  if (moments.n < 2) return std::nullopt;
  const double n = static_cast<double>(moments.n);
  const auto t = t_upper_quantile(alpha / 2, n - 1);
  if (!t) return std::nullopt;
  const double half = *t * std::sqrt(*moments.variance() / n);
  return Interval{moments.mean - half, moments.mean + half};
}

namespace {

// The number of values up to some d, and the smallest of the other values.
struct Split {
  std::uint64_t count = 0;
  double next = std::numeric_limits<double>::infinity();
};

// The k-th smallest value, which is between low and high. Bisection ends soon unless the value is
// 0, where doubles are dense. In that case the last steps go from value to value.
template <class At>
double nth_value(At split, double low, double high, std::uint64_t k) {
  if (split(low).count >= k) return low;
  for (int i = 0; i < 100; ++i) {
    const double middle = low / 2 + high / 2;
    if (middle <= low || middle >= high) return high;
    (split(middle).count >= k ? high : low) = middle;
  }
  while (low < high) {
    low = split(low).next;
    if (split(low).count >= k) return low;
  }
  return high;
}

double mean_of_two(double a, double b) {
  return a / 2 + b / 2;
}

}  // namespace

double median(std::span<const double> values) {
  std::vector<double> x(values.begin(), values.end());
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  if (x.size() % 2 == 1) return *middle;
  return mean_of_two(*std::max_element(x.begin(), middle), *middle);
}

double sorted_quantile(std::span<const double> sorted, double share) {
  const double last = static_cast<double>(sorted.size());
  const double position = std::clamp(share * (last + 1), 1.0, last);
  const double below = std::floor(position);
  const std::size_t i = static_cast<std::size_t>(below) - 1;
  if (i + 1 >= sorted.size()) return sorted.back();
  return sorted[i] + (position - below) * (sorted[i + 1] - sorted[i]);
}

Ranks ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  Ranks result;
  result.ranks.resize(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double t = static_cast<double>(end - i);
    result.ties += t * t * t - t;
    for (std::size_t j = i; j < end; ++j)
      result.ranks[order[j]] = (static_cast<double>(i + end) + 1) / 2;
    i = end;
  }
  return result;
}

double nth_difference(std::span<const double> a, std::span<const double> b, std::uint64_t k) {
  const auto split = [&](double d) {
    Split result;
    std::size_t j = b.size();  // b[j] and all above give differences of at most d
    for (const double x : a) {
      while (j > 0 && x - b[j - 1] <= d) --j;
      while (j < b.size() && x - b[j] > d) ++j;
      result.count += b.size() - j;
      if (j > 0) result.next = std::min(result.next, x - b[j - 1]);
    }
    return result;
  };
  return nth_value(split, a.front() - b.back(), a.back() - b.front(), k);
}

double nth_walsh_average(std::span<const double> x, std::uint64_t k) {
  const auto split = [&](double d) {
    Split result;
    std::size_t end = x.size();  // x[j] with j < end has a mean of at most d with x[i]
    for (std::size_t i = 0; i < x.size(); ++i) {
      while (end > 0 && mean_of_two(x[i], x[end - 1]) > d) --end;
      const std::size_t above = std::max(i, end);
      if (above < x.size()) result.next = std::min(result.next, mean_of_two(x[i], x[above]));
      if (end <= i) break;
      result.count += end - i;
    }
    return result;
  };
  return nth_value(split, x.front(), x.back(), k);
}

}  // namespace stab::stats
