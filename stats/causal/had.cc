// SPDX-License-Identifier: MIT
#include "stats/causal/had.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/numbers/distribution.h"

namespace stab::stats::causal {
namespace {

struct Sum {
  double rates = 0;
  double runs = 0;
};

// Of the runs at one load, by block.
struct Rates {
  std::map<std::size_t, Sum> blocks{};
  Sum all{};

  [[nodiscard]] double mean() const { return all.rates / all.runs; }
  [[nodiscard]] double count() const { return static_cast<double>(blocks.size()); }

  // By how much the block moves the mean, as a share of it; such that the squares sum up to its variance.
  [[nodiscard]] double influence(std::size_t block) const {
    const auto found = blocks.find(block);
    if (found == blocks.end()) return 0;
    const Sum& sum = found->second;
    return std::sqrt(count() / (count() - 1)) * (sum.rates / mean() - sum.runs) / all.runs;
  }
};

Rates rates_of(const Profile& profile, std::size_t load) {
  Rates made;
  for (const Run& run : profile.runs) {
    const double rate = arrival_rate(run);
    if (run.load != load || rate <= 0) continue;
    for (Sum* sum : {&made.blocks[run.block], &made.all}) {
      sum->rates += rate;
      sum->runs += 1;
    }
  }
  return made;
}

// `variance`: of the value as a share of it.
Measured with_interval(double value, double variance, double blocks, double alpha) {
  Measured made{.value = value};
  const auto factor = t_upper_quantile(alpha / 2, blocks - 1);
  if (!factor) return made;
  const double half = *factor * std::sqrt(variance) * value;
  made.interval = Interval{.low = std::max(0.0, value - half), .high = value + half};
  return made;
}

}  // namespace

std::optional<Measured> had_by(const Profile& profile, std::size_t load, std::size_t base,
                               double alpha) {
  const Rates of = rates_of(profile, load);
  const Rates by = rates_of(profile, base);
  if (of.blocks.empty() || by.blocks.empty()) return std::nullopt;
  const double value = of.mean() / by.mean();
  const double blocks = std::min(of.count(), by.count());
  if (blocks < 2) return Measured{.value = value};
  double variance = 0;
  for (const auto& [block, sum] : of.blocks) {
    const double moved = of.influence(block) - by.influence(block);
    variance += moved * moved;
  }
  for (const auto& [block, sum] : by.blocks)
    if (!of.blocks.contains(block)) variance += by.influence(block) * by.influence(block);
  return with_interval(value, variance, blocks, alpha);
}

std::optional<Measured> had_by_one(const Profile& profile, std::size_t load, double base_rate,
                                   double alpha) {
  const Rates of = rates_of(profile, load);
  if (of.blocks.empty()) return std::nullopt;
  const double value = of.mean() / base_rate;
  if (of.count() < 2) return Measured{.value = value};
  double variance = 0;
  for (const auto& [block, sum] : of.blocks) variance += of.influence(block) * of.influence(block);
  // Of a mean of so many, and of one.
  return with_interval(value, variance * (1 + of.count()), of.count(), alpha);
}

std::optional<Measured> had_of(const Profile& profile, std::size_t load, double alpha) {
  const auto base = std::ranges::find(profile.loads, 0U, &Load::speedup_ns);
  if (base != profile.loads.end()) {
    const auto index = static_cast<std::size_t>(base - profile.loads.begin());
    if (auto had = had_by(profile, load, index, alpha)) return had;
  }
  return profile.base_rate > 0 ? had_by_one(profile, load, profile.base_rate, alpha) : std::nullopt;
}

}  // namespace stab::stats::causal
