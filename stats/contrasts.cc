// SPDX-License-Identifier: MIT
#include "stats/contrasts.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "stats/distribution.h"
#include "stats/terms.h"

namespace stab::stats {
namespace {

struct Powers {
  double n = 0;
  double second = 0;
  double fourth = 0;
};

Powers powers_of(std::span<const double> deviations) {
  Powers sums{.n = static_cast<double>(deviations.size())};
  for (const double d : deviations) {
    sums.second += d * d;
    sums.fourth += d * d * d * d;
  }
  return sums;
}

}  // namespace

std::vector<std::uint32_t> two_level_interactions(const Prepared& data) {
  if (!data.spec.chains.empty()) {
    std::vector<std::uint32_t> heads;
    for (const AliasChain& chain : data.spec.chains)
      if (std::popcount(chain.effect) > 1) heads.push_back(chain.effect);
    return heads;
  }
  std::vector<std::size_t> shape;
  for (const Treatment& treatment : data.treatments) shape.push_back(treatment.levels.size());
  std::vector<std::uint32_t> result;
  for (const std::uint32_t term : all_terms(shape, shape.size())) {
    bool two = std::popcount(term) > 1;
    for (std::size_t i = 0; i < shape.size(); ++i)
      two = two && ((term >> i & 1U) == 0 || shape[i] == 2);
    if (two) result.push_back(term);
  }
  return result;
}

Contrast interaction_contrast(const Prepared& data, const std::vector<Group>& cells,
                              std::uint32_t term) {
  const bool is_fraction = !data.spec.chains.empty();
  if (cells.size() != data.design_cells()) return {};
  double others = 1;  // cells with the same levels of the term's treatments
  for (std::size_t i = 0; i < data.treatments.size(); ++i)
    if ((term >> i & 1U) == 0) others *= static_cast<double>(data.treatments[i].levels.size());
  if (is_fraction) others = std::ldexp(static_cast<double>(cells.size()), -std::popcount(term));
  Contrast contrast;
  for (const Group& cell : cells) {
    const std::vector<std::size_t> levels = data.levels_of(cell.cell);
    double weight = 1 / others;
    for (std::size_t i = 0; i < levels.size(); ++i)
      if ((term >> i & 1U) != 0 && levels[i] == 0) weight = -weight;
    contrast.weights.push_back(weight);
  }
  return contrast;
}

std::vector<std::vector<double>> by_cell_deviations(const Subject& subject,
                                                    const std::vector<Group>& cells) {
  std::vector<std::size_t> place(subject.groups.size());
  for (std::size_t i = 0; i < place.size(); ++i)
    place[i] = static_cast<std::size_t>(
        std::ranges::lower_bound(cells, subject.groups[i].cell, {}, &Group::cell) - cells.begin());
  std::vector<std::vector<double>> result(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) result[i].reserve(cells[i].y.n);
  for (const Trial& trial : subject.trials) {
    const std::size_t cell = place[trial.group];
    result[cell].push_back(trial.y - cells[cell].y.mean);
  }
  return result;
}

std::optional<Spread> spread_of(const std::vector<std::vector<double>>& deviations,
                                std::span<const double> weights, double alpha, double noise) {
  constexpr double least = 5;
  Powers all;
  std::vector<Powers> cells;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    cells.push_back(powers_of(deviations[i]));
    const Powers& cell = cells.back();
    if (weights[i] == 0) continue;
    if (cell.n < least || cell.second <= cell.n * noise) return std::nullopt;
    all.n += cell.n;
    // Pooled after scaling by each cell's variance, so that unequal ones do not count as tails.
    all.fourth += cell.fourth / (cell.second * cell.second) * cell.n * cell.n;
  }
  if (!(all.n > 0)) return std::nullopt;
  const double kurtosis = all.fourth / all.n;
  double difference = 0;
  double variance = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const double n = cells[i].n;
    difference += weights[i] * std::log(cells[i].second / (n - 1));
    variance += weights[i] * weights[i] * std::max(0.0, kurtosis - (n - 3) / n) / (n - 1);
  }
  if (!(variance > 0)) return std::nullopt;
  const boost::math::normal normal;
  const double error = std::sqrt(variance);
  const double half = boost::math::quantile(boost::math::complement(normal, alpha / 2)) * error;
  return Spread{
      .ratio = std::exp(difference),
      .low = std::exp(difference - half),
      .high = std::exp(difference + half),
      .p = 2 * boost::math::cdf(boost::math::complement(normal, std::abs(difference) / error))};
}

std::optional<Spread> spread_over(std::span<const double> ratios, double alpha) {
  Moments logs;
  for (const double ratio : ratios) logs.add(std::log(ratio));
  const auto interval = mean_interval(logs, alpha);
  if (logs.n < 3 || !interval || !(logs.ss > 0)) return std::nullopt;
  const double n = static_cast<double>(logs.n);
  const auto p = t_two_sided(logs.mean / std::sqrt(*logs.variance() / n), n - 1);
  if (!p) return std::nullopt;
  return Spread{.ratio = std::exp(logs.mean),
                .low = std::exp(interval->low),
                .high = std::exp(interval->high),
                .p = *p};
}

}  // namespace stab::stats
