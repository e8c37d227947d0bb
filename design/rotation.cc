// SPDX-License-Identifier: MIT
#include "design/rotation.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>

#include "base/random.h"
#include "plan/measures/formula.h"

namespace stab::plan {
namespace {

// The order of the sets in one run of blocks.
std::vector<std::uint32_t> draw_run(const Plan& plan, std::uint64_t run, bool warmup) {
  std::vector<std::uint32_t> order(plan.rotated.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(derive(plan.seed, warmup ? "warmup rotate" : "rotate", {run}));
  random.shuffle(std::span(order));
  return order;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::uint32_t set_of(const Plan& plan, std::uint32_t block, bool warmup) {
  assert(!plan.rotated.empty());
  const std::size_t sets = plan.rotated.size();
  const std::uint32_t round = block / plan.machine_count();   // T3
  return draw_run(plan, round / sets, warmup)[round % sets];  // T1, T2
}

std::uint32_t blocks_of_set(const Plan& plan, std::uint32_t set, std::uint32_t blocks) {
  const auto run = static_cast<std::uint32_t>(plan.rotated.size()) * plan.machine_count();
  std::uint32_t count = blocks / run * plan.machine_count();  // T1, T3
  for (std::uint32_t block = blocks / run * run; block < blocks; ++block)
    count += set_of(plan, block, false) == set ? 1 : 0;
  return count;
}

Turns::Turns(const Plan& plan, const std::string& name)
    : plan_(plan), sets_(plan.rotated.size(), true) {
  for (const std::string& part : parts_of(plan, name)) {
    if (std::ranges::none_of(plan.rotated, [&](const auto& set) { return contains(set, part); }))
      continue;
    takes_turns_ = true;
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (!contains(plan.rotated[i], part)) sets_[i] = false;
  }
}

bool Turns::in_no_set() const {
  return takes_turns_ && std::ranges::none_of(sets_, [](bool has) { return has; });
}

bool Turns::in_block(std::uint32_t block) const {
  return !takes_turns_ || sets_[set_of(plan_, block, false)];
}

std::uint32_t Turns::among(std::uint32_t blocks) const {
  if (!takes_turns_) return blocks;
  std::uint32_t count = 0;
  for (std::uint32_t set = 0; set < sets_.size(); ++set)
    if (sets_[set]) count += blocks_of_set(plan_, set, blocks);
  return count;
}

std::uint32_t compared_blocks(const Plan& plan, const Benchmark& benchmark) {
  return Turns(plan, plan.analysis.response).among(benchmark.repetitions);
}

std::string_view why_not_by_turns(const Plan& plan) {
  if (plan.design.stop)
    return "design.stop counts blocks, and each block must measure the responses that the stopping "
           "rule checks";
  if (plan.analysis.stabilizer)
    return "method = \"stabilizer\" needs a response that every block measures";
  switch (plan.design.kind) {
    case DesignKind::calibration:
      return "all comparisons of a calibration need the same number of blocks, but some would have "
             "more than others";
    case DesignKind::nested:
    case DesignKind::padding_study:
      return "the value of a seed is computed from all runs of the seed";
    default:
      return "";
  }
}

}  // namespace stab::plan
