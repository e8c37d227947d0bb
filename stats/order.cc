// SPDX-License-Identifier: MIT
#include "stats/order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stab::stats {
namespace {

// The smallest double at which `count`, a step function, reaches k; it does at `high`.
template <class Count>
double first_reaching(Count count, double low, double high, std::uint64_t k) {
  if (count(low) >= k) return low;
  for (;;) {
    const double middle = low / 2 + high / 2;
    if (middle <= low || middle >= high) return high;
    (count(middle) >= k ? high : low) = middle;
  }
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
  const auto count = [&](double d) {
    std::uint64_t pairs = 0;
    std::size_t j = b.size();  // b[j] and all above give differences of at most d
    for (const double x : a) {
      while (j > 0 && x - b[j - 1] <= d) --j;
      while (j < b.size() && x - b[j] > d) ++j;
      pairs += b.size() - j;
    }
    return pairs;
  };
  return first_reaching(count, a.front() - b.back(), a.back() - b.front(), k);
}

double nth_walsh_average(std::span<const double> x, std::uint64_t k) {
  const auto count = [&](double d) {
    std::uint64_t pairs = 0;
    std::size_t end = x.size();  // x[j] with j < end has a mean of at most d with x[i]
    for (std::size_t i = 0; i < x.size(); ++i) {
      while (end > 0 && mean_of_two(x[i], x[end - 1]) > d) --end;
      if (end <= i) break;
      pairs += end - i;
    }
    return pairs;
  };
  return first_reaching(count, x.front(), x.back(), k);
}

}  // namespace stab::stats
