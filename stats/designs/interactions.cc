// SPDX-License-Identifier: MIT
#include "stats/designs/interactions.h"

#include <cmath>

#include "stats/data/terms.h"
#include "stats/designs/contrasts.h"
#include "stats/designs/table.h"

namespace stab::stats {

Interaction make_interaction(const Prepared& data, const std::string& subject, std::string term,
                             const Estimate& estimate) {
  Interaction result{.subject = subject, .term = std::move(term)};
  const auto back = [&](double x) { return data.scale.log ? std::exp(x) : x; };
  (data.scale.log ? result.ratio : result.difference) = back(estimate.difference);
  result.p = data.p(p_value(estimate));
  const double level = data.level(data.spec.alpha);
  const auto interval = level > 0 ? difference_interval(estimate, level) : std::nullopt;
  if (interval) {
    result.low = back(interval->low);
    result.high = back(interval->high);
  }
  return result;
}

void add_interactions(const Prepared& data, const std::string& subject, const Estimator& estimator,
                      const std::vector<Group>& cells, const SpreadOf& spread, Analysis& analysis) {
  for (const std::uint32_t term : two_level_interactions(data)) {
    const Contrast contrast = interaction_contrast(data, cells, term);
    if (contrast.weights.empty()) continue;
    const auto estimate = estimator(contrast);
    if (!estimate) continue;
    Interaction result =
        make_interaction(data, subject, term_name(term, layout(data).names), *estimate);
    result.aliases = aliases_of(data.spec, term);
    result.spread = spread(contrast.weights);
    analysis.interactions.push_back(std::move(result));
  }
}

}  // namespace stab::stats
