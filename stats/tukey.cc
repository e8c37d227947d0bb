// SPDX-License-Identifier: MIT
#include "stats/tukey.h"

#include <algorithm>
#include <cmath>

#include "stats/sample.h"
#include "stats/studentized_range.h"

namespace stab::stats {

Result<std::vector<PairDifference>> tukey_hsd(std::span<const Moments> groups, double ms, double df,
                                              double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (groups.size() < 2) return fail("Tukey's differences need two groups or more");
  if (!std::ranges::all_of(groups, [](const Moments& g) { return g.n > 0; }))
    return fail("Tukey's differences need a number or more in each group");
  if (!std::isfinite(ms) || !(ms > 0))
    return fail("the numbers do not vary within the groups, so there is no error to test against");
  const auto critical = studentized_range_quantile(alpha, groups.size(), df);
  if (!critical) return fail("Tukey's differences need an error with a degree of freedom or more");
  std::vector<PairDifference> pairs;
  for (std::size_t a = 0; a < groups.size(); ++a)
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      const double reciprocals =
          1 / static_cast<double>(groups[a].n) + 1 / static_cast<double>(groups[b].n);
      const double error = std::sqrt(ms / 2 * reciprocals);
      const double difference = groups[b].mean - groups[a].mean;
      const auto p = studentized_range_tail(std::abs(difference) / error, groups.size(), df);
      if (!p) return fail("Tukey's differences need finite numbers, and one of them is not");
      pairs.push_back({.a = a,
                       .b = b,
                       .difference = difference,
                       .interval = {difference - *critical * error, difference + *critical * error},
                       .p = *p});
    }
  return pairs;
}

Result<std::vector<PairDifference>> tukey_hsd(std::span<const Moments> groups, double alpha) {
  double ss = 0;
  double n = 0;
  bool any_varies = false;
  for (const Moments& group : groups) {
    ss += group.ss;
    n += static_cast<double>(group.n);
    any_varies = any_varies || varies(group);
  }
  const double df = n - static_cast<double>(groups.size());
  if (df < 1) return fail("Tukey's differences need two numbers or more in a group");
  if (!any_varies)
    return fail("the numbers do not vary within the groups, so there is no error to test against");
  return tukey_hsd(groups, ss / df, df, alpha);
}

}  // namespace stab::stats
