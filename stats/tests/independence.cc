// SPDX-License-Identifier: MIT
#include "stats/tests/independence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/numbers/order.h"
#include "stats/numbers/tails.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_exact = 50;

double choose(double n, double k) {
  double result = 1;
  for (double i = 1; i <= k; ++i) result *= (n - k + i) / i;
  return k > n ? 0 : result;
}

// Returns how many arrangements of a things of one kind and b of another have this many runs.
double arrangements(double a, double b, std::size_t runs) {
  const double half = static_cast<double>(runs / 2);
  if (runs % 2 == 0) return 2 * choose(a - 1, half - 1) * choose(b - 1, half - 1);
  return choose(a - 1, half) * choose(b - 1, half - 1) +
         choose(a - 1, half - 1) * choose(b - 1, half);
}

double exact_p(const RunsTest& test) {
  const double a = static_cast<double>(test.below);
  const double b = static_cast<double>(test.above);
  double at_most = 0;
  double at_least = 0;
  for (std::size_t runs = 2; runs <= test.below + test.above; ++runs) {
    const double share = arrangements(a, b, runs);
    if (runs <= test.runs) at_most += share;
    if (runs >= test.runs) at_least += share;
  }
  return std::min(1.0, 2 * std::min(at_most, at_least) / choose(a + b, a));
}

double approximate_p(const RunsTest& test) {
  const double n = static_cast<double>(test.below + test.above);
  const double product = 2 * static_cast<double>(test.below) * static_cast<double>(test.above);
  const double variance = product * (product - n) / (n * n * (n - 1));
  const double z = (static_cast<double>(test.runs) - test.expected) / std::sqrt(variance);
  return 2 * normal_tail(std::abs(z));
}

}  // namespace

Result<AutocorrelationTest> lag1_autocorrelation(std::span<const double> values) {
  if (const auto usable = require_sample(values, 8, "the test of autocorrelation"); !usable)
    return std::unexpected(usable.error());
  const Moments all = moments(values);
  if (!varies(all)) return fail("values that are all equal have no autocorrelation");
  double products = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    products += (values[i - 1] - all.mean) * (values[i] - all.mean);
  const double n = static_cast<double>(values.size());
  AutocorrelationTest test{.r = products / all.ss};
  test.z = (n * test.r + 1) * std::sqrt(n - 1) / (n - 2);
  test.p = 2 * normal_tail(std::abs(test.z));
  return test;
}

Result<RunsTest> runs_test(std::span<const double> values) {
  if (const auto usable = require_sample(values, 4, "the runs test"); !usable)
    return std::unexpected(usable.error());
  const double middle = median(values);
  RunsTest test;
  int last = 0;
  for (const double x : values) {
    if (x == middle) continue;
    const int side = x < middle ? -1 : 1;
    ++(side < 0 ? test.below : test.above);
    if (side != last) ++test.runs;
    last = side;
  }
  if (test.below < 2 || test.above < 2)
    return fail("the runs test needs at least two values on each side of the median");
  const double a = static_cast<double>(test.below);
  const double b = static_cast<double>(test.above);
  test.expected = 1 + 2 * a * b / (a + b);
  test.exact = std::max(test.below, test.above) <= most_exact;
  test.p = test.exact ? exact_p(test) : approximate_p(test);
  return test;
}

}  // namespace stab::stats
