// SPDX-License-Identifier: MIT
#include "stats/tests/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "stats/numbers/distribution.h"
#include "stats/numbers/summary.h"
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
    return fail("the test of runs needs at least two values on each side of the median");
  const double a = static_cast<double>(test.below);
  const double b = static_cast<double>(test.above);
  test.expected = 1 + 2 * a * b / (a + b);
  test.exact = std::max(test.below, test.above) <= most_exact;
  test.p = test.exact ? exact_p(test) : approximate_p(test);
  return test;
}

namespace {

double polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) value = value * x + coefficients[i];
  return value;
}

// Many numbers are first laid out in short parts, each of which is then sorted: that takes half the
// time of sorting all at once. The numbers are finite: require_sample() has looked.
std::vector<double> sorted(std::span<const double> values) {
  constexpr std::size_t of_part = 16;
  const std::size_t parts = values.size() / of_part + 1;
  const auto [least, most] = std::ranges::minmax(values);
  const double scale = static_cast<double>(parts - 1) / (most - least);
  std::vector<double> result(values.begin(), values.end());
  if (values.size() >= 10'000 && std::isfinite(scale) && scale > 0) {
    const auto part_of = [&](double x) { return static_cast<std::size_t>((x - least) * scale); };
    std::vector<std::uint32_t> ends(parts + 1);
    for (const double x : values) ++ends[part_of(x) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    // Filling a part moves its begin to its end, which is the begin of the next part.
    for (const double x : values) result[ends[part_of(x)]++] = x;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      std::sort(result.begin() + static_cast<std::ptrdiff_t>(begin),
                result.begin() + static_cast<std::ptrdiff_t>(ends[i]));
      begin = ends[i];
    }
  } else {
    std::ranges::sort(result);
  }
  return result;
}

// The weights of the largest n/2 numbers, largest first. The smallest n/2 have the opposite
// weights.
std::vector<double> royston_weights(std::size_t count) {
  static constexpr double c1[] = {0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056};
  static constexpr double c2[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
  if (count == 3) return {std::sqrt(0.5)};
  const double n = static_cast<double>(count);
  std::vector<double> m(count / 2);
  double squares = 0;
  for (std::size_t i = 0; i < m.size(); ++i) {
    m[i] = -normal_quantile((static_cast<double>(i) + 0.625) / (n + 0.25)).value_or(0);
    squares += 2 * m[i] * m[i];
  }
  const double u = 1 / std::sqrt(n);
  const double first = polynomial(c1, u) + m[0] / std::sqrt(squares);
  double rest = squares - 2 * m[0] * m[0];
  double share = 1 - 2 * first * first;
  std::vector<double> weights(m.size());
  weights[0] = first;
  std::size_t next = 1;
  if (count > 5) {
    weights[1] = polynomial(c2, u) + m[1] / std::sqrt(squares);
    rest -= 2 * m[1] * m[1];
    share -= 2 * weights[1] * weights[1];
    next = 2;
  }
  for (; next < m.size(); ++next) weights[next] = m[next] / std::sqrt(rest / share);
  return weights;
}

// P(W < w). The argument is 1 - w, because w is close to 1 and would lose digits.
double royston_p(double one_minus_w, std::size_t count) {
  static constexpr double g[] = {-2.273, 0.459};
  static constexpr double c3[] = {0.544, -0.39978, 0.025054, -6.714e-4};
  static constexpr double c4[] = {1.3822, -0.77857, 0.062767, -0.0020322};
  static constexpr double c5[] = {-1.5861, -0.31082, -0.083751, 0.0038915};
  static constexpr double c6[] = {-0.4803, -0.082676, 0.0030302};
  const double n = static_cast<double>(count);
  if (count == 3) {
    const double p =
        6 / std::numbers::pi * (std::asin(std::sqrt(1 - one_minus_w)) - std::asin(std::sqrt(0.75)));
    return std::clamp(p, 0.0, 1.0);
  }
  const double y = std::log(one_minus_w);
  if (count <= 11) {
    const double gamma = polynomial(g, n);
    if (y >= gamma) return 0;
    return normal_tail((-std::log(gamma - y) - polynomial(c3, n)) / std::exp(polynomial(c4, n)));
  }
  const double log_n = std::log(n);
  return normal_tail((y - polynomial(c5, log_n)) / std::exp(polynomial(c6, log_n)));
}

}  // namespace

Result<NormalityTest> shapiro_wilk(std::span<const double> values) {
  if (const auto usable = require_sample(values, 3, "the Shapiro-Wilk test"); !usable)
    return std::unexpected(usable.error());
  if (values.size() > 5000) return fail("the Shapiro-Wilk test is defined for at most 5000 values");
  std::vector<double> x = sorted(values);
  const double center = x[x.size() / 2];
  const double range = x.back() - x.front();
  if (!std::isfinite(range) || !varies(moments(values)))
    return fail("the Shapiro-Wilk test needs values that differ, but are not too far apart");
  for (double& value : x) value = (value - center) / range;
  const std::vector<double> half = royston_weights(x.size());
  double weighted = 0;
  double weights = 0;
  for (std::size_t i = 0; i < half.size(); ++i) {
    weighted += half[i] * (x[x.size() - 1 - i] - x[i]);
    weights += 2 * half[i] * half[i];
  }
  const double root = std::sqrt(weights * moments(x).ss);
  const double one_minus_w = std::max(0.0, (root - weighted) * (root + weighted) / (root * root));
  const double p = one_minus_w > 0 ? royston_p(one_minus_w, x.size()) : 1;
  return NormalityTest{.statistic = 1 - one_minus_w, .p = p};
}

Result<NormalityTest> anderson_darling(std::span<const double> values) {
  if (const auto usable = require_sample(values, 8, "the Anderson-Darling test"); !usable)
    return std::unexpected(usable.error());
  const Moments all = moments(values);
  if (!varies(all)) return fail("the Anderson-Darling test needs values that are not all equal");
  const std::vector<double> x = sorted(values);
  const double n = static_cast<double>(x.size());
  const double sd = std::sqrt(all.ss / (n - 1));
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double below = (x[i] - all.mean) / sd;
    const double above = (x[x.size() - 1 - i] - all.mean) / sd;
    sum += (2 * static_cast<double>(i) + 1) * (log_normal_cdf(below) + log_normal_cdf(-above));
  }
  const double a = -n - sum / n;
  const double m = a * (1 + 0.75 / n + 2.25 / (n * n));
  double p = 0;
  if (m < 0.2)
    p = -std::expm1(-13.436 + 101.14 * m - 223.73 * m * m);
  else if (m < 0.34)
    p = -std::expm1(-8.318 + 42.796 * m - 59.938 * m * m);
  else if (m < 0.6)
    p = std::exp(0.9177 - 4.279 * m - 1.38 * m * m);
  else if (m < 10)
    p = std::exp(1.2937 - 5.709 * m + 0.0186 * m * m);
  else
    p = 3.7e-24;
  return NormalityTest{.statistic = a, .p = p};
}

}  // namespace stab::stats
