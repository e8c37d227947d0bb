// SPDX-License-Identifier: MIT
#include "stats/verdicts/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "stats/numbers/tails.h"
#include "stats/planning/noise_floor.h"
#include "stats/tests/student.h"

namespace stab::stats {
namespace {

// One comparison of one benchmark: the mean logarithms of both arms in each complete block.
struct Comparison {
  std::vector<double> a{};
  std::vector<double> b{};

  [[nodiscard]] double mean_a() const { return moments(a).mean; }
  [[nodiscard]] double mean_b() const { return moments(b).mean; }
};
using Comparisons = std::map<std::uint32_t, Comparison>;  // by number
using Benchmarks = std::map<std::uint32_t, Comparisons>;  // by the code of their names

std::uint32_t code_of(const Column* column, std::size_t row) {
  return column == nullptr ? 0 : column->codes[row];
}

Benchmarks collect(const Dataset& data, const Spec& spec) {
  const Column* subject = data.find(spec.subject);
  const Column* block = data.find(spec.block);
  const Column* comparison = data.find(spec.comparison);
  const Column* arm = spec.treatments.empty() ? nullptr : data.find(spec.treatments.front());
  if (block == nullptr || comparison == nullptr || arm == nullptr) return {};
  using Block = std::array<Moments, 2>;
  std::map<std::array<std::uint32_t, 3>, Block> blocks;
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const double value = data.response[row] + data.centre;
    if (!std::isfinite(value) || value <= 0 || arm->codes[row] > 1) continue;
    blocks[{code_of(subject, row), comparison->codes[row], block->codes[row]}][arm->codes[row]].add(
        std::log(value));
  }
  Benchmarks result;
  for (const auto& [key, arms] : blocks) {
    if (arms[0].n == 0 || arms[1].n == 0) continue;
    Comparison& found = result[key[0]][key[1]];
    found.a.push_back(arms[0].mean);
    found.b.push_back(arms[1].mean);
  }
  return result;
}

// Drops the comparisons that have lost blocks, because their means are noisier than the others.
std::size_t drop_short_ones(Benchmarks& benchmarks, std::size_t blocks) {
  std::size_t dropped = 0;
  for (auto& [code, comparisons] : benchmarks)
    dropped +=
        std::erase_if(comparisons, [&](const auto& each) { return each.second.a.size() < blocks; });
  return dropped;
}

bool is_significant(const std::vector<double>& a, const std::vector<double>& b, double alpha) {
  const auto estimate = paired(a, b);
  if (!estimate) return false;
  const auto p = p_value(*estimate);
  return p && *p < alpha;
}

AaProgram groups_of(const Comparisons& comparisons) {
  AaProgram program;
  for (const auto& [number, comparison] : comparisons) {
    program.groups.push_back(comparison.mean_a());
    program.groups.push_back(comparison.mean_b());
  }
  return program;
}

void set_margin(Floor& floor, const Result<NoiseFloor>& found) {
  if (!found) return;
  floor.margin = found->margin;
  floor.interval = found->interval;
}

Floor floor_of(std::string subject, const Comparisons& comparisons, const Spec& spec) {
  Floor floor{.subject = std::move(subject), .comparisons = comparisons.size()};
  for (const auto& [number, comparison] : comparisons)
    floor.significant += is_significant(comparison.a, comparison.b, spec.alpha) ? 1 : 0;
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  set_margin(floor, noise_floor_disjoint(std::array{groups_of(comparisons)}, spec.alpha));
  return floor;
}

Floor floor_of_any(const Benchmarks& benchmarks, const std::vector<Floor>& floors, const Spec& spec,
                   Notes& notes) {
  Floor floor;
  for (const Floor& each : floors) {
    floor.comparisons += each.comparisons;
    floor.significant += each.significant;
  }
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  std::vector<AaProgram> programs;
  for (const auto& [code, comparisons] : benchmarks) programs.push_back(groups_of(comparisons));
  const auto pooled = noise_floor_disjoint(programs, spec.alpha);
  if (!pooled) {
    notes.add(pooled.error().message + ": raise design.comparisons.");
    return floor;
  }
  const auto clustered =
      noise_floor_clustered(programs, spec.alpha, spec.random_seed, Pairs::disjoint);
  set_margin(floor, clustered ? clustered : pooled);
  if (!clustered)
    notes.add(
        "With fewer than five benchmarks, all of them count as equally noisy, and the machine's "
        "noise floor has no interval.");
  return floor;
}

// The noise floor of the suite, from the comparisons that all benchmarks have.
Floor floor_of_suite(const Benchmarks& benchmarks, const Spec& spec) {
  Floor floor;
  AaProgram means;
  for (const auto& [number, first] : benchmarks.begin()->second) {
    std::vector<double> a;
    std::vector<double> b;
    for (const auto& [code, comparisons] : benchmarks)
      if (const auto same = comparisons.find(number); same != comparisons.end()) {
        a.push_back(same->second.mean_a());
        b.push_back(same->second.mean_b());
      }
    if (a.size() < benchmarks.size()) continue;
    ++floor.comparisons;
    floor.significant += is_significant(a, b, spec.alpha) ? 1 : 0;
    means.groups.push_back(moments(a).mean);
    means.groups.push_back(moments(b).mean);
  }
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  set_margin(floor, noise_floor_disjoint(std::array{means}, spec.alpha));
  return floor;
}

}  // namespace

std::optional<Calibration> calibrate(const Dataset& data, const Spec& spec, Notes& notes) {
  if (!data.is_valid()) return std::nullopt;
  Benchmarks benchmarks = collect(data, spec);
  Calibration result;
  for (const auto& [code, comparisons] : benchmarks)
    for (const auto& [number, comparison] : comparisons)
      result.blocks = std::max(result.blocks, comparison.a.size());
  if (result.blocks < 2) {
    notes.add("No comparison has at least two complete blocks.");
    return std::nullopt;
  }
  if (const std::size_t dropped = drop_short_ones(benchmarks, result.blocks); dropped > 0)
    notes.add(fmt::format("Comparisons with fewer than {} complete blocks are left out: {}.",
                          result.blocks, dropped));
  std::erase_if(benchmarks, [](const auto& each) { return each.second.empty(); });
  const Column* subject = data.find(spec.subject);
  for (const auto& [code, comparisons] : benchmarks)
    result.benchmarks.push_back(
        floor_of(subject == nullptr ? "" : subject->levels[code], comparisons, spec));
  for (const Floor& floor : result.benchmarks)
    if (!floor.margin)
      notes.add(floor.subject, fmt::format("a noise floor of its own needs {:.0f} comparisons.",
                                           std::ceil((1 / spec.alpha - 1) * (1 - 1e-12))));
  result.any = floor_of_any(benchmarks, result.benchmarks, spec, notes);
  if (benchmarks.size() > 1) result.suite = floor_of_suite(benchmarks, spec);
  return result;
}

std::optional<Interval> binomial_interval(std::size_t successes, std::size_t trials, double alpha) {
  if (trials == 0 || successes > trials || !(alpha > 0 && alpha < 1)) return std::nullopt;
  const double k = static_cast<double>(successes);
  const double n = static_cast<double>(trials);
  Interval interval{.low = 0, .high = 1};
  // Clopper and Pearson's limits are quantiles of F.
  if (k > 0) {
    const auto f = f_quantile(alpha / 2, 2 * k, 2 * (n - k + 1));
    if (!f) return std::nullopt;
    interval.low = k * *f / (n - k + 1 + k * *f);
  }
  if (k < n) {
    const auto f = f_quantile(1 - alpha / 2, 2 * (k + 1), 2 * (n - k));
    if (!f) return std::nullopt;
    interval.high = (k + 1) * *f / (n - k + (k + 1) * *f);
  }
  return interval;
}

}  // namespace stab::stats
