// SPDX-License-Identifier: MIT
#include "stats/tests/normality.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "stats/numbers/tails.h"
#include "stats/tests/sample.h"

namespace stab::stats {
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
    return fail("the Shapiro-Wilk test needs values that are neither all equal nor too far apart");
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
