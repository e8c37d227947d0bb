// SPDX-License-Identifier: MIT
// Sets of events that take turns get blocks enough, and what is compared has some of them.
#include <fmt/format.h>

#include "design/turns.h"
#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

// Of the benchmark, once the plan is read.
std::uint32_t blocks_of(const Draft& draft, const DraftBenchmark& benchmark) {
  if (draft.plan.design.stop) return draft.plan.design.stop->min();
  for (const DraftFactor& factor : draft.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels)) return seeds->runs;
  return benchmark.value.repetitions;
}

void check_blocks(Draft& draft) {
  const std::size_t sets = draft.plan.rotated.size();
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (const std::uint32_t blocks = blocks_of(draft, benchmark); blocks < sets)
      draft.problems.add(
          draft.rotate_at,
          fmt::format("'measure.rotate' has {} sets, but '{}' has {} block{}{}: each set needs at "
                      "least one; use more blocks, or fewer sets",
                      sets, shown(benchmark.value.name), blocks, blocks == 1 ? "" : "s",
                      draft.plan.design.stop ? " before it may end" : ""));
}

void check_response(const std::string& name, Draft& draft) {
  if (!Turns(draft.plan, name).takes_turns()) return;
  if (const std::string_view why = why_not_by_turns(draft.plan); !why.empty())
    draft.problems.add(
        draft.response_at,
        fmt::format("'analysis.response' is {}, which is counted in turn by 'measure.rotate', and "
                    "{}: count it in 'measure.counters', or compare another response",
                    shown(name), why));
}

}  // namespace

void check_turns(Draft& draft) {
  if (draft.plan.rotated.empty() || !draft.kind_is_good || !draft.factors_are_good) return;
  check_blocks(draft);
  check_response(draft.plan.analysis.response, draft);
  for (const OtherResponse& other : draft.plan.analysis.others) check_response(other.name, draft);
}

}  // namespace stab::plan
