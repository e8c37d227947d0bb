// SPDX-License-Identifier: MIT
#include "stats/tests/equal_variances.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/numbers/distribution.h"
#include "stats/numbers/order.h"
#include "stats/tests/sample.h"

namespace stab::stats {

Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups) {
  constexpr const char* name = "a test of equal variances";
  if (groups.size() < 2) return fail("a test of equal variances needs at least two groups");
  Moments all;
  double within = 0;
  double rounding = 0;
  for (const std::vector<double>& group : groups) {
    if (const auto usable = require_sample(group, 2, name); !usable)
      return std::unexpected(usable.error());
    const double middle = median(group);
    Moments distances;
    for (const double x : group) {
      distances.add(std::abs(x - middle));
      const double error = 4 * std::numeric_limits<double>::epsilon() * std::abs(x);
      rounding += error * error;
    }
    within += distances.ss;
    all.merge(distances);
  }
  if (!std::isfinite(all.ss)) return fail("the values are too large for a test of equal variances");
  if (!(within > rounding))
    return fail(
        "within each group all values are equally far from the median, so there is no error to "
        "test against");
  VarianceTest test{.df1 = static_cast<double>(groups.size() - 1),
                    .df2 = static_cast<double>(all.n - groups.size())};
  test.f = std::max(0.0, all.ss - within) / test.df1 / (within / test.df2);
  const auto p = f_tail(test.f, test.df1, test.df2);
  if (!p)
    return fail(
        "the F statistic of the test for equal variances is too large or too small to compute");
  test.p = *p;
  return test;
}

}  // namespace stab::stats
