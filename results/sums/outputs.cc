// SPDX-License-Identifier: MIT
#include "results/sums/outputs.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace stab::results {
namespace {

// With more distinct outputs than this, their exact number does not matter.
constexpr std::size_t most_digests = 10'000;

}  // namespace

void OutputCounter::Group::add(const std::string& digest) {
  if (trials++ == 0) first = digest;
  differs = differs || digest != first;
}

OutputCounter::OutputCounter(const plan::Plan& plan) : are_measured_(!plan.outputs.empty()) {
  for (const plan::Factor& factor : plan.factors) factors_.push_back(factor.name);
}

void OutputCounter::add(const store::Trial& trial, const std::string& cell) {
  const std::string& digest = trial.stdout_sha256;
  if (digest.empty()) return;
  auto found = std::ranges::find(benchmarks_, trial.benchmark, &Benchmark::name);
  if (found == benchmarks_.end())
    found = benchmarks_.insert(found, Benchmark{.name = trial.benchmark});
  found->all.add(digest);
  if (found->digests.size() < most_digests) found->digests.insert(std::hash<std::string>()(digest));
  found->cells[cell].add(digest);
  for (const std::string& factor : factors_)
    if (const auto level = trial.levels.find(factor); level != trial.levels.end())
      found->factors[factor][level->second].add(digest);
}

// Whether the levels decide what is printed: all trials of a level print the same. This means
// nothing unless some level has two trials.
bool OutputCounter::decides(const Groups& levels) {
  bool repeated = false;
  for (const auto& [level, group] : levels) {
    if (group.differs) return false;
    repeated = repeated || group.trials > 1;
  }
  return repeated && levels.size() > 1;
}

report::Outputs OutputCounter::outputs_of(const Benchmark& benchmark) const {
  report::Outputs outputs{.benchmark = benchmark.name,
                          .trials = benchmark.all.trials,
                          .different = benchmark.digests.size(),
                          .cells = benchmark.cells.size()};
  for (const auto& [cell, group] : benchmark.cells) outputs.varying_cells += group.differs ? 1 : 0;
  for (const std::string& factor : factors_)
    if (const auto levels = benchmark.factors.find(factor);
        levels != benchmark.factors.end() && decides(levels->second))
      outputs.factors.push_back(factor);
  return outputs;
}

std::vector<report::Outputs> OutputCounter::result() const {
  std::vector<report::Outputs> all;
  for (const Benchmark& benchmark : benchmarks_) {
    if (!benchmark.all.differs) continue;
    report::Outputs outputs = outputs_of(benchmark);
    // A program that prints its own measurements prints different numbers in every trial.
    if (are_measured_ && outputs.factors.empty() && outputs.varying_cells > 0) continue;
    all.push_back(std::move(outputs));
  }
  return all;
}

}  // namespace stab::results
