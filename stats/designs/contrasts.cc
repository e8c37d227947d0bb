// SPDX-License-Identifier: MIT
#include "stats/designs/contrasts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "stats/data/terms.h"
#include "stats/numbers/distribution.h"
#include "stats/tests/spread.h"

namespace stab::stats {
namespace {

bool varies(const Moments& numbers, double noise) {
  return numbers.ss > static_cast<double>(numbers.n) * noise;
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
  double others = 1;  // the number of cells with the same levels of the term's treatments
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

SpreadOf spread_by_blocks(const Prepared& data, const Subject& subject,
                          const std::vector<Group>& cells) {
  return [&](std::span<const double> weights) -> std::optional<Spread> {
    std::vector<UnitNumbers> numbers;  // for each cell with a weight
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (weights[i] == 0) continue;
      Contrast one{.weights = std::vector<double>(cells.size())};
      one.weights[i] = 1;
      numbers.push_back(block_numbers(subject, cells, one));
      if (!varies(moments(numbers.back().difference), data.noise)) return std::nullopt;
    }
    std::vector<double> own;
    std::ranges::copy_if(weights, std::back_inserter(own), [](double w) { return w != 0; });
    numbers = in_common(numbers);
    std::vector<std::vector<double>> in_blocks;
    for (UnitNumbers& cell : numbers) in_blocks.push_back(std::move(cell.difference));
    return spread_within_blocks(in_blocks, own, data.spec.alpha);
  };
}

SpreadOf spread_by_numbers(const Prepared& data, const std::vector<std::vector<double>>& cells) {
  std::vector<std::optional<CellSpread>> known;  // comparisons share cells
  for (const std::vector<double>& numbers : cells) {
    known.push_back(cell_spread(numbers));
    if (known.back() && !(known.back()->ss > static_cast<double>(known.back()->n) * data.noise))
      known.back().reset();
  }
  return [known = std::move(known), alpha = data.spec.alpha](std::span<const double> weights) {
    return spread_between_cells(known, weights, alpha);
  };
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
