// SPDX-License-Identifier: MIT
#include "stats/interactions.h"

#include <cmath>
#include <optional>

#include "stats/contrasts.h"
#include "stats/table.h"
#include "stats/terms.h"

namespace stab::stats {
namespace {

// The difference of differences, without its baseline; `weights` belong to `cells`.
std::optional<Estimate> interaction_of(const FactorialModel& model, const std::vector<Group>& cells,
                                       const Weights& weights) {
  std::vector<std::size_t> minus;
  std::vector<std::size_t> plus;
  double size = 0;  // of all positive weights
  for (std::size_t i = 0; i < weights.size(); ++i) {
    (weights[i] < 0 ? minus : plus).push_back(cells[i].cell);
    if (weights[i] > 0) size += weights[i];
  }
  if (minus.empty() || plus.empty()) return std::nullopt;
  auto estimate = model.contrast(minus, plus);
  if (!estimate) return std::nullopt;
  estimate->difference *= size;
  estimate->variance *= size * size;
  return estimate;
}

}  // namespace

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

void add_interactions(const Prepared& data, const std::string& subject, const FactorialModel& model,
                      const std::vector<Group>& cells,
                      const std::vector<std::vector<double>>& deviations, Analysis& analysis) {
  if (model.result().order < data.active().size()) return;
  for (const std::uint32_t term : two_level_interactions(data)) {
    const Weights weights = interaction_weights(data, cells, term);
    const auto estimate = interaction_of(model, cells, weights);
    if (!estimate) continue;
    Interaction result =
        make_interaction(data, subject, term_name(term, layout(data).names), *estimate);
    result.aliases = aliases_of(data.spec, term);
    result.spread = spread_of(deviations, weights, data.spec.alpha, data.noise);
    analysis.interactions.push_back(std::move(result));
  }
}

}  // namespace stab::stats
