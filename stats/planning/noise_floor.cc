// SPDX-License-Identifier: MIT
#include "stats/planning/noise_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/numbers/summary.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

Result<void> require_programs(std::span<const AaProgram> programs, std::size_t groups) {
  for (const AaProgram& program : programs)
    if (auto usable = require_sample(program.groups, groups, "an A/A calibration"); !usable)
      return usable;
  return {};
}

struct Distance {
  double size = 0;  // |log ratio|
  std::size_t program = 0;
};

// The distances of each program, smallest first.
std::vector<Distance> distances_of(std::span<const AaProgram> programs, Pairs pairs) {
  std::vector<Distance> result;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const std::vector<double>& groups = programs[p].groups;
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (std::size_t j = i + 1; j < groups.size(); ++j)
        if (pairs == Pairs::all || (i % 2 == 0 && j == i + 1))
          result.push_back({.size = std::abs(groups[j] - groups[i]), .program = p});
  }
  std::ranges::sort(result, {}, &Distance::size);
  return result;
}

// Returns the smallest distance within which a share 1 - alpha of the weight lies. `weights` has
// the weight of one pair of each program.
double weighted_quantile(std::span<const Distance> distances, std::span<const double> weights,
                         double alpha) {
  double total = 0;
  for (const Distance& distance : distances) total += weights[distance.program];
  double sum = 0;
  for (const Distance& distance : distances) {
    sum += weights[distance.program];
    if (sum >= (1 - alpha) * total * (1 - 1e-12)) return distance.size;
  }
  return distances.back().size;
}

double pairs_of(const AaProgram& program, Pairs pairs) {
  const std::size_t n = program.groups.size();
  return static_cast<double>(pairs == Pairs::all ? n * (n - 1) / 2 : n / 2);
}

}  // namespace

Result<NoiseFloor> noise_floor_disjoint(std::span<const AaProgram> programs, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (const auto usable = require_programs(programs, 0); !usable)
    return std::unexpected(usable.error());
  std::vector<double> distances;
  for (const AaProgram& program : programs)
    for (std::size_t i = 1; i < program.groups.size(); i += 2)
      distances.push_back(std::abs(program.groups[i] - program.groups[i - 1]));
  const double m = static_cast<double>(distances.size());
  const double position = std::ceil((1 - alpha) * (m + 1) * (1 - 1e-12));
  if (position > m)
    return fail(
        fmt::format("a noise floor at a confidence of {:.4g} % needs {:.0f} disjoint pairs, but "
                    "there are only {:.0f}",
                    100 * (1 - alpha), std::ceil((1 / alpha - 1) * (1 - 1e-12)), m));
  std::ranges::sort(distances);
  return NoiseFloor{.margin = std::expm1(distances[static_cast<std::size_t>(position) - 1]),
                    .interval = std::nullopt,
                    .comparisons = distances.size(),
                    .programs = programs.size()};
}

Result<NoiseFloor> noise_floor_clustered(std::span<const AaProgram> programs, double alpha,
                                         std::uint64_t seed, Pairs pairs, std::size_t draws) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (programs.size() < 5) return fail("a bootstrap over programs needs at least five programs");
  if (draws < 200) return fail("a bootstrap needs at least 200 draws");
  if (const auto usable = require_programs(programs, 4); !usable)
    return std::unexpected(usable.error());
  const std::vector<Distance> distances = distances_of(programs, pairs);
  std::vector<double> equal;
  for (const AaProgram& program : programs) equal.push_back(1 / pairs_of(program, pairs));
  Random random(seed);
  std::vector<double> drawn(draws);
  for (double& margin : drawn) {
    std::vector<double> weights(programs.size());
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::size_t p = random.below(programs.size());
      weights[p] += equal[p];
    }
    margin = std::expm1(weighted_quantile(distances, weights, alpha));
  }
  std::ranges::sort(drawn);
  return NoiseFloor{.margin = std::expm1(weighted_quantile(distances, equal, alpha)),
                    .interval = Interval{sorted_quantile(drawn, alpha / 2),
                                         sorted_quantile(drawn, 1 - alpha / 2)},
                    .comparisons = distances.size(),
                    .programs = programs.size()};
}

}  // namespace stab::stats
