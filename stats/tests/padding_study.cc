// SPDX-License-Identifier: MIT
#include "stats/tests/padding_study.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/distribution.h"
#include "stats/tests/sample.h"

namespace stab::stats {

Result<PaddingStudy> padding_study(std::span<const SeedTrials> seeds, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (seeds.size() < 2) return fail("a padding study needs at least two seeds");
  PaddingStudy study;
  for (const SeedTrials& seed : seeds) {
    for (const auto* arm : {&seed.before, &seed.after}) {
      if (const auto usable = require_sample(*arm, 1, "a padding study"); !usable)
        return std::unexpected(usable.error());
      if (std::ranges::min(*arm) <= 0) return fail("a padding study needs values above 0");
    }
    study.percent.push_back(100 * (moments(seed.after).mean / moments(seed.before).mean - 1));
  }
  const Moments all = moments(study.percent);
  const auto interval = mean_interval(all, alpha);
  if (!varies(all) || !interval)
    return fail("the differences are the same for all seeds, so there is no error to test against");
  study.mean = all.mean;
  study.interval = *interval;
  const double n = static_cast<double>(all.n);
  const auto p = t_two_sided(all.mean / std::sqrt(all.ss / (n - 1) / n), n - 1);
  if (!p) return fail("the p of the padding study is beyond what can be computed");
  study.p = *p;
  return study;
}

}  // namespace stab::stats
