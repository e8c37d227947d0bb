// SPDX-License-Identifier: MIT
// For tests: experiments of a history.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "results/history.h"

namespace stab::results::history {

inline Experiment experiment(std::int64_t id, double mean) {
  return {.id = id,
          .name = "nightly",
          .at_ns = id * 1'000'000'000,
          .machine = "lab: a CPU, 2 CPUs, Linux 6.1, Debian",
          .hardware = "lab: a CPU, 2 CPUs",
          .settings = {"CC = clang-22"},
          .response = "wall",
          .unit = stats::Unit::nanoseconds,
          .log_scale = true,
          .means = {{.n = 30, .mean = mean, .low = mean * 0.99, .high = mean * 1.01}}};
}

inline std::vector<Experiment> step(double after) {
  std::vector<Experiment> all;
  for (int i = 1; i <= 16; ++i)
    all.push_back(experiment(i, (i <= 9 ? 1e6 : 1e6 * after) * (1 + (i * 5 % 7) / 1000.0)));
  return all;
}

// The same experiments on nodes of a cluster: on `nodes`, and from the experiment `from` on, on
// `later`.
inline std::vector<Experiment> on_nodes(std::vector<Experiment> all, std::size_t from,
                                        const std::vector<std::string>& nodes,
                                        const std::vector<std::string>& later) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].nodes = i < from ? nodes : later;
    all[i].pool = "a CPU, 2 CPUs";
    all[i].hardware = fmt::format("{}: a CPU, 2 CPUs", fmt::join(all[i].nodes, ", "));
    all[i].machine = all[i].hardware + ", Linux 6.1, Debian";
  }
  return all;
}

// The sizes of three builds, of which the last one is larger.
inline std::vector<Experiment> sizes() {
  std::vector<Experiment> all;
  for (const double size : {1000.0, 1000.0, 1016.0})
    all.push_back(experiment(static_cast<std::int64_t>(all.size()) + 1, size));
  for (Experiment& each : all) {
    each.response = "code-size";
    each.unit = stats::Unit::bytes;
    each.facts = true;
    each.means[0].low = each.means[0].high = std::nullopt;
  }
  return all;
}

inline double normal(Random& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Many cells, of which the first two have a step in the middle.
inline std::vector<Experiment> steps_of(int cells, int length) {
  Random random(29);
  std::vector<Experiment> all;
  for (int i = 1; i <= length; ++i) {
    all.push_back(experiment(i, 0));
    all.back().means.clear();
    for (int cell = 0; cell < cells; ++cell)
      all.back().means.push_back(
          {.levels = {{"x", std::to_string(cell)}},
           .n = 30,
           .mean = (cell > 1 || 2 * i <= length ? 1e6 : 2e6) * std::exp(0.01 * normal(random))});
  }
  return all;
}

}  // namespace stab::results::history
